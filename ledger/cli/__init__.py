"""The ``ledger`` command: words for people around what the other rooms do."""
