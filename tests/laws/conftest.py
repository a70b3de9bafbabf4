"""How long the laws look for a counterexample.

``ledger`` is what every run uses: a hundred examples, the same ones each time, so that a change is
judged by its own merits and not by the luck of the day. A check of everything asks a thousand of each,
drawn by ``tests.laws.long_run`` where it can, and with the profile ``thorough`` where it cannot (state
machines). ``long`` looks at a hundred thousand new ones:
``python -m pytest tests/laws --hypothesis-profile long --timeout 0``. What it finds becomes a
vector.
"""

from hypothesis import settings

# Two slow cores are no counterexample, hence no deadline.
settings.register_profile(
    "ledger", max_examples=100, derandomize=True, deadline=None, print_blob=True
)
settings.register_profile(
    "thorough", max_examples=1_000, derandomize=True, deadline=None, print_blob=True
)
settings.register_profile(
    "long", max_examples=100_000, derandomize=False, deadline=None, print_blob=True
)
settings.load_profile("ledger")
