"""Questions about on-demand and spot capacity, for ``ledger solve``."""

import re
from collections.abc import Iterator
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from ledger.cli.counting import be, count
from ledger.cli.solve.asking import Count, Op, Question, Written
from ledger.cli.solve.writing import spelled
from ledger.core.spot import ordinal, slots
from ledger.core.spot.deletion_cost import HIGHEST, read_deletion_cost
from ledger.core.spot.labels import CapacityClass, NodeLabel
from ledger.core.spot.min_available import read_min_available
from ledger.core.spot.patch import Add, Marks, Mode, Patch, patch
from ledger.core.spot.pins import REQUIRED
from ledger.core.spot.repair import proposed_repair
from ledger.core.spot.scale_down import ActivePod, Phase, deletion_order, first_difference
from ledger.core.spot.selectors import Node, matching_term, read_terms
from ledger.core.spot.target import Strictness, Target, Workload, target, violation
from ledger.errors import InvalidRequest

Json = dict[str, Any]

USUAL: Final = NodeLabel()
"""The label that nodes carry unless the question says otherwise."""


class MinAvailableQuestion(Question):
    """``spot.parse_min_available``."""

    annotation: str | None = None
    replicas: Count = 1


class WorkloadQuestion(Question):
    """What is read of a workload, and the policy that applies to it."""

    replicas: Count | None = None
    annotation: str | None = None
    last_valid: str | None = None
    default: str | None = None
    strictness: Strictness = "clamp"

    def workload(self, kind: str) -> Workload:
        """The workload that is meant."""
        return Workload(kind, self.replicas, self.annotation, self.last_valid)


class TargetQuestion(WorkloadQuestion):
    """``spot.target``."""

    kind: str


class OrdinalQuestion(WorkloadQuestion):
    """``spot.ordinal``."""

    pod: str
    statefulset: str
    ordinals_start: Count = 0
    pod_index_label: str | None = None


class Admit(Question):
    """A pod is about to be created."""

    op: Literal["admit"]
    uid: str
    hash: str
    carried: str | None = None
    dry_run: bool = False
    user_pin: CapacityClass | None = None


class PodSeen(Question):
    """The pod of a reservation exists."""

    op: Literal["pod_seen"]
    reservation: str


class PodGone(Question):
    """The pod of a reservation was deleted or has failed."""

    op: Literal["pod_deleted", "pod_failed"]
    reservation: str


class Expire(Question):
    """The time of a reservation has run out."""

    op: Literal["expire"]
    reservation: str


class Adopt(Question):
    """A pod exists that was never admitted."""

    op: Literal["adopt"]
    hash: str
    capacity_class: Annotated[CapacityClass, Field(alias="class")]


class ListPods(Question):
    """Which pods of a template exist."""

    op: Literal["list"]
    hash: str
    present: list[str]


class ReplicaSetReplicas(Question):
    """How many pods the ReplicaSet of a template was told to have."""

    op: Literal["rs_replicas"]
    hash: str
    n: Count


class Scale(Question):
    """How many replicas the workload has from now on."""

    op: Literal["scale"]
    replicas: Count | None = None


class Annotate(Question):
    """What the workload's annotation says from now on."""

    op: Literal["annotate"]
    value: str | None = None


class CountPods(Question):
    """How things stand with the pods of a template."""

    op: Literal["count"]
    hash: str


Step = Annotated[
    Admit
    | PodSeen
    | PodGone
    | Expire
    | Adopt
    | ListPods
    | ReplicaSetReplicas
    | Scale
    | Annotate
    | CountPods,
    Field(discriminator="op"),
]


class SequenceQuestion(WorkloadQuestion):
    """``spot.sequence``."""

    kind: str
    steps: list[Step]


class PatchQuestion(Question):
    """``spot.patch``."""

    pod: Json
    capacity_class: Annotated[CapacityClass, Field(alias="class")]
    mode: Mode
    reservation: str | None = None
    spot_tolerations: list[Json] = Field(default=[])
    label: str = USUAL.key
    on_demand: str = USUAL.on_demand
    spot: str = USUAL.spot
    weight: int = 100


class DeletionCostQuestion(Question):
    """``spot.deletion_cost``."""

    value: str | None = None


class NodeQuestion(Question):
    """A node, as far as a selector sees it."""

    name: str = ""
    labels: dict[str, str | None] = Field(default={})


class NodeSelectorMatchQuestion(Question):
    """``spot.node_selector_match``."""

    terms: list[Json] = Field(default=[])
    node: NodeQuestion


