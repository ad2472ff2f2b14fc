"""From a fused graph to a plan: where passes and kernels meet.

`planner` tells it in order; `plan` and `program` are the plan as data. What stands further up imports only what stands further down:

    planner                            the order
    fusion | single | memory           which fusion is faster; plans of one kernel; where everything lies
    groups | choosing | control        kernels without a schedule, one file a kind; which schedule at which sizes; what only a run knows
    building                           what kernels without a schedule are built of
    plan, program                      the plan as data
"""
