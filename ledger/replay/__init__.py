"""The audit loop: verify the log, fold it again, hold what follows against what was recorded."""
