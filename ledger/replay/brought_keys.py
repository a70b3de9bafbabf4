"""The keys that a reader brought, what each of them verified, and which verified nothing.

Whoever brings keys asks who signed. Then a note counts only if a key of its own origin holds, since a
note of another site, or none at all, is what somebody shows who has no key. So two things are findings:
a note of an origin of which no key was brought, and a key with which nothing was verified. Witnesses'
keys are looked at where a note has their signature, and none can stand for the log's own.

A key is asked for where its origin's notes would be: a fleet that is not looked at has none. In archives
that can be less than the log has signed (``unmet``).
"""

from collections.abc import Iterable, Sequence

from ledger.errors import InvalidRequest
from ledger.log.notes import COSIGNATURE, Key, Note, open_note
from ledger.log.signing_keys import read_origin
from ledger.units import Incarnation


class BroughtKeys:
    """The keys of a reader, and how far they have come."""

    def __init__(self, keys: Iterable[Key] = ()) -> None:
        self._keys = tuple(dict.fromkeys(keys))
        self._logs = {key.name for key in self._keys if key.type != COSIGNATURE}
        self._used: set[Key] = set()
        self._notes = 0
        self._unchecked = 0

    @property
    def notes(self) -> int | None:
        """How many notes were verified; None where no key was brought."""
        return self._notes if self._keys else None

    @property
    def unchecked(self) -> int:
        """How many notes had signatures at which nobody looked, since no key was brought."""
        return self._unchecked

    @property
    def used(self) -> frozenset[Key]:
        """The keys that verified something."""
        return frozenset(self._used)

    def refusal(self, origin: str, note: Note, *, counted: bool) -> str | None:
        """Why a note is not signed as one of this origin; None if it is.

        That it says so itself is looked at always, the signatures where there are keys. ``counted``
        says whether this is the one time that the note counts.
        """
        if all(signature.name != origin for signature in note.signatures):
            return f"{origin} did not sign it"
        if not self._keys:
            self._unchecked += counted
            return None
        if origin not in self._logs:
            return f"no key of {origin} was brought"
        try:
            opened = open_note(note.spelled, self._keys)
        except InvalidRequest as refusal:
            return refusal.message
        held = {key for key, _ in opened.verified}
        if not any(key.name == origin and key.type != COSIGNATURE for key in held):
            return f"no key of {origin} that was brought signed it"
        self._used |= held
        self._notes += counted
        return None


def own(keys: Iterable[Key], fleet: str) -> list[Key]:
    """Those of a fleet's origins, of whatever site and life."""
    said = {key: read_origin(key.name) for key in keys if key.type != COSIGNATURE}
    return [key for key, origin in said.items() if origin is not None and origin.fleet == fleet]


def unmet(
    keys: Sequence[Key],
    used: frozenset[Key],
    *,
    newest: Incarnation | None = None,
    begins_late: bool = False,
) -> list[Key]:
    """Which of a fleet's keys should have verified something, and did not.

    An archive ends in a life of its log, ``newest``, and knows nothing of later ones; and one that
    begins later than the log may lack what an early key, or one of a quiet tree, has signed. But with
    no note at all that a key verified, nothing was shown.
    """
    missed = [key for key in keys if key not in used]
    if len(missed) == len(keys):
        return missed
    if begins_late:
        return []
    return [key for key in missed if newest is None or _life(key) <= newest]


def _life(key: Key) -> Incarnation:
    said = read_origin(key.name)
    assert said is not None, "only the keys of a fleet's origins are asked for"
    return said.incarnation
