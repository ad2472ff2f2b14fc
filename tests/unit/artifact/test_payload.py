import hashlib
import re
import struct
import subprocess
import zlib
from dataclasses import replace

import numpy as np
import pytest

from nautilus_cli import resources
from nautilus_cli.artifact import payload as payloads
from nautilus_cli.artifact.payload import Payload
from nautilus_cli.artifact.payload_layout import (
    CARRY,
    ELEMENT,
    HEADER,
    IMAGE,
    KERNEL,
    LAUNCH,
    MAP,
    PAYLOAD_VERSION,
    PORT,
    STEP,
    VARIANT,
    WORD,
    WORD_KINDS,
)
from nautilus_cli.artifact.sizes import CHECK, PATCH, SIZE, SYMBOL, Operation, Patched, Source
from nautilus_cli.artifact.variant import Variant
from nautilus_cli.artifact.weights_file import WeightsFile
from nautilus_cli.artifact.weights_section import weights_digest
from nautilus_cli.errors import InternalError
from nautilus_cli.lowering.plan import Launch, Weight, Word
from tests.support import fake_library
from tests.support.fake_library import compile_c

MODEL, MANIFEST = b"m" * 32, b"n" * 32


def build(*variants: Variant, weights_file: WeightsFile | None = None) -> Payload:
    digest = weights_digest(variants[0].plan)
    return payloads.build(
        variants, model_digest=MODEL, manifest_digest=MANIFEST, weights_digest=digest, producer="1.0", weights_file=weights_file
    )


def joined(payload: Payload) -> bytes:
    return b"".join(payload.pieces)


def test_structures_are_those_of_the_header_file(tmp_path):
    names = [
        "header",
        "variant",
        "image",
        "port",
        "kernel",
        "launch",
        "word",
        "map",
        "symbol",
        "size",
        "patch",
        "check",
        "step",
        "carry",
        "element",
    ]
    lines = "".join(f'printf("%zu ", sizeof(struct payload_{name}));' for name in names)
    source = tmp_path / "sizes.c"
    source.write_text(f'#include <stdio.h>\n#include "payload.h"\nint main(void) {{ {lines} return 0; }}\n')
    compile_c(tmp_path / "sizes", "-std=c99", source)
    sizes = [int(n) for n in subprocess.run([tmp_path / "sizes"], capture_output=True, check=True).stdout.split()]
    assert sizes == [
        s.size for s in (HEADER, VARIANT, IMAGE, PORT, KERNEL, LAUNCH, WORD, MAP, SYMBOL, SIZE, PATCH, CHECK, STEP, CARRY, ELEMENT)
    ]


def test_operations_and_patches_are_those_of_the_header_file():
    text = (resources.host() / "payload.h").read_text()
    for name, prefix, kinds in (
        ("payload_operation", "SIZE_", Operation),
        ("payload_patch_kind", "PATCH_", Patched),
        ("payload_source", "SOURCE_", Source),
    ):
        ((names, _),) = re.findall(rf"enum {name} \{{ ([^}}]*?),\s+(\w+S) \}}", text)
        assert [n.removeprefix(prefix) for n in re.split(r",\s+", names)] == [kind.name for kind in kinds]


def test_word_kinds_are_those_of_the_header_file():
    text = (resources.host() / "payload.h").read_text()
    (names,) = re.findall(r"enum payload_word_kind \{ (.*?), WORD_KINDS \}", text)
    assert [n.removeprefix("WORD_").lower() for n in names.split(", ")] == list(WORD_KINDS)


def test_sections_lie_where_the_header_says():
    data = joined(build(fake_library.variant(b"image" * 100)))
    fields = HEADER.unpack_from(data)
    assert fields[:4] == (b"NAUTILUS", PAYLOAD_VERSION, HEADER.size, len(data))
    assert fields[5] == zlib.crc32(data[HEADER.size : fields[6]])
    assert fields[-10:-4] == (3, 4, fields[-8], fields[-7], 0, 0)
    assert fields[-4:] == (MODEL, MANIFEST, hashlib.sha256(data[HEADER.size : fields[6]]).digest(), hashlib.sha256(data[-520:-8]).digest())
    assert data[-8:] == b"NAUTEND\0"
    offset, size, crc, _ = IMAGE.unpack_from(data, fields[9])
    assert data[offset:][:size] == b"image" * 100 and crc == zlib.crc32(b"image" * 100)
    assert offset % 256 == 0
    weights_offset, weight_bytes = fields[-12:-10]
    assert weights_offset % 256 == 0 and weight_bytes == 512
    assert data[weights_offset + 256 :][:24] == fake_library.WEIGHTS.tobytes()


