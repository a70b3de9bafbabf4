"""What a command says besides its answer goes here, so that its answer can be piped.

It stands apart because most commands say nothing besides, and would wait for it to load.
"""

from rich.console import Console

aside = Console(stderr=True, highlight=False, markup=False, emoji=False)
"""Often others wrote some of what is said, so nothing in it is markup unless the call says so."""
