"""What only a run knows: which launches there are, how often they run, and numbers that kernels give."""
