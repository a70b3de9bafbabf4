"""What happens to the reservations of pods (``ledger.reducers.reservations``).

An admission is known by its uid: the same one, told again, changes nothing, nor does one that was
given up before it was told. Where whoever asks can
list the template's pods, its answer may be that they are to be listed first; then it waits for the
list, or for being given up (``admission.bypassed``).

A pod confirms the reservation that it names, if no other pod did before; else it counts as one that
nobody admitted here. A list confirms what it names and releases what it does not, but for what the
cluster told of since the list was asked for: that is newer. What was seen or released stays so,
whatever an older list or report says.

A reservation that is open when its time runs out is overdue. It lapses with the next that the
cluster tells of its pods; until then the silence says nothing. A pod that comes nevertheless counts again,
and that it came late is to be recorded.
"""

from collections.abc import Iterable
from typing import Final

from immutables import Map

from ledger.facts.admission import LIST_FIRST, Admission
from ledger.facts.cluster import InventoryListed
from ledger.facts.decision import Decision
from ledger.facts.own import AdmissionBypassed, AdmissionRequested, PodsListed
from ledger.facts.reason import Deadline
from ledger.facts.repair import Repair
from ledger.facts.workload import PodObserved, ReplicaSetUpserted
from ledger.reducers import deadlines, incidents, proposals
from ledger.reducers.incidents import Contradiction
from ledger.reducers.instances import subject_of, workload_of
from ledger.reducers.objects import Upsert
from ledger.reducers.replacing import replace
from ledger.reducers.reservations import (
    REMEMBERED,
    Admissions,
    Answered,
    Asking,
    Forgetting,
    Reserved,
    Row,
    Standing,
    Template,
    is_active,
    whose,
)
from ledger.reducers.sightings import behind
from ledger.reducers.world import World
from ledger.units import ClusterName, Microseconds, Position, Subject

_NONE: Final[Map[Subject, None]] = Map()


def begun(world: World) -> World:
    """The World at the beginning of an event: old admissions are forgotten."""
    kept = world.admissions
    while kept.oldest < kept.next and kept.forgetting[kept.oldest].until <= world.now:
        uid = kept.forgetting[kept.oldest].uid
        kept = replace(kept, forgetting=kept.forgetting.delete(kept.oldest), oldest=kept.oldest + 1)
        world = _forgotten(_with(world, kept), uid)
        kept = world.admissions
    return world


def requested(world: World, fact: AdmissionRequested) -> World:
    """A pod is about to be created."""
    kept = world.admissions
    if fact.uid in kept.waiting or fact.uid in kept.answered:
        return replace(world, last_effect="no_effect")
    found = whose(world.objects, fact)
    request = Asking(fact, _here(world), "", None, None)
    if found is not None:
        request = request._replace(
            kind=found.kind, workload=found.workload, replicaset=found.replicaset
        )
    kept = replace(kept, waiting=kept.waiting.set(fact.uid, request), due=fact.uid)
    world = _with(world, _to_be_forgotten(kept, fact.uid, world.now))
    if found is None or found.replicaset is None or found.replicaset in kept.templates:
        return world
    template = Template(subject_of(found.workload, fact.cluster), fact.template_hash)
    for subject in sorted(world.pods.behind.get(found.replicaset, _NONE)):
        pod = world.objects.fact("pod", subject)
        assert isinstance(pod, PodObserved), f"{subject} is no pod"
        if is_active(pod):
            template = _adopted(template, pod, _here(world))
    # What its pods are is remembered from now on, so there may be some to be lowered.
    return _may_be_short(_with_template(world, found.replicaset, template), found.replicaset)


def answered(world: World, decision: Decision, outcome: Admission) -> World:
    """A decision answers the admission that is due, or wants its template's pods to be listed first."""
    uid = outcome.admission_uid
    kept = replace(world.admissions, due=None)
    request = kept.waiting[uid]
    if is_listing(outcome):
        waits = request._replace(asked=decision.number)
        return _with(world, replace(kept, waiting=kept.waiting.set(uid, waits)))
    world = _with(world, replace(kept, waiting=kept.waiting.delete(uid)))
    if outcome.dry_run:
        return world
    opened = None
    if request.replicaset is not None:
        world, opened = _slotted(world, request.replicaset, decision, outcome)
    told = Answered(request.position, outcome.template_hash, request.replicaset, opened)
    kept = world.admissions
    return _with(world, replace(kept, answered=kept.answered.set(uid, told)))


