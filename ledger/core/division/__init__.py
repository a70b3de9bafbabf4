"""Replicas of a workload over clusters: who is chosen, and how many each one gets.

``static_weight``  shares by weight, with the last result in mind and a lot for what is left over
``webster``        one replica after the other, each to whom it is due most
``dynamic``        by what is available, on as many clusters as have room or on as few as it takes
``duplicated``     all of them, everywhere
``selection``      which clusters take part at all: spread over clusters and regions

Pages: docs/core/division.md, docs/core/webster.md, docs/core/dynamic.md, docs/core/selection.md
"""
