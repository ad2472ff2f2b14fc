"""What a launch can be at most, on every target. Source: CUDA C++ Programming Guide 13, Technical Specifications per Compute Capability."""

WARP_THREADS = 32

MOST_THREADS = 1024
"""Of a block."""

MOST_BLOCKS_X = 2**31 - 1
"""Along x of a grid."""

MOST_BLOCKS_Y = 65535
"""Along y or z of a grid."""
