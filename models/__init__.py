"""Models to compile, verify and measure: exported graphs without weights, pinned packages, and small networks of the same topology."""
