"""The matrix product on tensor cores by wgmma: its rules as one module; the device side is `nautilus/kernels/wgmma_product.cuh`.

`problem` and `schedule` are its data, `resources` what a block takes, `legality` what is possible, `completion` what follows of a choice,
`search_space` all schedules, `estimate` the analytic model and `choice` the ranking.
"""

from nautilus_cli.kernels.wgmma_product.choice import candidates, choose
from nautilus_cli.kernels.wgmma_product.completion import completed, for_all_sizes
from nautilus_cli.kernels.wgmma_product.estimate import emulated_ns, gpu_us, open_ns
from nautilus_cli.kernels.wgmma_product.legality import violations
from nautilus_cli.kernels.wgmma_product.problem import Loaded, WgmmaProduct
from nautilus_cli.kernels.wgmma_product.resources import WARPGROUP_ROWS, consumer_registers, entry_registers, geometry, producer_registers
from nautilus_cli.kernels.wgmma_product.schedule import Schedule
from nautilus_cli.kernels.wgmma_product.search_space import schedules

__all__ = [
    "WARPGROUP_ROWS",
    "Loaded",
    "Schedule",
    "WgmmaProduct",
    "candidates",
    "choose",
    "completed",
    "consumer_registers",
    "emulated_ns",
    "entry_registers",
    "for_all_sizes",
    "geometry",
    "gpu_us",
    "open_ns",
    "producer_registers",
    "schedules",
    "violations",
]
