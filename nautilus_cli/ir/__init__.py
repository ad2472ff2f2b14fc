"""The dataflow IR: types, values, nodes and graphs as frozen data; symbolic sizes; index maps and expressions of fused groups.

`graph` is where to begin; `text` prints a graph and `text_reader` parses it; `dims` has the sizes that only a run knows.
"""
