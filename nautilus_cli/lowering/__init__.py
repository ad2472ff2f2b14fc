"""From a fused graph to a plan: where passes and kernels meet.

`planner` tells it in order; a file named after a kind of group makes kernels of it; `plan` and `program` are the plan as data.
"""
