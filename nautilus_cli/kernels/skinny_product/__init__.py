"""The product with few rows: its rules as one module; the device side is `nautilus/kernels/skinny_product.cuh`.

Modules as those of `wgmma_product`. Most numbers of a schedule are powers of two.
"""

from nautilus_cli.kernels.skinny_product.choice import candidates, choose
from nautilus_cli.kernels.skinny_product.completion import completed, for_all_sizes
from nautilus_cli.kernels.skinny_product.estimate import emulated_ns, gpu_us, open_ns
from nautilus_cli.kernels.skinny_product.legality import violations
from nautilus_cli.kernels.skinny_product.problem import SkinnyProduct
from nautilus_cli.kernels.skinny_product.resources import geometry, registers, smem_bytes
from nautilus_cli.kernels.skinny_product.schedule import Schedule
from nautilus_cli.kernels.skinny_product.search_space import schedules

__all__ = [
    "Schedule",
    "SkinnyProduct",
    "candidates",
    "choose",
    "completed",
    "emulated_ns",
    "for_all_sizes",
    "geometry",
    "gpu_us",
    "open_ns",
    "registers",
    "schedules",
    "smem_bytes",
    "violations",
]
