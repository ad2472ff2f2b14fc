"""Small networks with the topology of the benchmark models, written node for node as torch's two exporters write those.

A few thousand weights instead of millions: the same operators, chains and attributes, so that whole models can be compiled and emulated in
seconds. `python -m models.small` writes one to a file.
"""

from models.small.networks import EXPORTERS, NETWORKS, TYPES, build

__all__ = ["EXPORTERS", "NETWORKS", "TYPES", "build"]
