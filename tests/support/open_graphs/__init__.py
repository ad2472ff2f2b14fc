"""Random graphs with open dimensions."""
