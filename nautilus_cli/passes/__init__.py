"""Graph to graph, one file a pass: `pipeline` is their order with the reason of each, and `rewriting/rules/` has one file a rewrite."""
