"""A topic the ledger reads, and who may speak in it."""

from dataclasses import dataclass

from ledger.events.contract import Family


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic by its name; a message of any family not in ``families`` is quarantined."""

    name: str
    families: frozenset[Family]

    def under(self, prefix: str) -> "Topic":
        """The same topic where names begin with ``prefix``."""
        return Topic(prefix + self.name, self.families)