def is_listing(outcome: Admission) -> bool:
    """Whether a decision wants the pods to be listed, and answers nothing yet."""
    return LIST_FIRST in outcome.flags


def bypassed(world: World, fact: AdmissionBypassed) -> World:
    """An admission was answered without us: its pod will carry nothing."""
    kept = world.admissions
    told = kept.answered.get(fact.uid)
    if told is None:
        # It waits for a list; or it was given up so early that it is told only now.
        left = kept.answered.set(fact.uid, Answered(_here(world), "", None, None))
        if fact.uid in kept.waiting:
            kept = replace(kept, waiting=kept.waiting.delete(fact.uid), answered=left)
        else:
            kept = _to_be_forgotten(replace(kept, answered=left), fact.uid, world.now)
        return _with(world, kept)
    there = _opened_by(kept, told)
    if there is not None:
        replicaset, number = there
        if kept.templates[replicaset].rows[number].standing in {"open", "lapsed"}:
            return _may_be_short(_dropped(world, replicaset, number), replicaset)
    return replace(world, last_effect="no_effect")


def listed(world: World, fact: PodsListed) -> World:
    """The pods of an admission's template were listed, after it was asked for."""
    kept = world.admissions
    uid = fact.admission_uid
    told = kept.waiting.get(uid) or kept.answered.get(uid)
    if told is None or told.replicaset is None:
        return replace(world, last_effect="no_effect")
    wanted = told.fact.template_hash if isinstance(told, Asking) else told.hash
    if fact.template_hash != wanted:
        return replace(world, last_effect="no_effect")
    if isinstance(told, Asking):
        world = _with(world, replace(kept, due=uid))
    template = kept.templates.get(told.replicaset)
    if template is None:
        return world
    late = 0
    present = frozenset(_rows(kept, template, fact.present))
    others = None if fact.others is None else frozenset(fact.others)
    for number, row in sorted(template.rows.items()):
        if row.name is None and others is None:
            continue
        if number in present if row.name else row.pod in (others or ()):
            if row.standing != "released":
                late += row.standing == "lapsed"
                template = _confirmed(template, number, row._replace(seen=_here(world)))
        elif row.standing == "confirmed" and (row.seen or 0) <= told.position:
            template = _standing(template, number, "released")
    world = _with_template(world, told.replicaset, template)
    world = _came_late(world, told.replicaset, template, late)
    return _may_be_short(world, told.replicaset)


def pod_changed(world: World, was: Upsert | None, is_: Upsert | None) -> World:
    """A pod was reported, or is gone: what was said of it, and what is."""
    if not world.admissions.templates:
        return world
    before = was if isinstance(was, PodObserved) else None
    after = is_ if isinstance(is_, PodObserved) else None
    old = None if before is None else behind(before)
    new = None if after is None else behind(after)
    if before is not None and old is not None and old in world.admissions.templates:
        goes_on = after is not None and after.uid == before.uid and old == new
        number = world.admissions.templates[old].pods.get(before.name)
        if not goes_on and number is not None:
            world = _dropped(world, old, number)
    if after is not None and new is not None and new in world.admissions.templates:
        world = _pod_seen(world, new, after)
    return world


def lowered(world: World, repair: Repair) -> World:
    """Pods are told that they are on-demand no more: they may go like any other."""
    for one in repair.lower:
        pod = world.objects.fact("pod", Subject(f"{repair.cluster}/{one.namespace}/{one.pod}"))
        assert isinstance(pod, PodObserved), f"{one.pod} is lowered and not there"
        replicaset = behind(pod)
        assert replicaset is not None, f"{one.pod} is lowered and of no template"
        template = world.admissions.templates[replicaset]
        number = template.pods[pod.name]
        row = template.rows[number]._replace(capacity="spot")
        world = _with_template(world, replicaset, _with_row(template, number, row))
    return world


