"""What a graph says around matrix products by constants, as products that one kernel does: gated units, and norms of rows."""
