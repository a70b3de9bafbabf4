"""Ledger: an event-sourced scheduling ledger.

The rooms, in the order in which an event passes through them:

``events``     bytes to facts: the CloudEvents envelope and the contract of each event type
``log``        the log in Postgres: one gapless order per fleet, identity, receipts, two Merkle trees
``facts``      what happened and what was decided, as frozen values
``reducers``   ``evolve(world, fact) -> world``
``decisions``  ``decide(world, event) -> decisions``, which asks ``core``
``core``       the scheduling systems as pure functions of plain values
``engine``     the live loop around evolve and decide
``replay``     the audit loop around the same two functions
``views``      what people see with SQL
``cli``        the ``ledger`` command

``units`` and ``errors`` are the words all of them share. Which room may import which is written in
``pyproject.toml`` and checked by import-linter; docs/adr/0001 says why.
"""

__version__ = "0.1.0.dev0"
