"""The live loop: lease, read the log, evolve, decide, write decisions and cursor in one transaction."""