def test_weights_outside_leave_their_place_in_the_file():
    data = joined(build(fake_library.variant(b"i"), weights_file=WeightsFile(name="w.safetensors", head=b"h" * 768)))
    inside = joined(build(fake_library.variant(b"i")))
    fields = HEADER.unpack_from(data)
    assert fields[-12:-10] == (768, 512)
    assert fields[-6:-4] == (1, zlib.crc32(b"h" * 768))
    assert data[fields[21] + fields[-7] :].startswith(b"w.safetensors\0")
    assert len(inside) - len(data) == 512
    assert fake_library.WEIGHTS.tobytes() not in data


def test_header_checksum_covers_every_byte():
    data = bytearray(joined(build(fake_library.variant(b"i")))[: HEADER.size])
    (stored,) = struct.unpack_from("<I", data, 24)
    struct.pack_into("<I", data, 24, 0)
    assert zlib.crc32(data) == stored


def test_weights_are_not_copied():
    plan = fake_library.plan()
    pieces = build(fake_library.variant(b"i")).pieces
    views = [p for p in pieces if isinstance(p, memoryview)]
    assert [np.frombuffer(v, np.uint8).ctypes.data for v in views] == [w.array.ctypes.data for w in plan.weights]


def test_same_input_same_bytes():
    assert joined(build(fake_library.variant(b"i"))) == joined(build(fake_library.variant(b"i")))


def test_several_targets_share_weights():
    one = build(fake_library.variant(b"i"))
    two = build(fake_library.variant(b"i"), fake_library.gpu_variant())
    data = joined(two)
    fields = HEADER.unpack_from(data)
    assert fields[8] == 2 * VARIANT.size
    assert len(data) - len(joined(one)) < 2048
    second = VARIANT.unpack_from(data, fields[7] + VARIANT.size)
    assert second[1:5] == (0, 9, 0, 1)
    assert second[6:12] == (1, 4, 4, 4, 5, 5)  # its images, kernels and launches follow those of the first
    for index, symbol in enumerate(fake_library.SYMBOLS):
        offset, size, _, _ = IMAGE.unpack_from(data, fields[9] + (1 + index) * IMAGE.size)
        assert data[offset:][:size].endswith(symbol.encode())
        assert KERNEL.unpack_from(data, fields[15] + (4 + index) * KERNEL.size)[2] == index


def test_names_with_nul_and_lone_surrogates_stay_strings():
    plan = fake_library.plan()
    port = replace(plan.inputs[0], name="a\0b\ud800")
    data = joined(build(fake_library.variant(b"i", inputs=(port, *plan.inputs[1:]))))
    assert b"a\xef\xbf\xbdb?\0" in data


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"launches": (Launch(kernel=0, words=(Word(kind="input"),)),)}, "1 words; the kernel takes 4"),
        ({"launches": (Launch(kernel=2, words=(Word(kind="input", index=3),)),)}, "names nothing"),
        ({"launches": (Launch(kernel=2, words=(Word(kind="nonsense"),)),)}, "names nothing"),
        ({"weights": (Weight(array=np.zeros(1000), recipe="dense", offset=0),)}, "end at byte 8000, their section at 512"),
        ({"weights": tuple(reversed(fake_library.plan().weights))}, "overlap at byte 0"),
    ],
)
def test_refuses_a_broken_plan(changes, message):
    with pytest.raises(InternalError, match=message):
        build(fake_library.variant(b"i", **changes))


def test_refuses_images_that_do_not_fit():
    whole = fake_library.variant(b"i")
    with pytest.raises(InternalError, match="an emulated target has 2 images"):
        build(replace(whole, images=whole.images * 2))
    with pytest.raises(InternalError, match="no image holds the kernels fake_counters, fake_options"):
        build(replace(whole, images=(fake_library.Image(symbols=("fake_add", "fake_gather"), data=b"i"),)))


def test_refuses_targets_that_differ():
    with pytest.raises(InternalError, match="differ in their inputs or outputs"):
        build(fake_library.variant(b"i"), fake_library.variant(b"i", inputs=()))
    with pytest.raises(InternalError, match="differ in their weights"):
        build(fake_library.variant(b"i"), fake_library.variant(b"i", weights=(), weight_bytes=512))
