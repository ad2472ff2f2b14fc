"""What a launch can be at most, and what a multiprocessor has, on every target.

Source: CUDA C++ Programming Guide 13, Technical Specifications per Compute Capability, Thread Block Clusters, Device Memory Accesses.
"""

WARP_THREADS = 32

MOST_THREADS = 1024
"""Of a block."""

MOST_BLOCKS_X = 2**31 - 1
"""Along x of a grid."""

MOST_BLOCKS_Y = 65535
"""Along y or z of a grid."""

MOST_CLUSTER = 8
"""Blocks of a cluster, on any device that has clusters."""

MOST_REGISTERS = 255
"""Of a thread."""

MOST_RESIDENT_BLOCKS = 32
"""Of a multiprocessor at compute capability 8.0, 9.0 and 10.0; others have fewer."""

SYSTEM_SMEM_BYTES = 1024
"""Shared memory of each block that the system takes."""

SCHEDULERS = 4
"""Of a multiprocessor; each issues an instruction of a warp a cycle."""

TRANSACTION_BYTES = 16
"""Most that a thread loads or stores at once."""

LINE_BYTES = 128
"""Of the caches."""
