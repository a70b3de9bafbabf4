"""What a service has done, in plain numbers; nobody reads them to decide anything."""

from collections import Counter
from dataclasses import dataclass, field


@dataclass(slots=True)
class Served:
    """Counts since the process began."""

    requests: Counter[str] = field(default_factory=Counter)
    """By the class of their status: 2xx, 3xx, 4xx, 5xx."""
    problems: Counter[str] = field(default_factory=Counter)
    """By their code."""
    busy_seconds: float = 0.0
    """Spent on requests, from their last byte to their answer; several at a time count each."""
    open_requests: int = 0
    events: Counter[str] = field(default_factory=Counter)
    """By what became of them."""
    certificates_read: int = 0
