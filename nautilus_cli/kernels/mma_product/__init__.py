"""The matrix product on tensor cores by mma.sync: its rules as one module; the device side is `nautilus/kernels/mma_product.cuh`.

Modules as those of `wgmma_product`. All numbers of a schedule but the stages are powers of two.
"""

from nautilus_cli.kernels.mma_product.choice import candidates, choose
from nautilus_cli.kernels.mma_product.completion import with_vectors
from nautilus_cli.kernels.mma_product.estimate import emulated_ns, gpu_us
from nautilus_cli.kernels.mma_product.legality import violations
from nautilus_cli.kernels.mma_product.problem import MmaProduct
from nautilus_cli.kernels.mma_product.resources import geometry, registers, smem_bytes
from nautilus_cli.kernels.mma_product.schedule import Schedule
from nautilus_cli.kernels.mma_product.search_space import schedules

__all__ = [
    "MmaProduct",
    "Schedule",
    "candidates",
    "choose",
    "emulated_ns",
    "geometry",
    "gpu_us",
    "registers",
    "schedules",
    "smem_bytes",
    "violations",
    "with_vectors",
]
