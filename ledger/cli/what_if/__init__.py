"""``ledger what-if``: the question as people type it, and the answer as table, JSON and picture."""
