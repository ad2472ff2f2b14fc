"""Keys and values that a decoder takes and gives out longer, as one buffer."""
