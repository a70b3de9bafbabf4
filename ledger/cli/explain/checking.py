"""Whether a decision holds what it says: its digest, its columns, its steps, and what went in.

The digest is taken of the bytes that were read. What is understood of them says less: it has no room for
what somebody added.

That nothing was touched anywhere, and that every decision follows from the log, is for ``ledger verify``
and ``ledger replay`` to show. This looks at one decision, and needs no more than a reader may see.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ledger.cli.explain.derivation import Derivation
from ledger.cli.explain.redoing import Redone
from ledger.log.merkle import leaf_hash


@dataclass(frozen=True, slots=True)
class Checked:
    """What was held against what."""

    digest: bool
    """Whether the record has its digest."""
    columns: tuple[str, ...]
    """The columns that show something else in SQL than the record says."""
    redone: bool | None
    """Whether all that can be asked again comes out the same; None: nothing can."""
    inputs: bool | None
    """Whether what is told of the inputs is all that went in; None: that cannot be shown from here."""
    lines: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Whether nothing differs."""
        return self.digest and not self.columns and self.redone is not False


def check(of: Derivation, again: Sequence[Redone], apart: Sequence[str]) -> Checked:
    """Hold a decision against itself; ``apart`` are the columns that are not as its record."""
    # What decides takes longer to load than a decision takes to read, and only this asks for it.
    from ledger.cli.explain.inputs import complete

    digest = leaf_hash(of.recorded.spelled).hex() == of.recorded.digest
    redone = all(one.differs is None for one in again) if again else None
    inputs = complete(of) or None
    return Checked(
        digest,
        tuple(apart),
        redone,
        inputs,
        (
            "the record has its digest"
            if digest
            else "THE RECORD DOES NOT HAVE ITS DIGEST: `ledger verify` says where it was touched",
            (
                f"SQL SHOWS SOMETHING ELSE THAN THE RECORD SAYS: {', '.join(apart)}"
                if apart
                else "what SQL shows as its result and reasons is as in the record"
            ),
            *_redone(again),
            f"nothing else went in: what is told here has the recorded digest {of.decision.inputs}"
            if inputs
            else "that nothing else went in cannot be shown from the record alone: `ledger replay` does",
        ),
    )


def _redone(again: Sequence[Redone]) -> list[str]:
    if not again:
        return ["nothing of it can be asked again by itself: `ledger replay` makes it from the log"]
    return [
        f"{one.question.op}, asked again: {'the same' if one.differs is None else one.differs}"
        for one in again
    ]
