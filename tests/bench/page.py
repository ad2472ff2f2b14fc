"""Fills the tables of docs/performance.md out of the JSON files beside it, which tests.bench.keep writes.

A table stands between `<!-- table NAME -->` and `<!-- end -->`.

Usage: python -m tests.bench.page [--check]      --check only says, by the exit code, whether the page is up to date
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping

from tests.bench.keep import DOCS
from tests.bench.other_tables import beside, beside_static, first_calls, loops, models, while_nodes
from tests.bench.product_tables import epilogues, few_rows, ffma, gated, open_products, products, summary

PAGE = DOCS / "performance.md"

TABLES: Mapping[str, Callable[[], str]] = {
    "beside": beside,
    "dynamic": lambda: beside_static("dynamic", "batch × sequence"),
    "epilogues": epilogues,
    "few_rows": few_rows,
    "ffma": ffma,
    "first_calls": first_calls,
    "gated": gated,
    "loops": loops,
    "models": models,
    "open_products": open_products,
    "open_vit": lambda: beside_static("open_vit", "images × height × width"),
    "products": products,
    "summary": summary,
    "while": while_nodes,
}

_PLACE = re.compile(r"(<!-- table (?P<name>\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def filled(page: str) -> str:
    """Return a page with its tables made anew."""
    return _PLACE.sub(lambda place: f"{place[1]}{TABLES[place['name']]()}{place[3]}", page)


def main(arguments: list[str]) -> int:
    """Run the command line; see the module's text."""
    page = PAGE.read_text(encoding="utf-8")
    match arguments:
        case []:
            PAGE.write_text(filled(page), encoding="utf-8")
            return 0
        case ["--check"]:
            return int(filled(page) != page)
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
