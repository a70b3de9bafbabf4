"""What a fleet's log adds up to: the World, and ``evolve``."""
