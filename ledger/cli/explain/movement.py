"""How much moved, in words that agree with what is listed beside them.

The number that a decision records is a net one: of how many more each place has and how many fewer the
smaller sum. What came anew or only went has not moved, and what changed places with its like has not
either; where single ones did, that is told beside the number. What was lost moves with the decision that
places it elsewhere, which may be a later one than the decision that counts it among what left.
"""

from ledger.cli.counting import count
from ledger.cli.explain.derivation import Derivation
from ledger.facts.decision import Decision
from ledger.facts.deployment import Deployment, Waiting
from ledger.facts.disk_placement import DiskPlacement


def in_short(of: Derivation) -> str:
    """The recorded number, and whether there is more to say of it."""
    number = f"moved {of.decision.moved}"
    return number if moved(of) == number else f"{number} net"


def moved(of: Derivation) -> str:
    """The recorded number, and what it does not say."""
    number = of.decision.moved
    match of.outcome:
        case Deployment(moves=moves) if len(moves) != number:
            other = count(len(moves), "instance")
            return f"moved {number} net, node by node: {other} on another node than before"
        case Deployment(changes=changes):
            came = sum(change.added for change in changes)
            left = sum(change.removed for change in changes) + _waited_less(of)
            if min(came, left) != number:
                return f"moved {number} net, node by node: {came} came and {left} left"
        case DiskPlacement(steps=steps, released=released) if of.last is not None:
            # Beyond what it released it replaces what a decision before it did.
            if min(len(steps), max(len(released), number)) != number:
                replicas = count(len(steps), "replica")
                return (
                    f"moved {number} net, disk by disk: {replicas} placed, {len(released)} released"
                )
        case _:
            pass
    return f"moved {number}"


def _waited_less(of: Derivation) -> int:
    """How many fewer lost instances wait than by the decision before: they left their nodes only now."""
    was = () if of.last is None else _waiting(of.last.decision)
    return len(was) - len(_waiting(of.decision))


def _waiting(decision: Decision) -> tuple[Waiting, ...]:
    outcome = decision.outcome
    return outcome.waiting if isinstance(outcome, Deployment) else ()
