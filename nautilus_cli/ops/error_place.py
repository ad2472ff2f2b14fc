"""Where errors of operators are."""

from __future__ import annotations

from nautilus_cli.errors import ModelError, NautilusError

_LONGEST_MESSAGE = 500


class ErrorPlace:
    """Adds the node to what an operator's rules raise.

    The rules run on operands and attributes that nobody has checked yet, so whatever they stumble over is the model's fault.
    """

    def __init__(self, place: str) -> None:
        self._place = place

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        if isinstance(error, NautilusError):
            error.where = error.where or self._place
            if len(error.message) > _LONGEST_MESSAGE:  # operators quote shapes and lists, which a model can make endless
                error.message = f"{error.message[:_LONGEST_MESSAGE]}…"
        elif isinstance(error, MemoryError):
            raise ModelError("needs more memory than there is", where=self._place) from error
        elif isinstance(error, Exception):
            detail = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
            raise ModelError(f"operands or attributes do not fit the operator ({detail})", where=self._place) from error
