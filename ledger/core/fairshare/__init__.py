"""Fair shares: who of many queues, namespaces and jobs is served next, who waits, who has to go.

In the order in which they build on each other:

``resources``     amounts of several resources at once, and the dominant share
``reasons``       why somebody waits, as data
``weights``       what a namespace weighs, from its quotas
``queues``        what a queue is, and what is wrong with one
``orders``        every order there is, each one total
``deserved``      what each queue deserves: exact water-filling
``entitlement``   what each namespace is entitled to inside its queue
``gang``          how many tasks a job needs to be worth starting
``room``          free room on nodes, and the first node that fits
``round``         the allocate round
``victims``       votes on who may be evicted, and their plain intersection
``stage``         who holds what where, with every change undoable
``eviction``      preempt within queues, reclaim between them
``decay``         past use as a policy

Rules, worked examples and the differences from Volcano: docs/core/fairshare.md
"""
