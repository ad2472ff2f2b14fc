"""What holds for every subcommand: how much to say, and whether to show tracebacks."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import click

from nautilus_cli.cli.text import printable

Command = TypeVar("Command", bound=Callable[..., Any])


@dataclass(slots=True)
class Settings:
    """Set by options, wherever on the command line they stand.

    Attributes:
        verbose: how often -v was given.
        quiet: whether only results and errors are wanted.
        debug: whether an error shows its traceback.
    """

    verbose: int = 0
    quiet: bool = False
    debug: bool = False

    @property
    def log_level(self) -> int:
        """The least severe messages shown."""
        if self.quiet:
            return logging.ERROR
        return {0: logging.WARNING, 1: logging.INFO}.get(self.verbose, logging.DEBUG)


class _StderrHandler(logging.Handler):
    """Writes to what is stderr at that moment, so that a progress display stays below."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one line; a warning says that it is one."""
        prefix = f"{record.levelname.lower()}: " if record.levelno >= logging.WARNING else ""
        click.echo(prefix + printable(record.getMessage()), err=True)


def configure_log(settings: Settings) -> None:
    """Show the messages of nautilus_cli on stderr."""
    logger = logging.getLogger("nautilus_cli")
    logger.handlers = [_StderrHandler()]
    logger.setLevel(settings.log_level)
    logger.propagate = False


def common_options(command: Command) -> Command:
    """Add -v, -q and --debug; they mean the same before and after the subcommand."""

    def change(apply: Callable[[Settings, Any], None]) -> Callable[[click.Context, click.Parameter, Any], None]:
        def callback(context: click.Context, _: click.Parameter, value: Any) -> None:
            settings = context.ensure_object(Settings)
            apply(settings, value)
            configure_log(settings)

        return callback

    def more(settings: Settings, value: int) -> None:
        settings.verbose += value

    def less(settings: Settings, value: bool) -> None:
        settings.quiet |= value

    def tracebacks(settings: Settings, value: bool) -> None:
        settings.debug |= value

    for option in (
        click.option("--debug", is_flag=True, expose_value=False, callback=change(tracebacks), help="Show the traceback of an error."),
        click.option("-q", "--quiet", is_flag=True, expose_value=False, callback=change(less), help="Print results and errors only."),
        click.option("-v", "--verbose", count=True, expose_value=False, callback=change(more), help="Say more; twice for everything."),
    ):
        command = option(command)
    return command
