"""What is written into a pod so that it runs where it was decided to run, as a JSON patch.

A pod is patched while it is being created, and a patch that does not apply stops the pod. So each
operation is an ``add`` whose parent exists in the pod as it was given: where a parent is missing,
the highest missing one is added once, with everything that goes below it.

What the user has written is kept:

- required node affinity is a list of terms of which one is enough, so the requirement goes into
  every term. An empty term selects nothing and is left, else it would begin to select. An empty
  list is no valid pod and is left to the API server to refuse.
- a pod that its user has pinned (``pins``) keeps its selectors, whatever the ledger wanted.
- a deletion cost in the template is raised by one, which keeps the order it meant.

Asking again with the patched pod and the same reservation adds nothing, so it does not matter how
often the API server calls.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from ledger.core.spot.deletion_cost import raised
from ledger.core.spot.labels import (
    DELETION_COST,
    DESIRED_CAPACITY,
    DESIRED_WORDS,
    RESERVATION,
    CapacityClass,
    NodeLabel,
)
from ledger.core.spot.pins import REQUIRED, child, pin_of, required_terms
from ledger.core.spot.selectors import Json, Term, array, mapping
from ledger.errors import InvalidRequest

PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"

Mode = Literal["single", "single_sts", "slots", "ordinal", "passthrough"]
"""``target.Mode``, and whether a lone replica is a StatefulSet's."""

MODES_WITH_COST: Final = ("single", "slots")
"""A Deployment's pods. A StatefulSet removes pods by ordinal and looks at no cost."""

Flag = Literal[
    "conflict_user_pin",
    "invalid_selector_left",
    "selector_matches_nothing_left",
    "cost_bumped",
    "cost_saturated",
    "cost_invalid_left",
]
"""What a person should know about a patch, always in this order. The names are public."""


@dataclass(frozen=True, slots=True)
class Marks:
    """How capacity is written into pods: the label of nodes, and how spot nodes are preferred.

    A preference alone lands on no tainted node, hence the tolerations.
    """

    label: NodeLabel = field(default_factory=NodeLabel)
    weight: int = 100
    tolerations: Sequence[Json] = ()


@dataclass(frozen=True, slots=True)
class Add:
    """One operation: add ``value`` at ``path``, a JSON pointer."""

    path: str
    value: Any


@dataclass(frozen=True, slots=True)
class Patch:
    """What to add to the pod, in this order, and the class it has in the end."""

    capacity_class: CapacityClass
    pin: CapacityClass | None
    adds: tuple[Add, ...]
    flags: tuple[Flag, ...]


def patch(
    pod: Json, *, wanted: CapacityClass, mode: Mode, reservation: str | None, marks: Marks
) -> Patch:
    """The patch that makes ``pod`` what the ledger wants, as far as its user lets it.

    Raises ``InvalidRequest`` where something that has to be read has the wrong type.
    """
    _require_valid(marks)
    given_spec, given_metadata = child(pod, "spec", ""), child(pod, "metadata", "")
    spec, metadata = given_spec or {}, given_metadata or {}
    terms = required_terms(spec)
    pin = pin_of(spec, terms, marks.label)
    if mode == "passthrough":
        return Patch(pin or wanted, pin, (), ())

    flags: list[Flag] = []
    if pin is not None:
        capacity_class = pin
        if wanted == "od" and pin == "spot":
            flags.append("conflict_user_pin")
        to_spec: list[Add] = []
    else:
        capacity_class = wanted
        to_spec = _placed(spec, terms, wanted, mode, marks, flags)
    costs = capacity_class == "od" and mode in MODES_WITH_COST
    to_metadata = _annotated(metadata, reservation, costs=costs, flags=flags)
    to_metadata += _labelled(metadata, DESIRED_WORDS[capacity_class])
    adds = (
        *_below("/spec", to_spec, missing=given_spec is None),
        *_below("/metadata", to_metadata, missing=given_metadata is None),
    )
    return Patch(capacity_class, pin, adds, tuple(flags))


def _placed(
    spec: Json,
    terms: Sequence[Term],
    wanted: CapacityClass,
    mode: Mode,
    marks: Marks,
    flags: list[Flag],
) -> list[Add]:
    """What goes into the specification of a pod that its user has not pinned."""
    label = marks.label
    if wanted == "spot":
        return [*_preferring(spec, marks), *_tolerating(spec, marks.tolerations)]
    if mode in ("single", "single_sts"):
        key, value = label.key, label.on_demand
        if child(spec, "nodeSelector", "/spec") is None:
            return [Add("/spec/nodeSelector", {key: value})]
        return [Add(f"/spec/nodeSelector/{_escaped(key)}", value)]
    return _requiring(spec, terms, label, flags)