def pods_heard_of(world: World, cluster: ClusterName) -> World:
    """A cluster told something of its pods: what should be there by now is not."""
    return _told_through(world, cluster, world.now)


def inventory_listed(world: World, fact: InventoryListed) -> World:
    """A cluster told all of its pods, as they were at a moment: who was taken for lost may be there."""
    if fact.noun != "pod":
        return world
    through = world.now if fact.through is None else min(fact.through, world.now)
    for subject in fact.keys if world.admissions.templates else ():
        pod = world.objects.fact("pod", subject)
        row = world.admissions.row_of(pod) if isinstance(pod, PodObserved) else None
        if row is not None and row.standing == "lost" and row.lost_at <= through:
            world = replace(pod_changed(world, pod, pod), last_effect="applied")
    return _told_through(world, fact.cluster, Microseconds(through))


def cluster_gone(world: World, cluster: ClusterName) -> World:
    """A cluster is gone, with its pods: none that was admitted there comes any more."""
    for replicaset in sorted(world.admissions.within.get(cluster, _NONE)):
        template = world.admissions.templates[replicaset]
        kept = world.admissions
        names = [row.name for row in template.rows.values() if row.name is not None]
        reservations = kept.reservations
        for name in sorted(names):
            reservations = reservations.delete(name)
        world = _with(world, replace(kept, reservations=reservations))
        template = template._replace(rows=Map(), open=(), pods=Map())
        world = _may_be_short(_with_template(world, replicaset, template), replicaset)
    return world


def time_over(world: World, deadline: Deadline) -> World:
    """Reservations of a template are open, and their time has run out."""
    template = world.admissions.templates[deadline.subject]
    assert template.deadline == deadline, f"{template.deadline} was set, {deadline} fired"
    rows = template.rows
    for number in template.open:
        if rows[number].expires <= deadline.at:
            rows = rows.set(number, rows[number]._replace(overdue=True))
    return _with_template(world, deadline.subject, template._replace(rows=rows))


def _pod_seen(world: World, replicaset: Subject, pod: PodObserved) -> World:
    kept = world.admissions
    template = kept.templates[replicaset]
    number = template.pods.get(pod.name)
    if number is None:
        number = _claimed(kept, replicaset, pod)
        if number is None:
            if not is_active(pod):
                return world
            return _with_template(world, replicaset, _adopted(template, pod, _here(world)))
        template = template._replace(pods=template.pods.set(pod.name, number))
    before = template.rows[number]
    row = before._replace(pod=pod.name, uid=pod.uid, seen=_here(world))
    if not is_active(pod):
        template = _standing(_with_row(template, number, row), number, "released")
    elif row.standing == "released":
        template = _with_row(template, number, row)
    else:
        template = _confirmed(template, number, row)
    world = _with_template(world, replicaset, template)
    standing = template.rows[number].standing
    if standing == before.standing:
        return world
    late = before.standing == "lapsed" and standing == "confirmed"
    world = _came_late(world, replicaset, template, int(late))
    return _may_be_short(world, replicaset)


def _came_late(world: World, replicaset: Subject, template: Template, pods: int) -> World:
    """So many pods were given up and are there: that is to be recorded."""
    if not pods:
        return world
    one = Contradiction(template.subject, "late_confirmation", replicaset)
    before = dict(world.incidents.untold.get(one, ())).get("pods", 0)
    assert isinstance(before, int), f"{before} pods came late"
    told = incidents.found(world.incidents, one, (("pods", before + pods),))
    return replace(world, incidents=told)


def _claimed(kept: Admissions, replicaset: Subject, pod: PodObserved) -> int | None:
    """The row that a pod names, if it is of its template and no other pod's."""
    if pod.reservation is None:
        return None
    reserved = kept.reservations.get(pod.reservation)
    if reserved is None or reserved.replicaset != replicaset:
        return None
    row = kept.templates[replicaset].rows[reserved.row]
    return reserved.row if row.pod is None else None