class PodQuestion(Question):
    """A pod that a ReplicaSet could delete."""

    assigned: bool
    phase: Phase
    ready: bool
    deletion_cost: Annotated[int, Field(ge=-HIGHEST - 1, le=HIGHEST)] = 0
    same_node_rank: Count = 0
    ready_for: str | None = None
    restarts: Count = 0
    sidecar_restarts: Count = 0
    created: str | None = None
    uid: str = ""


class ScaleDownOrderQuestion(Question):
    """``spot.scale_down_order``."""

    a: PodQuestion
    b: PodQuestion


def _parse_min_available(asked: MinAvailableQuestion) -> Written:
    read = read_min_available(asked.annotation, replicas=asked.replicas)
    return {"kind": read.kind, "min_available": read.pods}


def _explain_min_available(asked: MinAvailableQuestion) -> str:
    read = read_min_available(asked.annotation, replicas=asked.replicas)
    match read.kind:
        case "absent":
            return "There is no annotation, so nothing is asked for."
        case "invalid":
            return (
                f"{asked.annotation!r} is neither a count (3) nor a percentage (40%), so nothing"
                " can be read from it."
            )
        case "int":
            return f"A count: {_pods(read.pods)}."
        case "percent":
            percent = (asked.annotation or "").strip()
            return (
                f"{percent} of {count(asked.replicas, 'replica')}, rounded up: {_pods(read.pods)}."
            )


def _target_of(asked: WorkloadQuestion, workload: Workload) -> Target:
    return target(workload, default=asked.default, strictness=asked.strictness)


def _target(asked: TargetQuestion) -> Written:
    workload = asked.workload(asked.kind)
    found = _target_of(asked, workload)
    answer: dict[str, Any] = {"T": found.pods, "mode": found.mode, "flags": [*found.flags]}
    if found.min_available is not None:
        answer["min_available"] = found.min_available
    if found.majority is not None:
        answer["majority"] = found.majority
    refused = violation(workload) if asked.strictness == "strict" else None
    if refused is not None:
        answer["violation"] = {
            "code": refused.code,
            "min_available": refused.min_available,
            "least": refused.least,
            "most": refused.most,
        }
    return answer


def _explain_target(asked: TargetQuestion) -> str:
    workload = asked.workload(asked.kind)
    text = "\n".join(_target_lines(_target_of(asked, workload), workload))
    refused = violation(workload) if asked.strictness == "strict" else None
    if refused is not None:
        text += (
            f"\nThe policy is strict and refuses the StatefulSet: {refused.code}, it may ask for"
            f" {refused.least} to {count(refused.most, 'pod')}."
        )
    return text


def _pods(number: int | None) -> str:
    assert number is not None, "what is read or kept by number has one"
    return count(number, "pod")


def _target_lines(found: Target, workload: Workload) -> Iterator[str]:
    """A target in words, with the arithmetic."""
    replicas = workload.count
    for flag in found.flags:
        if flag in _TOLD:
            yield _TOLD[flag]
    match found.mode:
        case "single":
            yield "One replica or none: a lone pod runs on an on-demand node."
        case "passthrough":
            yield "Nothing is asked for, so the pods are left as they are."
        case "slots":
            yield f"{found.read!r} of {count(replicas, 'replica')} asks for {_pods(found.min_available)}."
            yield (
                f"Target: min({found.min_available}, {replicas}) = {_pods(found.pods)} on on-demand"
                " nodes, counted for each pod template."
            )
        case "ordinal":
            yield f"{found.read!r} of {count(replicas, 'replica')} asks for {_pods(found.min_available)}."
            yield f"A majority of {replicas} is {replicas} // 2 + 1 = {found.majority}."
            least = ", raised to a majority" if "raised_to_majority" in found.flags else ""
            yield f"Target: the {_pods(found.pods)} with the lowest ordinals{least}."


_TOLD: Final = {
    "annotation_invalid": "The annotation cannot be read.",
    "last_valid_used": "The last one that could be read counts.",
    "default_used": "There is no annotation; the policy's default counts.",
}


def _place(asked: OrdinalQuestion) -> tuple[ordinal.Place, Target]:
    found = _target_of(asked, asked.workload("StatefulSet"))
    pod = ordinal.Pod(asked.pod, asked.statefulset, asked.pod_index_label, asked.ordinals_start)
    return ordinal.place(pod, found), found


def _ordinal(asked: OrdinalQuestion) -> Written:
    place, found = _place(asked)
    return {
        "class": place.capacity_class or "passthrough",
        "deletion_cost": None,
        "ordinal": place.ordinal,
        "index": place.index,
        "T": found.pods,
        "flags": [*found.flags],
    }


