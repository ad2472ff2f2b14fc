"""Plans of a single kernel: what tuning and benchmarks measure."""
