"""To which capacity class a pod is admitted that is about to be created.

The target is that of the workload in the cluster (``ledger.decisions.capacity_class``), of as many
replicas as are wanted there: its share where the workload is divided, else all of them. A StatefulSet's
pod has its class by its ordinal. A Deployment's takes a slot of its template as long as one is left,
and every answer is a reservation that counts from then on; the core counts them
(``ledger.core.spot.slots``). It is told the rows that are kept of the template, oldest first, with the
class of a pod that nobody admitted as its label or its node says: what neither says is no on-demand pod.

Reservations bear the name of the decision that opens them. Where there is no room beside the pods that
are known, some of those must be gone: if whoever asks can list them, the answer is first that they are
to be listed, and is made from the list. Where nobody told of the workload, what whoever asks has read of
it counts. What nobody can tell apart is left as it is, and so is what the ledger does not know; that is
an answer, too.

Admissions are answered under ``hold`` also: a pod does not wait.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from operator import itemgetter
from typing import Final, NamedTuple

from immutables import Map

from ledger.core.spot import ordinal, slots
from ledger.core.spot.labels import CapacityClass
from ledger.core.spot.slots import Held, Numbers, Slots, Template
from ledger.core.spot.target import Target
from ledger.decisions import versions
from ledger.decisions.answer import Answered
from ledger.decisions.capacity_class import SYSTEM, replicas_in, target_of
from ledger.decisions.pod_classes import class_of
from ledger.facts.admission import LIST_FIRST, Admission
from ledger.facts.canonical import Plain, digest
from ledger.facts.own import AdmissionRequested
from ledger.facts.workload import PodObserved, ReplicaSetUpserted, Request, WorkloadUpserted
from ledger.reducers.candidates import wish
from ledger.reducers.instances import subject_of
from ledger.reducers.reservations import Asking, Row
from ledger.reducers.world import World
from ledger.units import LARGEST_WHOLE_NUMBER, Bytes, CpuMilli, DecisionNumber, Subject, Uid

UNKNOWN: Final = "workload_unknown"
UNCLEAR: Final = "ordinal_unknown"
BEYOND: Final = "ordinal_beyond"
READ: Final = "workload_read"
PINNED: Final = "conflict_user_pin"
"""Flags beside those of the core: nobody knows the pod's workload, nor the place in its set; it has a place
behind the last and nobody said where they begin; nobody told of the workload, which was read instead; or
its user wants it on a spot node although an on-demand pod was due."""

PASSTHROUGH: Final = "passthrough"
REINVOKED: Final = "reinvoked"
"""Branches beside the modes of a target."""

_HERE: Final = "template"
"""The core counts by template; here it is told one."""
_ONE: Final[Map[str, Template]] = Map()
_HOMES: Final[Map[int, str]] = Map()

_FOREIGN: Final = "-"
"""What the core is told to be carried where that names no reservation of the template."""

_NOTHING: Final = Request(
    CpuMilli(0), cpu_bind=False, memory=Bytes(0), storage=Bytes(0), volumes=()
)

_LONGEST_NAME: Final = ordinal.LONGEST_NAME


class _Counted(NamedTuple):
    """A template as the core counts it, and whose its numbers are."""

    template: Template
    rows: tuple[Row, ...]

    def named(self, numbers: Numbers) -> tuple[str, ...]:
        """What rows are called: by their reservation, or by their pod."""
        return tuple(self.rows[number - 1].named or "" for number in numbers)


def is_due(world: World) -> bool:
    """Whether an admission waits for its answer."""
    return world.admissions.due is not None


def answer(world: World) -> Sequence[Answered]:
    """Answer it."""
    assert world.admissions.due is not None, "nobody asks"
    request = world.admissions.waiting[world.admissions.due]
    workload = None if request.workload is None else world.workload(request.workload)
    is_told = workload is not None and workload.kind == request.kind
    if not is_told:
        workload = _read(request)
    if workload is None:
        return [_passed(world, request, None, Target(None, PASSTHROUGH), (UNKNOWN,))]
    replicas = _wanted(world, workload, request.fact)
    target = target_of(world, workload, replicas)
    flags = target.flags if is_told else (*target.flags, READ)
    if target.pods is None:
        return [_passed(world, request, workload, target, flags)]
    if workload.kind == "StatefulSet":
        return [_by_ordinal(world, request, workload, target, flags, replicas=replicas)]
    return [_by_slots(world, request, workload, target, flags)]


def previous(world: World, decided: Admission) -> DecisionNumber | None:
    """The decision about the same admission or, at first, the same template before it."""
    request = world.admissions.waiting[decided.admission_uid]
    if request.asked is not None:
        return request.asked
    template = None
    if request.replicaset is not None:
        template = world.admissions.templates.get(request.replicaset)
    return None if template is None else template.number


def _wanted(world: World, workload: WorkloadUpserted, fact: AdmissionRequested) -> int:
    """How many replicas of a workload there are to be in the cluster that asks.

    That is its share where it is divided. What it, or its ReplicaSet, said when that was read for this very
    admission is newer than what was told.
    """
    if wish(workload) is None and fact.replicas is not None:
        return fact.replicas
    share = replicas_in(world, workload, fact.cluster)
    return workload.replicas if share is None else share


def _read(request: Asking) -> WorkloadUpserted | None:
    """The workload that nobody told of, as far as whoever asks has read it."""
    fact, subject = request.fact, request.workload
    if subject is None or fact.replicas is None:
        return None
    return WorkloadUpserted(
        namespace=fact.namespace,
        name=subject.partition("/")[2],
        uid=Uid(subject),
        revision=None,
        kind="StatefulSet" if request.kind == "StatefulSet" else "Deployment",
        replicas=fact.replicas,
        request=_NOTHING,
        division=None,
        cluster=fact.cluster,
        deploy=None,
        min_available=fact.min_available,
        queue=None,
        priority=0,
        gang_min=1,
        preemptable=True,
    )


def _passed(
    world: World,
    request: Asking,
    workload: WorkloadUpserted | None,
    target: Target,
    flags: tuple[str, ...],
) -> Answered:
    dry_run = ("dry_run",) if request.fact.dry_run else ()
    return _answered(
        world,
        request,
        workload,
        target,
        inputs={},
        branch=PASSTHROUGH,
        flags=(*flags, *dry_run),
    )


def _by_ordinal(
    world: World,
    request: Asking,
    workload: WorkloadUpserted,
    target: Target,
    flags: tuple[str, ...],
    *,
    replicas: int,
) -> Answered:
    fact = request.fact
    name, label = fact.name or "", fact.pod_index
    told = (fact.ordinals_start, workload.ordinals_start)
    start = next((one for one in told if one is not None), None)
    pod = ordinal.Pod(name, workload.name, label, start or 0)
    found = ordinal.Place(None, None, None)
    if len(name) <= _LONGEST_NAME and len(label or "") <= _LONGEST_NAME:
        rules = versions.spot(world.policy.algorithms.spot)
        found = rules.place(pod, target)
    wanted = found.capacity_class
    if wanted is None:
        flags = (*flags, UNCLEAR)
    elif start is None and (found.index or 0) >= replicas:
        flags = (*flags, BEYOND)
    if fact.dry_run:
        flags = (*flags, "dry_run")
    given = wanted if wanted is None or fact.user_pin is None else fact.user_pin
    return _answered(
        world,
        request,
        workload,
        target,
        inputs={"name": name, "label": label, "start": pod.start},
        branch=target.mode if wanted is not None else PASSTHROUGH,
        flags=_with_pin(flags, fact, wanted),
        capacity_class=given,
        wanted=wanted,
        # A label can hold any number of digits; a record cannot.
        index=None if found.index is None else min(found.index, LARGEST_WHOLE_NUMBER),
    )


def _by_slots(
    world: World,
    request: Asking,
    workload: WorkloadUpserted,
    target: Target,
    given: tuple[str, ...],
) -> Answered:
    fact, kept = request.fact, world.admissions
    assert request.replicaset is not None, "a Deployment's pods have a template"
    rules = versions.spot(world.policy.algorithms.spot)
    counted = _counted(world, request)
    before = Slots(templates=_ONE.set(_HERE, counted.template), last=len(counted.rows))
    carried = None if fact.carried is None else _FOREIGN
    for number, row in enumerate(counted.rows if carried else (), start=1):
        if row.name == fact.carried:
            carried = before.name(number)
            before = replace(before, homes=_HOMES.set(number, _HERE))
    asked = slots.Admission(fact.uid, _HERE, carried, fact.dry_run, fact.user_pin)
    inputs: dict[str, Plain] = {
        "told": counted.template.replicas,
        "od": counted.template.od,
        "spot": counted.template.spot,
        "carried": None if carried in {None, _FOREIGN} else fact.carried,
        "foreign": carried == _FOREIGN,
        "listed": request.asked is not None,
    }
    admitted = rules.admit(before, asked, target).answer
    reinvoked = "reinvocation" in admitted.flags
    may_list = fact.can_list and request.asked is None and not (reinvoked or fact.dry_run)
    if may_list and counted.template.live and rules.must_list(before, _HERE):
        return _answered(
            world,
            request,
            workload,
            target,
            inputs=inputs,
            branch=LIST_FIRST,
            flags=(*given, LIST_FIRST),
            on_demand=counted.template.on_demand,
            live=counted.template.live,
            told=counted.template.replicas,
        )
    reservation = None
    if reinvoked:
        reservation = fact.carried
    elif not fact.dry_run:
        reservation = f"{world.fleet}/{world.incarnation}/{world.decisions}"
    assert reservation is None or reinvoked or reservation not in kept.reservations
    flags = (*given, *admitted.flags)
    return _answered(
        world,
        request,
        workload,
        target,
        inputs=inputs,
        branch=REINVOKED if reinvoked else target.mode,
        flags=flags if reinvoked else _with_pin(flags, fact, admitted.wanted),
        capacity_class=admitted.capacity_class,
        wanted=admitted.wanted,
        reservation=reservation,
        on_demand=admitted.on_demand,
        live=admitted.live,
        told=counted.template.replicas,
        retired=counted.named(admitted.retired),
        assumed_lost=counted.named(admitted.assumed_lost),
    )


def _with_pin(
    flags: tuple[str, ...], fact: AdmissionRequested, wanted: CapacityClass | None
) -> tuple[str, ...]:
    return (*flags, PINNED) if (wanted, fact.user_pin) == ("od", "spot") else flags


def _counted(world: World, request: Asking) -> _Counted:
    """The template's rows, oldest first, as the core holds them."""
    assert request.replicaset is not None, "a Deployment's pods have a template"
    kept = world.admissions.templates.get(request.replicaset)
    # What is released never returns.
    rows = () if kept is None else tuple(map(itemgetter(1), sorted(kept.rows.items())))
    rows = tuple(row for row in rows if row.standing != "released")
    held: dict[CapacityClass, dict[str, list[int]]] = {
        "od": defaultdict(list),
        "spot": defaultdict(list),
    }
    for number, row in enumerate(rows, start=1):
        class_ = row.capacity or _class(world, request.replicaset, row)
        held[class_][row.standing].append(number)
    od, spot = (_held(held[one]) for one in ("od", "spot"))
    return _Counted(Template(_told(world, request), od, spot), rows)


