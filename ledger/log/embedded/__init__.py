"""A PostgreSQL server of the ledger's own, for whoever has none.

``server`` starts, adopts and stops it; the modules beside it each answer one question for it:
which programs to run (``binaries``), as whom (``account``), where everything lies
(``data_directory``), which processes are at work there (``processes``) and why it failed
(``diagnosis``). docs/adr/0004 says why there is such a server at all.
"""