def _explain_ordinal(asked: OrdinalQuestion) -> str:
    place, found = _place(asked)
    if place.ordinal is None:
        return f"{asked.pod!r} is no pod of {asked.statefulset!r}, so it is left as it is."
    lines = [
        f"Ordinal {place.ordinal}, counted from {asked.ordinals_start}: index {place.index}.",
        *_target_lines(found, asked.workload("StatefulSet")),
    ]
    if place.capacity_class is not None:
        below = "is" if place.capacity_class == "od" else "is not"
        lines.append(
            f"{place.index} {below} from 0 to below {found.pods}: {place.capacity_class}."
            " A StatefulSet removes pods by ordinal, so no deletion cost is set."
        )
    return "\n".join(lines)


class _Play:
    """A sequence of steps as it goes along: the workload and its reservations."""

    def __init__(self, asked: SequenceQuestion) -> None:
        if asked.kind == "StatefulSet":
            raise InvalidRequest(
                "invalid_request", "a StatefulSet's pods go by ordinal and need no reservations"
            )
        self.asked = asked
        self.workload = asked.workload(asked.kind)
        self.slots = slots.Slots()
        self.answer = slots.Answer(None, None, ())
        """To the latest admission."""

    @property
    def target(self) -> Target:
        """As of now."""
        return _target_of(self.asked, self.workload)

    def template(self, name: str) -> slots.Template:
        """The pods of a template, which may never have been heard of."""
        return self.slots.templates.get(name, slots.Template())

    def step(self, step: Step) -> Written | None:
        """Take one step, and say what it answers."""
        match step:
            case Admit():
                return self._admit(step)
            case PodSeen(reservation=name):
                seen = slots.seen(self.slots, self._number(name))
                self.slots = seen.slots
                if seen.late:
                    return {"flags": ["late_confirmation"], "on_demand": seen.on_demand}
            case PodGone(reservation=name):
                self.slots = slots.gone(self.slots, self._number(name))
            case Expire(reservation=name):
                self.slots = slots.expire(self.slots, self._number(name))
            case Adopt(hash=template, capacity_class=capacity_class):
                self.slots = slots.adopt(self.slots, template, capacity_class)
            case ListPods(hash=template, present=names):
                present = [self._number(name) for name in names]
                self.slots = slots.listed(self.slots, template, present)
            case ReplicaSetReplicas(hash=template, n=replicas):
                self.slots = slots.told_replicas(self.slots, template, replicas)
            case Scale(replicas=replicas):
                self.workload = self.workload.scaled(replicas)
            case Annotate(value=annotation):
                self.workload = self.workload.annotated(annotation)
            case CountPods(hash=template):
                counted = slots.tally(self.template(template), self.target)
                return {
                    "on_demand": counted.on_demand,
                    "live": counted.live,
                    "target": counted.target,
                    "deficit": counted.deficit,
                    "surplus": counted.surplus,
                }
        return None

    def _admit(self, step: Admit) -> Written:
        admission = slots.Admission(step.uid, step.hash, step.carried, step.dry_run, step.user_pin)
        admitted = slots.admit(self.slots, admission, self.target)
        self.slots = admitted.slots
        given = admitted.answer
        answer: dict[str, Any] = {
            "class": given.capacity_class,
            "reservation": None if given.reservation is None else self._name(given.reservation),
            "flags": [*given.flags],
        }
        if given.retired:
            answer["retired"] = [*map(self._name, given.retired)]
        if given.assumed_lost:
            answer["assumed_lost"] = [*map(self._name, given.assumed_lost)]
        if admitted.replayed:
            answer["replayed"] = True
        self.answer = given
        return answer

    def _name(self, number: int) -> str:
        return self.slots.name(number)

    def _number(self, name: str) -> int:
        number = self.slots.number(name)
        if number is None:
            raise InvalidRequest("invalid_request", f"there is no reservation {name!r}")
        return number


def _sequence(asked: SequenceQuestion) -> Written:
    play = _Play(asked)
    return {"results": [play.step(step) for step in asked.steps]}


def _explain_sequence(asked: SequenceQuestion) -> str:
    play = _Play(asked)
    lines = [*_target_lines(play.target, play.workload)]
    for place, step in enumerate(asked.steps):
        answer = play.step(step)
        lines.append(
            f"{place + 1}. {_told(step)}{'' if answer is None else ' -> '}",
        )
        match step:
            case Admit() if answer is not None:
                lines[-1] += _admission_told(play, answer)
            case Scale() | Annotate():
                lines += [f"   {line}" for line in _target_lines(play.target, play.workload)]
            case CountPods(hash=template) if answer is not None:
                lines[-1] += _count_told(play, template, answer)
            case PodSeen() if answer is not None:
                lines[-1] += "it had been given up, and counts again"
            case _:
                pass
    return "\n".join(lines)


