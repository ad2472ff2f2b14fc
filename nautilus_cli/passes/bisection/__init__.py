"""A fused graph changed so that one can find out which kernel, or which node of it, is wrong."""
