"""Which of the ways to fuse a graph is the fastest, by the estimates of the kernels that come of it."""
