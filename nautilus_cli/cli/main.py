"""The entry point: finds subcommands when they are asked for, and turns errors into one paragraph and an exit code."""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from collections.abc import Sequence
from typing import Any

import click

from nautilus_cli import __version__
from nautilus_cli.cli.settings import Settings, common_options
from nautilus_cli.cli.text import printable
from nautilus_cli.errors import DeviceError, FileError, InternalError, Interrupted, NautilusError, UsageError, shortened

SUBCOMMANDS = {
    "check": "nautilus_cli.cli.check",
    "compile": "nautilus_cli.cli.compile",
    "verify": "nautilus_cli.cli.verify",
    "run": "nautilus_cli.cli.run",
    "generate": "nautilus_cli.cli.generate",
    "bench": "nautilus_cli.cli.bench",
    "tune": "nautilus_cli.cli.tune",
    "inspect": "nautilus_cli.cli.inspect",
    "doctor": "nautilus_cli.cli.doctor",
    "cache": "nautilus_cli.cli.cache",
}
"""Where each subcommand's `command` is; in the order of a first use."""

_READER_LEFT = 128 + 13
"""What a shell reports of a program that SIGPIPE ended; not 0, since a verdict may not have been reached."""

_NO_ARGUMENTS: Any = getattr(click.exceptions, "NoArgsIsHelpError", ())
"""What click 8.2 and later raise for a group without a subcommand; its message is the help."""

_LONGEST_MESSAGE = 600
"""What a model holds may be endless: a list of axes, a name. A hint stays whole, since it may be there to be pasted."""

_EPILOG = (
    "Exit codes: 0 done, 2 usage, 3 invalid or unsupported model, 4 toolchain, 5 device, 6 verification, 7 files, 70 internal, "
    "130 interrupted. NAUTILUS_CACHE_DIR moves the cache of compiled code."
)


class LazyGroup(click.Group):
    """A group whose subcommands are imported when they are looked up."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the table's order."""
        return list(SUBCOMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the subcommand, imported now."""
        if cmd_name not in SUBCOMMANDS:
            return None
        command: click.Command = importlib.import_module(SUBCOMMANDS[cmd_name]).command
        return command


def _print_version(context: click.Context, _: click.Parameter, value: bool) -> None:
    if value and not context.resilient_parsing:
        click.echo(f"nautilus {__version__}")
        context.exit()


@click.group(cls=LazyGroup, epilog=_EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=_print_version, help="Print the version.")
@common_options
def nautilus() -> None:
    """Compile an ONNX model to one CUDA shared library, and verify it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    settings = Settings()
    try:
        code = nautilus.main(args=arguments, prog_name="nautilus", standalone_mode=False, obj=settings)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except (BrokenPipeError, SystemExit):  # click turns the first into the second
        # The reader of our output has left, as `head` does. Nothing more can be written, not even by the interpreter's last flush.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _READER_LEFT
    except _NO_ARGUMENTS as error:
        click.echo(error.format_message(), err=True)
        return UsageError.exit_code
    except (Exception, KeyboardInterrupt) as error:
        if settings.debug:
            traceback.print_exc()
        shown = as_nautilus_error(error)
        click.echo(f"error: {paragraph(shown)}", err=True)
        return shown.exit_code


def as_nautilus_error(error: BaseException) -> NautilusError:
    """Return ERROR as one that has an exit code."""
    if isinstance(error, NautilusError):
        return error
    if isinstance(error, KeyboardInterrupt | click.Abort):
        return Interrupted("interrupted.")
    if isinstance(error, click.UsageError):
        command = error.ctx.command_path if error.ctx else "nautilus"
        return UsageError(error.format_message(), hint=f"See '{command} --help'.")
    if isinstance(error, click.ClickException):
        return UsageError(error.format_message())
    if isinstance(error, MemoryError):
        said = f"memory ran out: {error}".rstrip(": .")
        return DeviceError(f"{said}.", hint="This machine has too little of it for the model, or --no-verify may do with less.")
    if isinstance(error, OSError) and error.errno is not None:
        return FileError(f"{error.strerror}.", where=None if error.filename is None else os.fsdecode(error.filename))
    said = f"{type(error).__name__}: {error}".rstrip(". ")
    return InternalError(f"{said}.", where="internal error", hint="Please report it with the output of --debug.")


def paragraph(error: NautilusError) -> str:
    """Return an error's text without line breaks, without anything that drives a terminal, and short enough to be read."""
    where = None if error.where is None else shortened(error.where, _LONGEST_MESSAGE)
    shown = NautilusError(shortened(error.message, _LONGEST_MESSAGE), where=where, hint=error.hint)
    return printable(" ".join(str(shown).splitlines()))
