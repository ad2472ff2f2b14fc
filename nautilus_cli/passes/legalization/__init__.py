"""What kernels need of a graph: that there is one for each node, limits, operands and outputs in memory, and an order of dimensions."""
