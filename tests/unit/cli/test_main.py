"""The entry point: light, and every error one paragraph with its exit code."""

from __future__ import annotations

import json
import logging
import subprocess
import sys

import click
import pytest

from nautilus_cli import errors
from nautilus_cli.cli.main import SUBCOMMANDS

from .conftest import Run, compilation

HEAVY = ("onnx", "onnxruntime", "optuna", "numpy", "jinja2", "cuda", "rich", "ml_dtypes")


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], *([name, "--help"] for name in SUBCOMMANDS)])
def test_help_imports_nothing_heavy(arguments: list[str]) -> None:
    script = (
        "import json, sys\n"
        "from nautilus_cli.cli.main import main\n"
        f"assert main({arguments!r}) == 0\n"
        f"print(json.dumps([name for name in {HEAVY!r} if name in sys.modules]))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert json.loads(done.stdout.splitlines()[-1]) == []


def test_help_shows_every_subcommand_and_the_exit_codes(run: Run) -> None:
    done = run("--help")
    assert done.code == 0
    for name in SUBCOMMANDS:
        assert f"\n  {name} " in done.out
    for kind in errors.NautilusError.__subclasses__():
        assert f" {kind.exit_code} " in " ".join(done.out.split())


@pytest.mark.parametrize("arguments", [[], ["cache"]])
def test_a_command_that_is_missing_is_shown_the_help(arguments: list[str], run: Run) -> None:
    done = run(*arguments)
    assert done.code == 2
    assert done.out == ""
    assert "\nCommands:\n  " in done.err
    assert "error:" not in done.err


@pytest.mark.parametrize("kind", errors.NautilusError.__subclasses__())
def test_an_error_is_a_paragraph_and_its_code(kind: type[errors.NautilusError], run: Run, answer) -> None:
    answer("compile", kind("the shape is unknown.", where="node 'conv1'", hint="Pass --shape."))
    done = run("compile", "m.onnx", "-o", "libm.so")
    assert done.code == kind.exit_code
    assert done.out == ""
    assert done.err == "error: node 'conv1': the shape is unknown. Pass --shape.\n"


def test_an_endless_message_is_cut_and_its_hint_stays(run: Run, answer) -> None:
    answer("compile", errors.ModelError("perm is " + "1, " * 10**6, where="n" * 10**6, hint="Pass " + "--shape x=1 " * 1000))
    done = run("compile", "m.onnx", "-o", "libm.so")
    message, hint = done.err.split("…. Pass ")
    assert len(message) < 2000
    assert hint == "--shape x=1 " * 1000 + "\n"


def test_memory_that_runs_out_is_not_our_mistake(run: Run, answer) -> None:
    answer("compile", MemoryError("Unable to allocate 64.0 GiB"))
    done = run("compile", "m.onnx", "-o", "libm.so")
    assert (done.code, done.out) == (5, "")
    assert "memory ran out: Unable to allocate 64.0 GiB." in done.err


def test_a_full_disk_is_an_error_of_files(run: Run, answer) -> None:
    answer("compile", OSError(28, "No space left on device"))
    done = run("compile", "m.onnx", "-o", "libm.so")
    assert (done.code, done.err) == (7, "error: No space left on device.\n")


def test_a_name_cannot_drive_the_terminal_or_break_the_paragraph(run: Run, answer) -> None:
    answer("compile", errors.ModelError("is unknown.", where="node '\x1b[2J\nerror: \x07'"))
    done = run("compile", "m.onnx", "-o", "libm.so")
    assert done.err == "error: node '\\x1b[2J error: \\x07': is unknown.\n"


def test_an_interruption_has_its_code(run: Run, answer) -> None:
    answer("compile", KeyboardInterrupt())
    done = run("compile", "m.onnx", "-o", "libm.so")
    assert done.code == 130
    assert done.err.strip() == "error: interrupted."


def test_what_nobody_foresaw_is_internal_and_shows_no_traceback(run: Run, answer) -> None:
    answer("compile", ZeroDivisionError("division by zero"))
    done = run("compile", "m.onnx", "-o", "libm.so")
    assert done.code == 70
    assert done.err == "error: internal error: ZeroDivisionError: division by zero. Please report it with the output of --debug.\n"


@pytest.mark.parametrize("arguments", [["--debug", "compile", "m", "-o", "l"], ["compile", "m", "-o", "l", "--debug"]])
def test_debug_shows_the_traceback(arguments: list[str], run: Run, answer) -> None:
    answer("compile", ZeroDivisionError("division by zero"))
    done = run(*arguments)
    assert "Traceback (most recent call last)" in done.err
    assert done.err.splitlines()[-1].startswith("error: internal error: ZeroDivisionError")


def test_a_file_that_cannot_be_read_is_named(run: Run, answer) -> None:
    answer("compile", PermissionError(13, "Permission denied", "m.onnx"))
    done = run("compile", "m.onnx", "-o", "libm.so")
    assert (done.code, done.err) == (7, "error: m.onnx: Permission denied.\n")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["frobnicate"], "No such command 'frobnicate'. See 'nautilus --help'."),
        (["compile"], "Missing argument 'MODEL'. See 'nautilus compile --help'."),
        (["compile", "m.onnx"], "Missing option '-o' / '--output'. See 'nautilus compile --help'."),
        (["compile", "m.onnx", "-o", "l", "--frob"], "No such option '--frob'."),
        (["compile", "m.onnx", "-o", "l", "--target", "sm_90"], "--target: 'sm_90' is not a target. Known: sm_90a, sm_89, sm_80."),
        (["compile", "m.onnx", "-o", "l", "--shape", "x=1", "--shape", "x:2"], "'x' is given twice."),
        (["compile", "m.onnx", "-o", "l", "--jobs", "0"], "0 is not in the range x>=1."),
        (["tune", "m.onnx"], "Missing option '--trials'."),
    ],
)
def test_usage_errors(arguments: list[str], said: str, run: Run) -> None:
    done = run(*arguments)
    assert done.code == 2
    assert done.out == ""
    assert done.err.startswith("error: ")
    assert said in done.err
    assert done.err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "level"),
    [
        ([], logging.WARNING),
        (["-v"], logging.INFO),
        (["-vv"], logging.DEBUG),
        (["-q"], logging.ERROR),
    ],
)
@pytest.mark.parametrize("after", [False, True])
def test_how_much_is_said(arguments: list[str], level: int, after: bool, run: Run, answer) -> None:
    answer("compile", compilation())
    command = ["compile", "m.onnx", "-o", "libm.so"]
    run(*(command + arguments if after else arguments + command))
    assert logging.getLogger("nautilus_cli").level == level


def test_the_log_goes_to_stderr(run: Run, answer, monkeypatch: pytest.MonkeyPatch) -> None:
    answer("compile", compilation())

    def speak(*arguments: object) -> None:
        logging.getLogger("nautilus_cli.passes").info("fused\x1b %d nodes", 3)
        logging.getLogger("nautilus_cli.passes").warning("careful")

    monkeypatch.setattr("nautilus_cli.cli.results.show_notes", speak)
    done = run("compile", "m.onnx", "-o", "libm.so", "-v")
    assert done.err == "fused\\x1b 3 nodes\nwarning: careful\n"


def test_a_reader_that_left_gets_no_traceback() -> None:
    script = "import sys; from nautilus_cli.cli.main import main; sys.exit(main(['doctor', '--json'] ))"
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout and process.stderr
        process.stdout.close()
        said = process.stderr.read()
    assert said == b""
    assert process.returncode == 141


def test_every_subcommand_is_a_command_of_its_name() -> None:
    from nautilus_cli.cli.main import nautilus

    context = click.Context(nautilus)
    for name in SUBCOMMANDS:
        command = nautilus.get_command(context, name)
        assert command is not None
        assert command.name == name
        assert command.short_help
