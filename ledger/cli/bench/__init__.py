"""Benchmarks: how fast the ledger is, measured against a floor in the same run."""
