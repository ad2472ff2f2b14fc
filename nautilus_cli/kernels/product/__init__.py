"""The SIMT matrix product that gemm and conv share: its rules as one module; the device side is `nautilus/kernels/product.cuh`.

Modules as those of `wgmma_product`. All numbers of a schedule but stages and blocks are powers of two.
"""

from nautilus_cli.kernels.product.choice import choose
from nautilus_cli.kernels.product.completion import with_vectors
from nautilus_cli.kernels.product.estimate import emulated_ns, gpu_us, open_ns
from nautilus_cli.kernels.product.legality import violations
from nautilus_cli.kernels.product.problem import Product, product_of
from nautilus_cli.kernels.product.resources import geometry, registers, smem_bytes
from nautilus_cli.kernels.product.schedule import Schedule
from nautilus_cli.kernels.product.search_space import schedules
from nautilus_cli.kernels.product.tiles import grid

__all__ = [
    "Product",
    "Schedule",
    "choose",
    "emulated_ns",
    "geometry",
    "gpu_us",
    "grid",
    "open_ns",
    "product_of",
    "registers",
    "schedules",
    "smem_bytes",
    "violations",
    "with_vectors",
]
