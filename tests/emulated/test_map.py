"""Index maps on the device are those of Python: widths and offsets, evaluated by the host compiler at compile time."""

from __future__ import annotations

from math import prod
from pathlib import Path

import numpy as np

from nautilus_cli.codegen.access_rows import map_rows
from nautilus_cli.codegen.numbers import Scalars
from nautilus_cli.codegen.render import environment
from nautilus_cli.ir.binding import bind, expressions
from nautilus_cli.ir.constructors import symbol
from nautilus_cli.ir.functions import factor
from nautilus_cli.ir.index_map import IndexMap, broadcast, compose, divisors, identity, padded, permuted, sliced
from nautilus_cli.ir.stages import Axis, Stage
from nautilus_cli.toolchain import host_compiler
from nautilus_cli.toolchain.cache import Cache

_PRELUDE = """
#include <nautilus/memory/map.cuh>
using namespace nautilus;

// The offset, or -1 where there is no element.
template <class M, class A, class... Values>
constexpr long long offset_with(const A &arguments, Values... values) {
  bool valid = true;
  const int offset = M::offset(arguments, coordinates<int>(values...), valid);
  return valid ? offset : -1;
}
template <class M, class... Values>
constexpr long long offset_of(Values... values) {
  return offset_with<M>(0, values...);
}
template <int kCount>
struct Sizes {
  long long scalars[kCount];
};
"""


def random_map(generator: np.random.Generator) -> IndexMap:
    """Return a map of one stage whose strides and extents are often, but not always, multiples of powers of two."""
    coordinates = []
    scale = int(generator.choice([1, 1, 2, 8]))
    for _ in range(int(generator.integers(1, 4))):
        digits = []
        for _ in range(int(generator.integers(1, 4))):
            extent = int(generator.choice([1, 2, 3, 4, 8, 12]))
            begin = int(generator.integers(0, extent)) if generator.random() < 0.2 else 0
            end = int(generator.integers(begin, extent + 1)) if generator.random() < 0.2 else None
            digits.append(Axis(extent, scale * int(generator.choice([0, 1, -1, 2, 4, 12])), begin, end))
        coordinates.append(tuple(digits))
    last = coordinates[-1][-1]
    if generator.random() < 0.7:
        coordinates[-1] = (*coordinates[-1][:-1], Axis(4 * max(last.extent, 1), 1))
    return IndexMap((Stage(tuple(coordinates), int(generator.choice([0, 0, 4, 5, 16]))),))


def maps() -> list[IndexMap]:
    """Random maps, and chains that stay several stages."""
    generator = np.random.default_rng(0)
    chains = [
        compose(identity((4, 9)), permuted((6, 6), (1, 0))),
        compose(compose(permuted((9, 4), (1, 0)), identity((6, 6))), padded((5, 5), (0, 1), (6, 6))),
        compose(permuted((4, 9), (1, 0)), compose(identity((9, 4)), compose(permuted((6, 6), (1, 0)), padded((5, 3), (1, 2), (6, 6))))),
    ]
    assert all(len(chain.stages) > 1 for chain in chains)
    return [*(random_map(generator) for _ in range(60)), *chains]


def _repeated(offsets: np.ndarray, valid: np.ndarray) -> int:
    """Return the greatest width up to 8 by which aligned groups of neighbours, the last one cut off, are one element."""
    marked = np.where(valid, offsets, -1).reshape(-1, offsets.shape[-1])
    columns = np.arange(marked.shape[1])
    width = 8
    while (marked != marked[:, columns // width * width]).any():
        width //= 2
    return width


def test_twin_of_python(tmp_path: Path) -> None:
    render = environment().from_string('{% import "_functor.jinja" as part %}{{ part.map(rows) }}').render
    generator = np.random.default_rng(1)
    lines = [_PRELUDE]
    widths = set()
    for number, index_map in enumerate(maps()):
        lines.append(f"using M{number} = {render(rows=map_rows(index_map))};")
        widths.add(index_map.contiguous_width(8))
        lines += [f"static_assert(M{number}::contiguous_width({limit}) == {index_map.contiguous_width(limit)});" for limit in (1, 2, 4, 8)]
        lines.append(f"static_assert(M{number}::kIsGuarded == {str(index_map.is_guarded).lower()});")
        offsets, valid = index_map.offsets()
        lines.append(f"static_assert(M{number}::repeated_width(8) <= {_repeated(offsets, valid)});")
        if index_map.is_uniform_last():
            lines.append(f"static_assert(M{number}::repeated_width(8) == 8);")
        for flat in generator.integers(0, prod(index_map.extents), 12):
            place = tuple(int(i) for i in np.unravel_index(flat, index_map.extents))
            expected = int(offsets[place]) if valid[place] else -1
            lines.append(f"static_assert(offset_of<M{number}>({', '.join(map(str, place))}) == {expected});")
    assert widths == {1, 2, 4, 8}, "the random maps do not try every width"
    assert host_compiler.compile_object("\n".join(lines), Cache(tmp_path))


def symbolic_maps() -> list[IndexMap]:
    """Maps of tensors whose sizes are not known: of one stage and of two, repeated and guarded."""
    n, m, w = symbol("n", 1, 9), symbol("m", 1, 40), symbol("w", 8, 64, 8)
    heads = compose(permuted((n, m, 12, 64), (0, 2, 1, 3)), identity((n, m, 768)))
    return [
        heads,
        compose(identity((n, m, 768)), permuted((n, 12, m, 64), (0, 2, 1, 3))),
        compose(identity((n, m)), permuted((n, m), (1, 0))),
        broadcast((n, 1, 1, m), (n, 12, m, m)),
        broadcast((n, 1), (n, 64)),
        padded((n, w), (0, 2), (n, w + 8)),
        padded((n, m, 4), (0, 1, 0), (n, m + 3, 4)),
        identity((n, w)),
        sliced((n, w, 4), (0, 1, 0), (1, 2, 1), (n, w // 2 - 1, 4)),
    ]


def test_twin_of_python_for_sizes_that_are_arguments(tmp_path: Path) -> None:
    render = environment().from_string('{% import "_functor.jinja" as part %}{{ part.map(rows) }}').render
    generator = np.random.default_rng(2)
    lines = [_PRELUDE]
    widths = set()
    for number, index_map in enumerate(symbolic_maps()):
        values = tuple(dict.fromkeys((*expressions(index_map), *map(factor, divisors(index_map)))))
        lines.append(f"using M{number} = {render(rows=map_rows(index_map, Scalars(values)))};")
        widths.add(index_map.contiguous_width(8))
        lines += [f"static_assert(M{number}::contiguous_width({limit}) == {index_map.contiguous_width(limit)});" for limit in (2, 4, 8)]
        for sizes in ({"n": 1, "m": 1, "w": 8}, {"n": 2, "m": 40, "w": 64}, {"n": 9, "m": 7, "w": 24}):
            bound = bind(index_map, sizes)
            offsets, valid = bound.offsets()
            scalars = f"Sizes<{len(values)}>{{{{{', '.join(str(v) for v in bind(values, sizes))}}}}}"
            for flat in generator.integers(0, prod(bound.extents), 12):
                place = tuple(int(i) for i in np.unravel_index(flat, bound.extents))
                expected = int(offsets[place]) if valid[place] else -1
                lines.append(f"static_assert(offset_with<M{number}>({scalars}, {', '.join(map(str, place))}) == {expected});")
    assert widths == {1, 4, 8}, "the maps do not try every width"
    assert host_compiler.compile_object("\n".join(lines), Cache(tmp_path))