def _told(world: World, request: Asking) -> int | None:
    """How many pods the ReplicaSet is to have, as far as anybody says.

    What was read for this very admission is newer than what was told; what was listed after that is newer
    still, and was told at once. What was told of another life of it says nothing.
    """
    assert request.replicaset is not None, "a Deployment's pods have a template"
    if request.fact.replicaset_replicas is not None and request.asked is None:
        return request.fact.replicaset_replicas
    above = world.objects.fact("replicaset", request.replicaset)
    owner = request.fact.owner
    if not isinstance(above, ReplicaSetUpserted):
        return None
    is_another = owner.kind == "ReplicaSet" and owner.uid not in {None, above.uid}
    return None if is_another else above.replicas


def _held(numbers: dict[str, list[int]]) -> Held:
    return Held(**{name: tuple(numbers.get(name, ())) for name in Held._fields})


def _class(world: World, replicaset: Subject, row: Row) -> CapacityClass:
    """Of a row that nobody admitted."""
    pod = world.objects.fact("pod", Subject(f"{replicaset.rpartition('/')[0]}/{row.pod}"))
    assert isinstance(pod, PodObserved), f"{row.pod} was never admitted and is not there"
    return class_of(world, pod) or "spot"


def _answered(
    world: World,
    request: Asking,
    workload: WorkloadUpserted | None,
    target: Target,
    *,
    inputs: dict[str, Plain],
    branch: str,
    flags: tuple[str, ...],
    capacity_class: CapacityClass | None = None,
    wanted: CapacityClass | None = None,
    index: int | None = None,
    reservation: str | None = None,
    on_demand: int = 0,
    live: int = 0,
    told: int | None = None,
    retired: tuple[str, ...] = (),
    assumed_lost: tuple[str, ...] = (),
) -> Answered:
    fact = request.fact
    name = fact.owner.name if request.workload is None else request.workload.partition("/")[2]
    share = None if workload is None else _wanted(world, workload, fact)
    spot = world.policy.spot
    asked: dict[str, Plain] = {
        "uid": fact.uid,
        "template": fact.template_hash,
        "dry_run": fact.dry_run,
        "user_pin": fact.user_pin,
        "kind": None if workload is None else workload.kind,
        "share": share,
        "annotation": None if workload is None else workload.min_available,
        "read": target.read,
        "default": spot.default_min_available,
        "strictness": spot.strictness,
    }
    return Answered(
        subject=subject_of(Subject(f"{fact.namespace}/{name}"), fact.cluster),
        algorithm=SYSTEM,
        version=world.policy.algorithms.spot,
        inputs=digest(asked | inputs).hex(),
        branch=branch,
        outcome=Admission(
            namespace=fact.namespace,
            workload=name,
            uid=None if workload is None else workload.uid,
            cluster=fact.cluster,
            template_hash=fact.template_hash,
            admission_uid=fact.uid,
            dry_run=fact.dry_run,
            capacity_class=capacity_class,
            reservation=reservation,
            target=target.pods,
            on_demand=on_demand,
            mode=target.mode,
            flags=flags,
            wanted=wanted,
            user_pin=fact.user_pin,
            index=index,
            live=live,
            told=told,
            share=share,
            read=target.read,
            min_available=target.min_available,
            majority=target.majority,
            retired=retired,
            assumed_lost=assumed_lost,
            because=("admission",),
        ),
        moved=0,
    )
