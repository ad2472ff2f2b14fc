"""GPU architectures, and the emulator, as data."""
