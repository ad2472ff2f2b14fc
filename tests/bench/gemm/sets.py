"""Sets of products and kernels to measure, by name."""

from __future__ import annotations

from collections.abc import Callable

from tests.bench.gemm import narrow, simt, spreads, tables
from tests.bench.gemm.ladder import ladder
from tests.bench.gemm.schedules import Wanted

SETS: dict[str, Callable[[], Wanted]] = {
    "epilogues": spreads.epilogues,
    "few_rows": tables.few_rows,
    "ffma": simt.ffma,
    "ffma_races": simt.races,
    "ffma_untuned": simt.untuned,
    "final": tables.final,
    "fp32_modes": tables.fp32_modes,
    "fit": spreads.fit,
    "ladder": ladder,
    "large": spreads.large,
    "open_sizes": tables.open_sizes,
    "single": spreads.single,
    "skinny_fit": narrow.skinny_fit,
    "skinny_races": narrow.races,
    "skinny_rows": narrow.skinny_rows,
    "skinny_untuned": narrow.skinny_untuned,
    "skinny_vectors": narrow.skinny_vectors,
    "table": spreads.table,
    "variants": spreads.variants,
}
