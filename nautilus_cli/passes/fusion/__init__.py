"""Which nodes become one kernel: clusters grow around anchors and reductions, and become groups."""