def _told(step: Step) -> str:
    """A step in a few words: its name and what it names."""
    said = step.model_dump(exclude={"op"}, exclude_defaults=True)
    return " ".join([step.op, *(f"{name}={_bare(value)}" for name, value in said.items())])


def _bare(value: object) -> str:
    return value if isinstance(value, str) else spelled(value)


def _admission_told(play: _Play, answer: Written) -> str:
    given = play.answer
    if given.capacity_class is None:
        return "left as it is"
    told = f"{given.capacity_class}"
    if given.capacity_class != given.wanted:
        told += " as its user has pinned it"
    if answer["reservation"] is not None:
        told += f", holding {answer['reservation']}"
    if "replayed" in answer:
        return f"{told}, as answered before"
    if "reinvocation" in given.flags:
        return f"{told}, which it holds already"
    given_up = [*answer.get("retired", ()), *answer.get("assumed_lost", ())]
    if given_up:
        told += f"; no room was left for {', '.join(given_up)}"
    were = "was" if given.on_demand == 1 else "were"
    due = "is" if given.target == 1 else "are"
    told += f"; {given.on_demand} of {count(given.live, 'pod')} {were} on-demand, {given.target} {due} due"
    if given.flags:
        told += f" ({', '.join(given.flags)})"
    return told


def _count_told(play: _Play, template: str, answer: Written) -> str:
    told = f"{answer['on_demand']} of {count(answer['live'], 'pod')} {be(answer['on_demand'])} on-demand"
    if answer["target"] is None:
        return told
    told += f"; {answer['target']} {be(answer['target'])} due, {answer['deficit']} short and {answer['surplus']} too many"
    repair = proposed_repair(play.template(template), play.target)
    if repair is None:
        return told
    names = ", ".join(play.slots.name(number) for number in repair.candidates)
    if repair.code == "deficit":
        return f"{told}; evict {repair.count} of the spot pods, in this order: {names}"
    return f"{told}; lower the deletion cost of {repair.count}, in this order: {names}"


def _patched(asked: PatchQuestion) -> Patch:
    label = NodeLabel(asked.label, asked.on_demand, asked.spot)
    return patch(
        asked.pod,
        wanted=asked.capacity_class,
        mode=asked.mode,
        reservation=asked.reservation,
        marks=Marks(label, asked.weight, asked.spot_tolerations),
    )


def _written(add: Add) -> Written:
    return {"op": "add", "path": add.path, "value": add.value}


def _patch(asked: PatchQuestion) -> Written:
    patched = _patched(asked)
    return {
        "patch": [*map(_written, patched.adds)],
        "flags": [*patched.flags],
        "class": patched.capacity_class,
        "user_pin": patched.pin,
    }


def _explain_patch(asked: PatchQuestion) -> str:
    patched = _patched(asked)
    lines = []
    if patched.pin is not None:
        lines.append(f"The pod's own selectors pin it: {patched.pin}. They are left alone.")
    lines.append(f"Wanted {asked.capacity_class}; the pod is {patched.capacity_class}.")
    lines += [f"add {add.path}: {spelled(add.value)}" for add in patched.adds]
    lines += [f"note: {_NOTES[flag]}" for flag in patched.flags]
    if not patched.adds:
        lines.append("Nothing has to be added.")
    return "\n".join(lines)


_NOTES: Final = {
    "conflict_user_pin": "the ledger wanted on-demand, and the user's own selectors exclude it",
    "invalid_selector_left": f"{REQUIRED} has no terms, which the API server will refuse",
    "selector_matches_nothing_left": "all required terms are empty and select no node",
    "cost_bumped": "the template's deletion cost was raised by one",
    "cost_saturated": "the template's deletion cost is the highest there is and stays",
    "cost_invalid_left": "the template's deletion cost is invalid, which the API server will refuse",
}


def _deletion_cost(asked: DeletionCostQuestion) -> Written:
    read = read_deletion_cost(asked.value)
    return {"valid": read.valid, "cost": read.cost}


