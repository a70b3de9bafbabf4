"""``ledger explain`` and ``ledger diff``: how decisions came about, and what they changed."""
