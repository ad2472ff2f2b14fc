"""The kernel families: what each computes as data, which schedules are possible, how they are launched, and how long they should take.

`base` says what a family is. `product`, `mma_product`, `wgmma_product` and `skinny_product` are main loops that several families share.
"""
