"""An invented fleet and its history: for demonstrations, benchmarks and tests.

    from ledger.cli.simulator.history import Simulation
    from ledger.cli.simulator.sizes import Mix, Shares, Sizes

    simulation = Simulation(7, sizes=Sizes(clusters=20, nodes=100, workloads=5_000))
    for line in simulation.events(10_000): ...

A ``Simulation`` is endless, and a function of its arguments: the same seed tells the same history
on any machine and in any process. ``events`` gives lines, ``messages`` lines with the Kafka topic
and key each would have, ``endless`` all there will ever be; ``opening`` is how many of them it
takes until the fleet stands. ``Sizes`` says how large it is, ``Shares`` what it is made of,
``Mix`` what happens in it and how much of that goes wrong on its way.

Every line fits the contract (docs/events.md), but for those that ``Mix.trouble`` asks for. Nothing
here knows what the ledger makes of it: a simulation never asks, so it can be told before a ledger
exists. What follows from decisions in a real fleet is guessed here (``pods``, ``control``).

| module | is about |
|---|---|
| ``sizes`` | how large, made of what, how lively |
| ``history`` | the one way in: event after event |
| ``life`` | what comes first, and what happens how often |
| ``fleet`` | who is there in the beginning |
| ``members``, ``outages`` | clusters and nodes, and what becomes of them |
| ``workloads``, ``scaling`` | what is to run, and how its owners change their minds |
| ``batch`` | queues, quotas and jobs |
| ``storage``, ``wear`` | disks and volumes, and how they fill and fail |
| ``pods`` | what agents see running |
| ``control`` | policies and proposals |
| ``spelling``, ``later``, ``luck`` | CloudEvents, what is still to happen, drawing |
"""
