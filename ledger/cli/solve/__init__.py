"""``ledger solve``: the door through which the five systems of the core are asked without a log."""