def _explain_deletion_cost(asked: DeletionCostQuestion) -> str:
    read = read_deletion_cost(asked.value)
    if asked.value is None:
        return "There is no annotation, which counts as 0."
    if not read.valid:
        return f"{asked.value!r} is not valid: Kubernetes would refuse the pod."
    return f"Pods of a lower cost than {read.cost} go before it, as far as they are as ready."


def _matching_term(asked: NodeSelectorMatchQuestion) -> int | None:
    labels = {key: value for key, value in asked.node.labels.items() if value is not None}
    node = Node(asked.node.name, labels)
    return matching_term(read_terms(asked.terms, at="terms"), node)


def _node_selector_match(asked: NodeSelectorMatchQuestion) -> Written:
    place = _matching_term(asked)
    return {"match": place is not None, "term": place}


def _explain_node_selector_match(asked: NodeSelectorMatchQuestion) -> str:
    place = _matching_term(asked)
    if place is None:
        return f"None of {count(len(asked.terms), 'term')} holds for the node."
    return f"Term {place}, counted from 0, holds for the node, and one is enough."


def _scale_down(asked: ScaleDownOrderQuestion) -> tuple[ActivePod, ActivePod]:
    first, second = (
        ActivePod(
            assigned=pod.assigned,
            phase=pod.phase,
            ready=pod.ready,
            deletion_cost=pod.deletion_cost,
            same_node_rank=pod.same_node_rank,
            ready_for=_nanoseconds(pod.ready_for),
            restarts=pod.restarts,
            sidecar_restarts=pod.sidecar_restarts,
            age=_nanoseconds(pod.created),
            uid=pod.uid,
        )
        for pod in (asked.a, asked.b)
    )
    return first, second


def _scale_down_order(asked: ScaleDownOrderQuestion) -> Written:
    first, second = _scale_down(asked)
    # The sort is stable, so that "a" goes first where no criterion tells the two apart.
    goes = "a" if deletion_order([first, second])[0] is first else "b"
    return {"deleted_first": goes, "because": first_difference(first, second)}


def _explain_scale_down_order(asked: ScaleDownOrderQuestion) -> str:
    answer = _scale_down_order(asked)
    if answer["because"] is None:
        return "No criterion tells the two apart: a goes first."
    name = answer["because"]
    return (
        f"{answer['deleted_first']} goes first, because of {name}:"
        f" {_known(getattr(asked.a, name))} of a, {_known(getattr(asked.b, name))} of b."
    )


def _known(value: object) -> object:
    return "unknown" if value is None else value


_SPAN: Final = re.compile(r"([0-9]{1,40}) ?(s|m|h|d|days?|months?)( ago)?")

_SECONDS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "mo": 30 * 86_400}


def _nanoseconds(span: str | None) -> int | None:
    """How long ago, from words: ``now``, ``2h``, ``1 month ago``."""
    if span is None:
        return None
    if span in ("now", "same"):
        return 0
    spelled = _SPAN.fullmatch(span)
    if spelled is None:
        raise InvalidRequest("invalid_request", f"{span!r} is no span of time")
    unit = spelled[2]
    seconds = _SECONDS["mo" if unit.startswith("mo") else unit[0]]
    return int(spelled[1]) * seconds * 1_000_000_000


OPS: Final[tuple[Op[Any], ...]] = (
    Op(
        "spot.parse_min_available",
        "what a min-available annotation asks for",
        MinAvailableQuestion,
        _parse_min_available,
        _explain_min_available,
    ),
    Op(
        "spot.target",
        "how many pods of a workload have to be on on-demand nodes",
        TargetQuestion,
        _target,
        _explain_target,
    ),
    Op(
        "spot.ordinal",
        "the class of a StatefulSet's pod",
        OrdinalQuestion,
        _ordinal,
        _explain_ordinal,
    ),
    Op(
        "spot.sequence",
        "admissions of a Deployment's pods, one after the other",
        SequenceQuestion,
        _sequence,
        _explain_sequence,
    ),
    Op(
        "spot.patch",
        "what is written into a pod that is being created",
        PatchQuestion,
        _patch,
        _explain_patch,
    ),
    Op(
        "spot.deletion_cost",
        "what a deletion cost annotation says",
        DeletionCostQuestion,
        _deletion_cost,
        _explain_deletion_cost,
    ),
    Op(
        "spot.node_selector_match",
        "whether a node matches required node affinity",
        NodeSelectorMatchQuestion,
        _node_selector_match,
        _explain_node_selector_match,
    ),
    Op(
        "spot.scale_down_order",
        "which of two pods a ReplicaSet deletes first",
        ScaleDownOrderQuestion,
        _scale_down_order,
        _explain_scale_down_order,
    ),
)
