"""The C sources of the host: they compile cleanly, export what the header says, and agree with Python and with cuda.h."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

import pytest

from nautilus_cli import resources
from nautilus_cli.artifact import abi
from nautilus_cli.artifact.elf import _dynamic_symbols, _read_header
from nautilus_cli.ir.types import DTYPES, UCS4

SOURCES = sorted(resources.host().glob("*.c"))
HEADER = resources.include() / "nautilus" / "abi.h"
CUDA_H = Path("/usr/local/cuda/include/cuda.h")

COMPILERS = [
    pytest.param(["gcc"], marks=pytest.mark.skipif(not shutil.which("gcc"), reason="gcc is not installed")),
    pytest.param(["clang"], marks=pytest.mark.skipif(not shutil.which("clang"), reason="clang is not installed")),
    pytest.param([sys.executable, "-m", "ziglang", "cc"], marks=pytest.mark.skipif(not find_spec("ziglang"), reason="no ziglang")),
]


def compile_clean(compiler, *arguments):
    command = [*compiler, "-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{resources.include()}", f"-I{resources.host()}", *arguments]
    home = {"HOME": tempfile.gettempdir()} | os.environ  # zig keeps what it builds there
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, env=home)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("compiler", COMPILERS)
def test_host_code_compiles_without_warnings(tmp_path, compiler):
    output = tmp_path / "host.so"
    compile_clean(compiler, "-std=c99", "-O2", "-fPIC", "-fvisibility=hidden", "-shared", *SOURCES, "-ldl", "-o", output)
    image = output.read_bytes()
    exported = {name.decode() for name, value in _dynamic_symbols(image, _read_header(image)) if value and name.startswith(b"nautilus")}
    declared = set(re.findall(r"NAUTILUS_API [\w ]+?\*?(nautilus_\w+)\(", HEADER.read_text()))
    assert len(declared) > 20
    assert exported == declared | {"nautilus_payload_descriptor"}


@pytest.mark.parametrize("language", [("c", "-std=c99"), ("c++", "-std=c++11")])
def test_public_headers_compile_alone(tmp_path, language):
    for name in ("nautilus/abi.h", "nautilus/emulator.h", "driver.h"):
        source = tmp_path / "alone.c"
        source.write_text(f"#include <{name}>\nint main(void) {{ return 0; }}\n")
        compile_clean(["gcc"], "-x", *language, "-c", source, "-o", tmp_path / "alone.o")


def enumerators(pattern):
    return {name: int(value) for name, value in re.findall(pattern, HEADER.read_text())}


def test_python_constants_are_those_of_the_header():
    text = HEADER.read_text()
    statuses = enumerators(r"NAUTILUS_(\w+) = (\d+),? +/\*")
    assert {s.name: s.value for s in abi.Status} == {"OK": 0, **{k: v for k, v in statuses.items() if k in abi.Status.__members__}}
    codes = {
        name.lower(): value
        for name, value in enumerators(r"NAUTILUS_([FUIB]\w*\d*) = (\d+)").items()
        if name.lower() in {*DTYPES, UCS4.name}
    }
    assert codes == abi.DTYPE_CODES
    assert set(abi.DTYPE_CODES) == {*DTYPES, UCS4.name}
    places = re.search(r"enum nautilus_place \{(.*?)\}", text)
    launches = re.search(r"enum nautilus_launch \{(.*?)\}", text)
    assert places and launches
    assert {p.name: p.value for p in abi.Place} == {n: int(v) for n, v in re.findall(r"NAUTILUS_(\w+) = (\d)", places[1])}
    assert {m.name: m.value for m in abi.LaunchMode} == {n: int(v) for n, v in re.findall(r"NAUTILUS_LAUNCH_(\w+) = (\d)", launches[1])}
    for name in ("ABI_VERSION", "POINTER_ALIGNMENT", "WORKSPACE_ALIGNMENT"):
        assert f"#define NAUTILUS_{name} {getattr(abi, name)}\n" in text


CHECK_AGAINST_CUDA = r"""
#include <cuda.h>
#include "driver.h"
#include <stddef.h>
#define SAME(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #ours)
#define STRING_(x) #x
#define STRING(x) STRING_(x)
#include <stdio.h>
#include <string.h>
%(same)s
SAME(sizeof(cu_kernel_node_params), sizeof(CUDA_KERNEL_NODE_PARAMS));
SAME(offsetof(cu_kernel_node_params, parameters), offsetof(CUDA_KERNEL_NODE_PARAMS, kernelParams));
SAME(offsetof(cu_kernel_node_params, context), offsetof(CUDA_KERNEL_NODE_PARAMS, ctx));
SAME(sizeof(cu_launch_attribute), sizeof(CUlaunchAttribute));
SAME(offsetof(cu_launch_attribute, value), offsetof(CUlaunchAttribute, value));
SAME(sizeof(cu_launch_config), sizeof(CUlaunchConfig));
SAME(offsetof(cu_launch_config, attributes), offsetof(CUlaunchConfig, attrs));
static int wrong;
static void compare(const char *name, const char *ours, const char *theirs) {
  /* cuEventElapsedTime: the newer version only adds a check, and drivers before 12.8 lack it. */
  if (strcmp(ours, theirs) != 0 && strcmp(name, "cuEventElapsedTime") != 0) wrong = printf("%%s: %%s, not %%s\n", name, theirs, ours);
}
int main(void) {
%(names)s
  return wrong != 0;
}
"""


@pytest.mark.skipif(not CUDA_H.is_file(), reason="no CUDA toolkit")
def test_driver_table_agrees_with_cuda_h(tmp_path):
    text = (resources.host() / "driver.h").read_text()
    pairs = re.findall(r"(CU_\w+) = \d+,? */\* (CUDA_\w+|CU_\w+)\b[^*]*\*/", text)
    assert len(pairs) > 20
    functions = re.findall(r'X\((cu\w+), "(\w+)"', text)
    assert len(functions) > 40
    source = tmp_path / "check.c"
    source.write_text(
        CHECK_AGAINST_CUDA
        % {
            "same": "\n".join(f"SAME({ours}, {theirs});" for ours, theirs in pairs),
            "names": "\n".join(f'  compare("{name}", "{symbol}", STRING({name}));' for name, symbol in functions),
        }
    )
    flags = [f"-I{CUDA_H.parent}", f"-I{resources.host()}"]
    done = subprocess.run(["gcc", "-std=c11", *flags, source, "-o", tmp_path / "check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    done = subprocess.run([tmp_path / "check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
