"""Disks: which disk takes the next replica of a volume, so that room stays balanced.

``space``         how much of a disk is usable, and whether a replica fits
``eligibility``   whether a disk or node is what a volume asks for: switches, type, tags, topology
``balance``       the score: how uneven the usable bytes of a set are
``weighing``      the scores of all placements in one set, from a single pass
``choice``        node first, then disk
``affinity``      which nodes and zones a volume occupies, and the disk rule
``scheduling``    whole steps: node filters, the anti-affinity ladder, disk filters, choice
``ground``        the same steps where the nodes that a volume has nothing on were judged before
``sequence``      placements one after another on the disks of one node
``auto_balance``  whether a healthy volume should move a replica, and which copy then goes
``rebalance``     a bounded list of moves, each of which lowers the score

Rule, worked examples and the differences from Longhorn: docs/core/disk.md
"""
