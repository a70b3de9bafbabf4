"""How many instances of a request fit on a node, and what each of them would be bound to."""