def _slotted(
    world: World, replicaset: Subject, decision: Decision, outcome: Admission
) -> tuple[World, str | None]:
    """The World with what an answer gave up, and with the reservation that it opened, if it did."""
    kept = world.admissions
    template = kept.templates.get(replicaset)
    name = outcome.reservation
    if name in kept.reservations:
        name = None
    if template is None:
        if name is None:
            return world, None
        subject = Subject(f"{outcome.namespace}/{outcome.workload}@{outcome.cluster}")
        template = Template(subject, outcome.template_hash)
    for number in _rows(kept, template, outcome.retired):
        template = _standing(template, number, "lapsed")
    for number in _rows(kept, template, outcome.assumed_lost):
        row = template.rows[number]._replace(standing="lost", lost_at=world.now)
        template = _with_row(template, number, row)
    template = template._replace(number=decision.number)
    world = _may_be_needless(world, replicaset)
    if name is None:
        return _with_template(world, replicaset, template), None
    number = template.last + 1
    expires = deadlines.after(world.now, world.policy.spot.reservation_ms)
    pinned = outcome.user_pin is not None
    row = Row(outcome.capacity_class, "open", name, expires=expires, pinned=pinned)
    template = template._replace(
        last=number, rows=template.rows.set(number, row), open=(*template.open, number)
    )
    world = _with_template(world, replicaset, template)
    kept = world.admissions
    reserved = kept.reservations.set(name, Reserved(replicaset, number))
    return _with(world, replace(kept, reservations=reserved)), name


def _may_be_short(world: World, replicaset: Subject) -> World:
    """Too few of a template's pods may be on on-demand nodes, now that others of them count."""
    subject = _whose_pods(world, replicaset)
    workload = None if subject is None else world.workload(workload_of(subject))
    if subject is None or workload is None or workload.deploy is not None:
        return world
    return proposals.may_be_short(world, [subject])


def _may_be_needless(world: World, replicaset: Subject) -> World:
    """A pod of a template is on its way: as long as it is, none of them is to be evicted or lowered."""
    subject = _whose_pods(world, replicaset)
    if subject is None or not proposals.names_pods(world, subject):
        return world
    return proposals.may_be_short(world, [subject])


def _whose_pods(world: World, replicaset: Subject) -> Subject | None:
    """Whose pods those of a ReplicaSet are now, in its cluster; it may have changed hands."""
    above = world.objects.fact("replicaset", replicaset)
    if not isinstance(above, ReplicaSetUpserted) or above.owner is None:
        return None
    return subject_of(Subject(f"{above.namespace}/{above.owner.name}"), above.cluster)


def _told_through(world: World, cluster: ClusterName, through: Microseconds) -> World:
    """What is overdue in a cluster by then lapses; what is stale tells nothing."""
    if not world.admissions.overdue or world.last_effect == "stale":
        return world
    for replicaset in sorted(world.admissions.overdue.get(cluster, _NONE)):
        template = world.admissions.templates[replicaset]
        over = [
            number
            for number in template.open
            if template.rows[number].overdue and template.rows[number].expires <= through
        ]
        for number in over:
            template = _standing(template, number, "lapsed")
        if over:
            world = replace(_with_template(world, replicaset, template), last_effect="applied")
            world = _may_be_short(world, replicaset)
    return world


def _forgotten(world: World, uid: str) -> World:
    """Without an admission, and without what it opened, if no pod ever had it."""
    kept = world.admissions
    if uid in kept.waiting:
        return _with(world, replace(kept, waiting=kept.waiting.delete(uid)))
    told = kept.answered.get(uid)
    if told is None:
        return world
    there = _opened_by(kept, told)
    if there is not None:
        replicaset, number = there
        row = kept.templates[replicaset].rows[number]
        if row.pod is None:
            if row.standing in {"open", "confirmed"}:
                return _with(world, _to_be_forgotten(kept, uid, world.now))
            world = _dropped(world, replicaset, number)
            kept = world.admissions
    return _with(world, replace(kept, answered=kept.answered.delete(uid)))


def _opened_by(kept: Admissions, told: Answered) -> Reserved | None:
    """Where the reservation is that an answer opened, if it did and that is still there."""
    return None if told.reservation is None else kept.reservations.get(told.reservation)


