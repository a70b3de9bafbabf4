"""Whether a pod's own specification already says which capacity it runs on.

Users may pin a pod themselves, by a node selector or by required node affinity, and their word
counts: the ledger then changes nothing about where the pod may run, and counts it as what it is.
Only the capacity label is looked at. Whether the rest of a selector can be satisfied is nothing
that the pod alone could tell.
"""

from collections.abc import Iterable, Sequence

from ledger.core.spot.labels import CapacityClass, NodeLabel
from ledger.core.spot.selectors import Json, Requirement, Term, mapping, read_terms
from ledger.errors import InvalidRequest

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"

_LOWEST, _HIGHEST = -(2**63), 2**63 - 1


def user_pin(pod: Json, label: NodeLabel) -> CapacityClass | None:
    """The class the user has chosen; ``spot`` stands for every kind of node but on-demand."""
    spec = child(pod, "spec", "")
    return None if spec is None else pin_of(spec, required_terms(spec), label)


def pin_of(spec: Json, terms: Sequence[Term], label: NodeLabel) -> CapacityClass | None:
    """The same, with the required terms of ``spec`` already read."""
    selector = child(spec, "nodeSelector", "/spec")
    selected = None if selector is None else selector.get(label.key)
    if selected is not None and not isinstance(selected, str):
        raise InvalidRequest("invalid_request", f"/spec/nodeSelector selects {selected!r}")
    on_label = [
        [one for one in term.labels if one.key == label.key] for term in terms if not term.is_empty
    ]
    if selected is not None and selected != label.on_demand:
        return "spot"
    if on_label and not any(_all_hold(term, label.on_demand) for term in on_label):
        return "spot"
    if selected is not None:
        return "od"
    if on_label and not any(_admits_another(term, label.on_demand) for term in on_label):
        return "od"
    return None


def required_terms(spec: Json) -> tuple[Term, ...]:
    """The terms of the pod's required node affinity, none if there is no such affinity."""
    at = "/spec"
    parent = spec
    for name in ("affinity", "nodeAffinity", REQUIRED):
        below = child(parent, name, at)
        if below is None:
            return ()
        parent, at = below, f"{at}/{name}"
    terms = parent.get("nodeSelectorTerms")
    return () if terms is None else read_terms(terms, at=f"{at}/nodeSelectorTerms")


def child(parent: Json, name: str, at: str) -> Json | None:
    """The object under ``name``; null is as good as absent."""
    given = parent.get(name)
    return None if given is None else mapping(given, f"{at}/{name}")


def _all_hold(term: Iterable[Requirement], value: str | None) -> bool:
    return all(requirement.holds(value) for requirement in term)


def _admits_another(term: Sequence[Requirement], on_demand: str) -> bool:
    """Whether a node can match whose label has another value than on-demand, or is missing.

    Values are without number, but only few kinds need a look: the listed ones if anything is
    listed, and else any fresh text. A number can be spelled with leading zeros, so no finite list
    of exceptions empties a range of numbers.
    """
    if _all_hold(term, None):
        return True
    listed = [one for one in term if one.operator == "In"]
    if listed:
        return any(value != on_demand and _all_hold(term, value) for value in listed[0].values)
    lowest, highest = _LOWEST, _HIGHEST
    for one in term:
        match one.operator:
            case "NotIn" if one.values:
                pass
            case "Exists" if not one.values:
                pass
            case "Gt" if one.bound is not None:
                lowest = max(lowest, one.bound + 1)
            case "Lt" if one.bound is not None:
                highest = min(highest, one.bound - 1)
            case _:
                return False  # malformed, or DoesNotExist
    return lowest <= highest