def _requiring(spec: Json, terms: Sequence[Term], label: NodeLabel, flags: list[Flag]) -> list[Add]:
    """On-demand nodes in every term of the required node affinity."""
    requirement = {"key": label.key, "operator": "In", "values": [label.on_demand]}
    parent, at, missing = _deepest(spec, ("affinity", "nodeAffinity", REQUIRED))
    if missing:
        content = {"nodeSelectorTerms": [{"matchExpressions": [requirement]}]}
        return [_grafted(at, missing, content)]
    if not terms:
        flags.append("invalid_selector_left")
        return []
    if all(term.is_empty for term in terms):
        flags.append("selector_matches_nothing_left")
        return []
    adds = []
    for place, (term, written) in enumerate(zip(terms, parent["nodeSelectorTerms"], strict=True)):
        expressions = written.get("matchExpressions")
        if term.is_empty or (expressions is not None and _among(expressions, requirement)):
            continue
        below = f"{at}/nodeSelectorTerms/{place}/matchExpressions"
        if expressions is None:
            adds.append(Add(below, [requirement]))
        else:
            adds.append(Add(f"{below}/-", requirement))
    return adds


def _preferring(spec: Json, marks: Marks) -> list[Add]:
    """A preference for spot nodes, unless the very same one is there."""
    label = marks.label
    requirement = {"key": label.key, "operator": "In", "values": [label.spot]}
    term = {"weight": marks.weight, "preference": {"matchExpressions": [requirement]}}
    parent, at, missing = _deepest(spec, ("affinity", "nodeAffinity"))
    if missing:
        return [_grafted(at, missing, {PREFERRED: [term]})]
    return _appended(parent, PREFERRED, at, [term])


def _tolerating(spec: Json, tolerations: Sequence[Json]) -> list[Add]:
    """The tolerations that spot nodes take, each once."""
    wanted: list[Json] = []
    for toleration in tolerations:
        if not _among(wanted, toleration):
            wanted.append(toleration)
    return _appended(spec, "tolerations", "/spec", wanted)


def _annotated(
    metadata: Json, reservation: str | None, *, costs: bool, flags: list[Flag]
) -> list[Add]:
    """Cost and reservation. A pod that already names the reservation has been here before."""
    annotations = child(metadata, "annotations", "/metadata")
    present = annotations or {}
    if reservation is not None and present.get(RESERVATION) == reservation:
        return []
    wanted = {}
    if costs:
        cost = raised(_text_at(present, DELETION_COST))
        if cost.text is not None:
            wanted[DELETION_COST] = cost.text
        if cost.flag is not None:
            flags.append(cost.flag)
    if reservation is not None:
        wanted[RESERVATION] = reservation
    if annotations is None:
        return [Add("/metadata/annotations", wanted)] if wanted else []
    return [Add(f"/metadata/annotations/{_escaped(key)}", text) for key, text in wanted.items()]


def _labelled(metadata: Json, word: str) -> list[Add]:
    labels = child(metadata, "labels", "/metadata")
    if labels is None:
        return [Add("/metadata/labels", {DESIRED_CAPACITY: word})]
    if labels.get(DESIRED_CAPACITY) == word:
        return []
    return [Add(f"/metadata/labels/{_escaped(DESIRED_CAPACITY)}", word)]


def _below(parent: str, adds: list[Add], *, missing: bool) -> list[Add]:
    """The additions to ``parent``; where it is missing itself, one that brings it along."""
    if not missing or not adds:
        return adds
    return [Add(parent, {add.path.removeprefix(f"{parent}/"): add.value for add in adds})]


def _deepest(spec: Json, names: tuple[str, ...]) -> tuple[Json, str, tuple[str, ...]]:
    """How far ``names`` lead down from the specification: the object, its path, what is missing."""
    parent, at = spec, "/spec"
    for depth, name in enumerate(names):
        below = child(parent, name, at)
        if below is None:
            return parent, at, names[depth:]
        parent, at = below, f"{at}/{name}"
    return parent, at, ()


def _grafted(at: str, missing: tuple[str, ...], content: Json) -> Add:
    """``content`` below the missing names, added as one at the highest of them."""
    for name in reversed(missing[1:]):
        content = {name: content}
    return Add(f"{at}/{missing[0]}", content)


def _appended(parent: Json, name: str, at: str, wanted: list[Json]) -> list[Add]:
    """Those of ``wanted`` that the list under ``name`` does not hold yet."""
    present = parent.get(name)
    if present is None:
        return [Add(f"{at}/{name}", wanted)] if wanted else []
    here = array(present, f"{at}/{name}")
    return [Add(f"{at}/{name}/-", one) for one in wanted if not _among(here, one)]


def _among(present: Sequence[object], wanted: Json) -> bool:
    return any(_same(one, wanted) for one in present)


def _same(one: object, other: object) -> bool:
    """Whether two JSON values are the same; to Python alone, true would be 1."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in other)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def _text_at(annotations: Json, key: str) -> str | None:
    text = annotations.get(key)
    if text is not None and not isinstance(text, str):
        raise InvalidRequest("invalid_request", f"/metadata/annotations: {key} is no text")
    return text


def _escaped(key: str) -> str:
    """A key as a step of a JSON pointer."""
    return key.replace("~", "~0").replace("/", "~1")


def _require_valid(marks: Marks) -> None:
    if not 1 <= marks.weight <= 100:
        raise InvalidRequest("invalid_request", f"weight: {marks.weight} is not from 1 to 100")
    for toleration in marks.tolerations:
        for name, value in mapping(toleration, "spot_tolerations").items():
            if isinstance(value, dict | list):
                raise InvalidRequest("invalid_request", f"spot_tolerations: {name} is no scalar")