def _to_be_forgotten(kept: Admissions, uid: str, now: Microseconds) -> Admissions:
    forgetting = Forgetting(Microseconds(now + REMEMBERED), uid)
    queue = kept.forgetting.set(kept.next, forgetting)
    return replace(kept, forgetting=queue, next=kept.next + 1)


def _rows(kept: Admissions, template: Template, names: Iterable[str]) -> list[int]:
    """The rows of these, which are named by their reservations or their pods."""
    found = []
    for name in names:
        reserved = kept.reservations.get(name)
        number = template.pods.get(name) if reserved is None else reserved.row
        row = None if number is None else template.rows.get(number)
        if number is not None and row is not None and row.named == name:
            found.append(number)
    return sorted(found)


def _adopted(template: Template, pod: PodObserved, here: Position) -> Template:
    """With a row for a pod that nobody admitted here."""
    number = template.last + 1
    row = Row(None, "confirmed", None, pod.name, pod.uid, seen=here)
    return template._replace(
        last=number, rows=template.rows.set(number, row), pods=template.pods.set(pod.name, number)
    )


def _confirmed(template: Template, number: int, row: Row) -> Template:
    return _standing(_with_row(template, number, row), number, "confirmed")


def _standing(template: Template, number: int, standing: Standing) -> Template:
    row = template.rows[number]
    return _with_row(template, number, row._replace(standing=standing, overdue=False))


def _with_row(template: Template, number: int, row: Row) -> Template:
    was_open = template.rows[number].standing == "open"
    template = template._replace(rows=template.rows.set(number, row))
    if was_open and row.standing != "open":
        return template._replace(open=tuple(one for one in template.open if one != number))
    return template


def _dropped(world: World, replicaset: Subject, number: int) -> World:
    """The World without a row."""
    kept = world.admissions
    template = kept.templates[replicaset]
    row = template.rows[number]
    if row.name is not None:
        left = kept.reservations.delete(row.name)
        world = _with(world, replace(kept, reservations=left))
    template = template._replace(
        rows=template.rows.delete(number),
        pods=template.pods if row.pod is None else template.pods.delete(row.pod),
        open=tuple(one for one in template.open if one != number),
    )
    return _with_template(world, replicaset, template)


def _with_template(world: World, replicaset: Subject, template: Template) -> World:
    """The World with a template as it is now, and its deadline; one without rows is not kept."""
    kept = world.admissions
    rows = template.rows
    waits = [row.expires for row in map(rows.__getitem__, template.open) if not row.overdue]
    is_ = Deadline(min(waits), "reservation", replicaset) if waits else None
    before = kept.templates.get(replicaset)
    was = None if before is None else before.deadline
    if was != is_:
        queue = world.deadlines
        # What fired is out of the queue already.
        if was is not None and deadlines.is_set(queue, was):
            queue = deadlines.take_back(queue, was)
        queue = queue if is_ is None else deadlines.put(queue, is_)
        world = replace(world, deadlines=queue)
        template = template._replace(deadline=is_)
    cluster = ClusterName(replicaset.partition("/")[0])
    is_overdue = len(waits) != len(template.open)
    overdue = _listed_in(kept.overdue, cluster, replicaset, is_=is_overdue)
    within = _listed_in(kept.within, cluster, replicaset, is_=bool(template.rows))
    templates = kept.templates
    if template.rows:
        templates = templates.set(replicaset, template)
    elif before is not None:
        templates = templates.delete(replicaset)
    return _with(world, replace(kept, templates=templates, within=within, overdue=overdue))


def _listed_in(
    lists: Map[ClusterName, Map[Subject, None]],
    cluster: ClusterName,
    replicaset: Subject,
    *,
    is_: bool,
) -> Map[ClusterName, Map[Subject, None]]:
    """The lists with a template in that of its cluster, or without it."""
    known = lists.get(cluster, _NONE)
    if is_ == (replicaset in known):
        return lists
    known = known.set(replicaset, None) if is_ else known.delete(replicaset)
    return lists.set(cluster, known) if known else lists.delete(cluster)


def _here(world: World) -> Position:
    """Of the event that is being folded."""
    return Position(world.position - 1)


def _with(world: World, kept: Admissions) -> World:
    return replace(world, admissions=kept)
