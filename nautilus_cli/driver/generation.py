"""generate(): token after token from a decoder whose caches are kept in place, each the most probable one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import numpy as np

from nautilus_cli.driver.options import Progress, silent
from nautilus_cli.errors import UsageError
from nautilus_cli.runtime.arrays import OPEN
from nautilus_cli.runtime.decoder import Decoder
from nautilus_cli.runtime.description import Tensor
from nautilus_cli.runtime.library import Library
from nautilus_cli.runtime.library import load as load_library

_IDS = ("input_ids", "ids", "tokens")
_MADE: dict[str, Callable[[int, int, int], np.ndarray]] = {
    "attention_mask": lambda past, new, step: np.arange(past + step)[None] < past + new,
    "position_ids": lambda past, new, step: _places(past, new, step)[None],
    "cache_position": lambda past, new, step: _places(past, new, step),
}
"""What exporters of decoders ask for beside the ids and the caches, from rows in the caches, new tokens, and those that the step has with
what fills it up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerateOptions:
    """What to generate, with what.

    Attributes:
        library: of `nautilus compile --inplace-cache`.
        prompt: token ids to begin with.
        tokens: how many more to generate.
        stop: a token id after which generation ends; None for none.
        device: number of the GPU.
        place: as `nautilus_cli.load` takes it: `automatic`, `gpu` or `emulated`.
    """

    library: Path
    prompt: tuple[int, ...]
    tokens: int
    stop: int | None = None
    device: int = 0
    place: str = "automatic"


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerateResult:
    """What came out.

    Attributes:
        target: what the library ran on.
        device: name of the GPU, or of the emulator.
        is_emulated: whether it ran on the CPU.
        tokens: generated ids, without the prompt.
        first_ms: time of the prompt, up to the first token.
        later_ms: mean time of each later token; None where there is none.
    """

    target: str
    device: str
    is_emulated: bool
    tokens: tuple[int, ...]
    first_ms: float
    later_ms: float | None


def generate(options: GenerateOptions, progress: Progress = silent) -> GenerateResult:
    """Generate greedily with a batch of one.

    Raises:
        UsageError: the library is no decoder with caches in place, wants an input that is not known, or has no room for so many tokens.
        DeviceError: the library does not run here.
    """
    if not options.prompt:
        raise UsageError("it has no token", where="the prompt", hint="Give at least one token id.")
    progress("loading the library", 0, 1)
    found: list[int] = []
    times = [perf_counter()]
    with load_library(options.library, device=options.device, place=options.place) as library, Decoder(library) as decoder:
        times[0] = perf_counter()
        for token in greedy(library, decoder, options.prompt):
            found.append(token)
            times.append(perf_counter())
            progress("generating", len(found), options.tokens)
            if len(found) == options.tokens or token == options.stop:
                break
        info = library.info
    return GenerateResult(
        target=info.target,
        device=info.device,
        is_emulated=info.is_emulated,
        tokens=tuple(found),
        first_ms=1000 * (times[1] - times[0]),
        later_ms=1000 * (times[-1] - times[1]) / (len(found) - 1) if len(found) > 1 else None,
    )


def greedy(library: Library, decoder: Decoder, prompt: Sequence[int]) -> Iterator[int]:
    """Yield the most probable token after a prompt, after that one, and so on.

    A step takes all tokens that wait, of the prompt or the last one; where the library takes fewer in one, as many as it does, and where
    it takes more, the step is filled up: later tokens do not change what a decoder says of earlier ones, and the rows of the caches that
    they leave are forgotten.
    """
    plain = [tensor for tensor in library.inputs if tensor.shared is None]
    ids = _one_of(plain, _IDS, library)
    logits = _logits(library)
    unknown = [tensor.name for tensor in plain if tensor.name not in _MADE and tensor is not ids]
    if unknown:
        raise UsageError(
            f"input '{unknown[0]}' is none that this loop knows",
            where=str(library.path),
            hint=f"Known are {', '.join((*_IDS, *_MADE))}; nautilus_cli.Decoder runs any decoder.",
        )
    _require_ids(prompt, logits.shape[-1])
    waiting = list(prompt)
    while True:
        held, size = decoder.length, _step_size(library, decoder, plain, ids, len(waiting))
        new, waiting = waiting[:size], waiting[size:]
        inputs = {tensor.name: _made(tensor, ids, held, len(new), size).astype(tensor.dtype) for tensor in plain}
        inputs[ids.name][0] = new + new[-1:] * (size - len(new))
        results = decoder.step(inputs)
        decoder.reset(held + len(new))
        if not waiting:
            waiting = [_most_probable(results[logits.name], len(new), size, library)]
            yield waiting[0]


