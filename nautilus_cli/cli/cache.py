"""nautilus cache: what compiled code is kept, and how to be rid of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from nautilus_cli.cli.options import json_option
from nautilus_cli.cli.settings import Settings, common_options
from nautilus_cli.cli.text import printable, size, table, to_json

if TYPE_CHECKING:
    from nautilus_cli.driver import CacheInfo


@click.group("cache", short_help="Show or empty the cache of compiled code.")
@common_options
def command() -> None:
    """Show or empty the cache of compiled code and of what was measured.

    It lies in NAUTILUS_CACHE_DIR, else in ~/.cache/nautilus.
    """


@command.command("info", short_help="Show what the cache holds.")
@json_option
@common_options
@click.pass_obj
def info(settings: Settings, as_json: bool) -> None:
    """Show where the cache lies and what it holds."""
    from nautilus_cli import driver
    from nautilus_cli.cli.progress import ProgressLine

    with ProgressLine(settings) as progress:
        found = driver.cache_info(driver.CacheOptions(), progress=progress)
    if as_json:
        click.echo(to_json(_data(found)))
        return
    rows = [(kind.name, str(kind.entries), size(kind.bytes)) for kind in found.kinds]
    rows.append(("measurements", str(found.measurements), size(found.measurement_bytes)))
    click.echo(f"{printable(str(found.folder))}: {size(found.bytes)}")
    click.echo(table(("kind", "entries", "size"), rows))


@command.command("clear", short_help="Empty the cache.")
@click.option("--tuning", is_flag=True, help="Forget what 'nautilus tune' has measured, too.")
@json_option
@common_options
@click.pass_obj
def clear(settings: Settings, tuning: bool, as_json: bool) -> None:
    """Remove compiled code, which is compiled again when it is needed.

    What 'nautilus tune' has measured stays unless --tuning is given. Other files in the folder are left alone.
    """
    from nautilus_cli import driver
    from nautilus_cli.cli.progress import ProgressLine

    with ProgressLine(settings) as progress:
        removed = driver.clear_cache(driver.CacheOptions(tuning=tuning), progress=progress)
    if as_json:
        click.echo(to_json(_data(removed)))
        return
    measurements = f" and {removed.measurements} measurements" if tuning else ""
    entries = sum(kind.entries for kind in removed.kinds)
    click.echo(f"{printable(str(removed.folder))}: removed {entries} entries{measurements}, {size(removed.bytes)}")


def _data(found: CacheInfo) -> dict[str, object]:
    return {
        "folder": found.folder,
        "bytes": found.bytes,
        "kinds": [{"name": kind.name, "entries": kind.entries, "bytes": kind.bytes} for kind in found.kinds],
        "measurements": found.measurements,
        "measurement_bytes": found.measurement_bytes,
    }
