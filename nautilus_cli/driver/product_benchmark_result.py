"""What was measured of a matrix product."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class ProductBenchResult:
    """What was measured; times are microseconds of one product.

    Attributes:
        extents: m, n and k.
        dtype: as asked for.
        symbolic: as asked for.
        target: name of the target.
        device: name of the GPU, or of the emulator.
        is_emulated: whether it ran on the CPU: the time is then no speed.
        family: of the kernel.
        schedule: its fields.
        estimated_us: by the ranking that chose it; None where the family has none.
        launches: in one replay.
        copies: of B, over which these walk.
        latency_us: median over the replays.
        known_us: the same of the kernel for these extents alone; None where none of them is symbolic.
        cublas_us: the same of cuBLAS; None where it was not measured.
        error: norm of the difference to float64 over the norm of the result, of some rows.
        notes: sentences for the user.
    """

    extents: tuple[int, int, int]
    dtype: str
    symbolic: str
    target: str
    device: str
    is_emulated: bool
    family: str
    schedule: dict[str, Any]
    estimated_us: float | None
    launches: int
    copies: int
    latency_us: float
    known_us: float | None
    cublas_us: float | None
    error: float
    notes: tuple[str, ...]

    @property
    def tflops(self) -> float:
        """Operations a microsecond, in millions."""
        m, n, k = self.extents
        return 2.0 * m * n * k / self.latency_us / 1e6

    def to_data(self) -> dict[str, Any]:
        """Return it as JSON types."""
        ratio = None if self.cublas_us is None else self.cublas_us / self.latency_us
        slower = None if self.known_us is None else self.latency_us / self.known_us
        lists = {"extents": list(self.extents), "notes": list(self.notes)}
        return {**asdict(self), **lists, "tflops": self.tflops, "ratio": ratio, "symbolic_ratio": slower}