def _most_probable(logits: np.ndarray, new: int, size: int, library: Library) -> int:
    """Return the token behind the last of NEW tokens, of which a step of SIZE had some."""
    rows = logits.shape[1]
    if new < size and rows != size:
        raise UsageError(
            f"takes {size} tokens a step and gives logits of {rows}, so that a step of fewer cannot be filled up",
            where=str(library.path),
            hint="Compile it for steps of one token, too, for example --dim sequence=1..8.",
        )
    return int(logits[0, new - 1 if rows == size else -1].astype(np.float32).argmax())


def _places(past: int, new: int, step: int) -> np.ndarray:
    """Return the places of a step's tokens; what fills it up stands where the last one does, since there may be no place behind that."""
    return np.minimum(np.arange(past, past + step), past + new - 1)


def _made(tensor: Tensor, ids: Tensor, past: int, new: int, step: int) -> np.ndarray:
    """Return an input of a step of STEP tokens, of which NEW are some; the ids are yet to be filled in."""
    return np.zeros((1, step)) if tensor is ids else _MADE[tensor.name](past, new, step)


def _step_size(library: Library, decoder: Decoder, plain: Sequence[Tensor], ids: Tensor, waiting: int) -> int:
    """Return of how many tokens the next step is: of all that wait, else the most below that the library takes, else the fewest above.

    Where it takes none, all that wait: the step then says why.
    """
    if ids.shape[1] != OPEN:
        return ids.shape[1]
    dims = library.dimensions
    below = {min(waiting, dim.high) // dim.divisor * dim.divisor for dim in dims}
    above = {max(-(-waiting // dim.divisor) * dim.divisor, dim.low) for dim in dims}
    sizes = [waiting, *sorted(size for size in below if 0 < size < waiting)[::-1], *sorted(size for size in above if size > waiting)]
    for size in sizes:
        if decoder.takes({tensor.name: _made(tensor, ids, decoder.length, min(waiting, size), size).shape for tensor in plain}):
            return size
    return waiting


def _one_of(tensors: Sequence[Tensor], names: Sequence[str], library: Library) -> Tensor:
    """Return the tensor that has one of the names, and two dimensions."""
    for tensor in tensors:
        if tensor.name in names and len(tensor.shape) == 2:
            return tensor
    raise UsageError(
        f"has no input of token ids [batch, tokens] among {', '.join(t.name for t in tensors) or 'its inputs'}",
        where=str(library.path),
        hint=f"This loop knows it as {' or '.join(names)}; nautilus_cli.Decoder runs any decoder.",
    )


def _logits(library: Library) -> Tensor:
    """Return the output of the logits, [batch, tokens, vocabulary]."""
    found = [t for t in library.outputs if t.shared is None and len(t.shape) == 3 and np.issubdtype(t.dtype, np.floating)]
    named = [t for t in found if t.name == "logits"] or found
    if len(named) != 1:
        raise UsageError(
            f"has {len(named)} outputs that may be the logits, [batch, tokens, vocabulary]",
            where=str(library.path),
            hint="Compile it with --outputs for logits and caches alone; nautilus_cli.Decoder runs any decoder.",
        )
    return named[0]


def _require_ids(prompt: Sequence[int], vocabulary: int) -> None:
    """Refuse ids that the model cannot know."""
    for token in prompt:
        if token < 0 or (vocabulary != OPEN and token >= vocabulary):
            most = "" if vocabulary == OPEN else f"; the model has {vocabulary}"
            raise UsageError(f"{token} is no token id{most}", where="the prompt")
