"""Fetching a pinned model from a package, without a network."""

from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path

import pytest

from models import fetch as module
from models.fetch import FetchError, Pin, fetch, read_pin

CONTENT = b"not really a model"


def root_with(tmp_path: Path, sha256: str = hashlib.sha256(CONTENT).hexdigest()) -> Path:
    folder = tmp_path / "models" / "tiny"
    folder.mkdir(parents=True)
    folder.joinpath("fetch.toml").write_text(f'package = "p"\nversion = "1"\nmember = "p/tiny.onnx"\nsha256 = "{sha256}"\n')
    return folder.parent


class Index:
    """A package index of one wheel, which counts downloads."""

    def __init__(self, member: str = "p/tiny.onnx") -> None:
        self.member, self.downloads = member, 0

    def __call__(self, pin: Pin, folder: Path) -> None:
        self.downloads += 1
        with zipfile.ZipFile(folder / f"{pin.package}-{pin.version}-py3-none-any.whl", "w") as wheel:
            wheel.writestr(self.member, CONTENT)
            wheel.writestr("p/setup.py", "raise SystemExit('must not run')")


def test_only_the_member_is_kept_and_fetched_once(tmp_path: Path):
    root, index, cache = root_with(tmp_path), Index(), tmp_path / "cache"
    path = fetch("tiny", get=index, root=root, cache=cache)
    assert path.read_bytes() == CONTENT
    assert [p.name for p in path.parent.iterdir()] == ["tiny.onnx"]
    assert fetch("tiny", get=index, root=root, cache=cache) == path
    assert index.downloads == 1


def test_output_folder_gets_a_copy_of_what_is_cached(tmp_path: Path):
    root, index, cache = root_with(tmp_path), Index(), tmp_path / "cache"
    fetch("tiny", get=index, root=root, cache=cache)
    path = fetch("tiny", tmp_path / "out", get=index, root=root, cache=cache)
    assert path == tmp_path / "out" / "tiny.onnx"
    assert path.read_bytes() == CONTENT
    assert index.downloads == 1


def test_a_damaged_file_is_fetched_again(tmp_path: Path):
    root, index, cache = root_with(tmp_path), Index(), tmp_path / "cache"
    path = fetch("tiny", get=index, root=root, cache=cache)
    path.write_bytes(b"damaged")
    assert fetch("tiny", get=index, root=root, cache=cache).read_bytes() == CONTENT
    assert index.downloads == 2


def test_a_wrong_hash_is_refused_and_not_kept(tmp_path: Path):
    root, cache = root_with(tmp_path, sha256="0" * 64), tmp_path / "cache"
    with pytest.raises(FetchError, match="0{64} is pinned"):
        fetch("tiny", get=Index(), root=root, cache=cache)
    assert not cache.exists()


def test_a_wheel_without_the_member_is_refused(tmp_path: Path):
    with pytest.raises(FetchError, match=r"Expected a wheel that holds p/tiny\.onnx"):
        fetch("tiny", get=Index("p/other.onnx"), root=root_with(tmp_path), cache=tmp_path / "cache")


def test_offline_says_what_to_do(tmp_path: Path):
    def offline(pin: Pin, folder: Path) -> None:
        raise FetchError("pip could not download p==1: no network.")

    with pytest.raises(FetchError, match="put it at") as caught:
        fetch("tiny", get=offline, root=root_with(tmp_path), cache=tmp_path / "cache")
    assert str(tmp_path / "cache" / "tiny" / "tiny.onnx") in str(caught.value)


def test_pip_failing_is_reported_in_its_last_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    pip = tmp_path / "python"
    pip.write_text("#!/bin/sh\necho trying >&2\necho 'ERROR: no such version' >&2\nexit 1\n")
    pip.chmod(0o755)
    monkeypatch.setattr(module.sys, "executable", str(pip))
    with pytest.raises(FetchError, match=r"p==1: ERROR: no such version\."):
        module.download(Pin(package="p", version="1", member="m", sha256="0"), tmp_path)


def test_command_line_prints_the_path_or_the_error(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    assert module.main(["no_such_model"]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Known: " in captured.err
    assert "ppocr_cls" in captured.err
    monkeypatch.setattr(module, "fetch", lambda name, folder, get: folder / f"{name}.onnx")
    assert module.main(["tiny", "other", "-o", str(tmp_path)]) == 0
    assert capsys.readouterr().out.split() == [str(tmp_path / "tiny.onnx"), str(tmp_path / "other.onnx")]
    assert module.main(["--all", "-o", str(tmp_path)]) == 0
    assert len(capsys.readouterr().out.split()) == len(module.names())


@pytest.mark.parametrize("arguments", [[], ["ppocr_cls", "--all"]])
def test_command_line_takes_names_or_all(arguments: list[str], capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit):
        module.main(arguments)
    assert "name some models, or say --all" in capsys.readouterr().err


def test_models_of_one_package_share_its_download(tmp_path: Path):
    root, index = root_with(tmp_path), Index()
    (root / "twin").mkdir()
    (root / "twin" / "fetch.toml").write_text((root / "tiny" / "fetch.toml").read_text())
    assert module.names(root) == ["tiny", "twin"]
    once = module.Once(tmp_path / "wheels", index)
    for name in module.names(root):
        assert fetch(name, get=once, root=root, cache=tmp_path / "cache").read_bytes() == CONTENT
    assert index.downloads == 1


def test_every_pin_is_complete():
    pins = sorted(module.ROOT.glob("*/fetch.toml"))
    assert pins
    for path in pins:
        pin = read_pin(path.parent.name)
        assert len(pin.sha256) == 64
        assert pin.member.endswith(".onnx")
