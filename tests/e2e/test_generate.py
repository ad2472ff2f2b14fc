"""nautilus generate, emulated: the tokens are those that onnxruntime gives, step after step."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.commands import Caller
from tests.e2e.decoders import VOCABULARY, decoder, reference_tokens
from tests.e2e.networks import perceptron, saved

PROMPT = (7, 3, 40, 3)
RANGES = ("--dim", "past=0..20")
BATCHES = ("--dim", "batch=1..2", "--dim", "sequence=1..6")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return saved(decoder(), tmp_path / "decoder.onnx")


def built(nautilus: Caller, model: Path, *more: str) -> Path:
    output = model.with_name("libdecoder.so")
    nautilus("compile", model, "-o", output, *RANGES, *more, "--inplace-cache", "--target", "emulated", "--no-verify").done()
    return output


def words(prompt: tuple[int, ...], tokens: int) -> tuple[str, ...]:
    return "--prompt", ",".join(map(str, prompt)), "--tokens", str(tokens)


def test_tokens_are_those_of_onnxruntime(nautilus: Caller, model: Path) -> None:
    library, expected = built(nautilus, model, *BATCHES), reference_tokens(model, PROMPT, 10)
    assert len(set(expected)) > 2, "a network that always says the same shows little"
    done = nautilus("generate", library, *words(PROMPT, 10)).done()
    ids, times = done.out.splitlines()
    assert ids == ",".join(map(str, expected))
    assert times.startswith("first token after ") and times.endswith("target emulated (emulated: not a speed)")
    data = json.loads(nautilus("generate", library, *words(PROMPT, 10), "--stop", str(expected[4]), "--json").done().out)
    assert data["tokens"] == expected[: expected.index(expected[4]) + 1] and data["emulated"]
    assert "61 is no token id; the model has 61" in nautilus("generate", library, *words((1, VOCABULARY), 2)).refused(2)
    assert "input 'past.0.key' has 21 in dimension 2, 'past'" in nautilus("generate", library, *words(PROMPT, 19)).refused(2)
    assert "is no list of token ids" in nautilus("generate", library, "--prompt", "1,x").refused(2)
    assert "leaves dimensions open (batch, sequence)" in nautilus("verify", model, library, "--dim", "past=3").refused(2)


def test_a_library_of_one_token_a_step(nautilus: Caller, model: Path) -> None:
    library = built(nautilus, model, "--shape", "input_ids=1x1")
    shown = nautilus("generate", library, *words(PROMPT, 6)).done().out
    assert shown.splitlines()[0] == ",".join(map(str, reference_tokens(model, PROMPT, 6)))


@pytest.mark.parametrize(("shape", "has_mask"), [("1x4", False), ("1x2..3", True), ("1x4..8/4", False)])
def test_steps_that_are_not_what_waits(nautilus: Caller, tmp_path: Path, shape: str, has_mask: bool) -> None:
    """A library of several tokens a step, of two at least, or of multiples: steps are filled up, and a long prompt takes several."""
    model, plain = saved(decoder(has_mask=has_mask), tmp_path / "model.onnx"), saved(decoder(), tmp_path / "plain.onnx")
    rest = ("--dim", "total=0..28", "--shape", f"position_ids={shape}") if has_mask else ()
    library = built(nautilus, model, "--shape", f"input_ids={shape}", *rest, *(("--dim", "batch=1..1") if has_mask else ()))
    prompt = (*PROMPT, 9, 2)
    shown = nautilus("generate", library, *words(prompt, 8)).done().out
    assert shown.splitlines()[0] == ",".join(map(str, reference_tokens(plain, prompt, 8)))


def test_a_prompt_that_takes_several_steps(nautilus: Caller, model: Path) -> None:
    library, prompt = built(nautilus, model, *BATCHES), (*PROMPT, *PROMPT, 9)
    shown = nautilus("generate", library, *words(prompt, 4)).done().out
    assert shown.splitlines()[0] == ",".join(map(str, reference_tokens(model, prompt, 4)))


def test_a_mask_and_positions_are_made(nautilus: Caller, tmp_path: Path) -> None:
    """The mask's dimension is the past and the tokens together, though the model gives it a name of its own."""
    masked, plain = saved(decoder(has_mask=True), tmp_path / "masked.onnx"), saved(decoder(), tmp_path / "plain.onnx")
    library = built(nautilus, masked, *BATCHES, "--dim", "total=1..26")
    shown = nautilus("generate", library, *words(PROMPT, 6)).done().out
    assert shown.splitlines()[0] == ",".join(map(str, reference_tokens(plain, PROMPT, 6)))


def test_what_is_no_decoder_is_refused(nautilus: Caller, tmp_path: Path) -> None:
    model, output = saved(perceptron(), tmp_path / "model.onnx"), tmp_path / "libmodel.so"
    nautilus("compile", model, "-o", output, "--target", "emulated", "--no-verify").done()
    said = nautilus("generate", output, *words(PROMPT, 2)).refused(2)
    assert "no input shares its memory with an output" in said and "--inplace-cache" in said
