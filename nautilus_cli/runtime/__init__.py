"""Load and run a library from Python, through the C interface of `nautilus/abi.h`; needs numpy only."""
