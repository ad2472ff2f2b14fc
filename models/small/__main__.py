"""Usage: python -m models.small NAME dynamo|torchscript fp32|fp16 OUT.onnx [SEED]."""

import sys

import onnx

from models.small import EXPORTERS, NETWORKS, TYPES, build


def main(arguments: list[str]) -> int:
    """Run the command line."""
    match arguments:
        case [name, exporter, dtype, path, *seed] if name in NETWORKS and exporter in EXPORTERS and dtype in TYPES and len(seed) < 2:
            onnx.save(build(name, exporter, dtype, seed=int(seed[0]) if seed else 0), path)
            return 0
        case _:
            print(f"{__doc__}\nNAME is one of {', '.join(NETWORKS)}.", file=sys.stderr)
            return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
