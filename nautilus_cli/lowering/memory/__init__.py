"""Where everything that kernels read and write lies."""
