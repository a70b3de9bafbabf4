"""What happens to disks and volumes: which replicas are lost, and which volumes are asked therefore.

A volume is asked when its owner wants something else of it, when a replica of it is lost or breaks for
good, when a broken one was waited for in vain, when the disk of one is to be emptied, and when it is
gone or another one took its name while it held replicas. A disk is to be emptied if its own event
says so, or if its node is about to be taken away.

A replica is lost with its disk: when that is removed, alone or with its node or cluster, and when
another life takes its name. One that breaks and will not come back is released; one that may come
back holds its disk and is waited for, as long as the policy says when it breaks; with no wait at
all it is replaced at once. What an event releases is free at once. That a node is not ready changes
nothing for the replicas there.

What is reserved of a default disk is for the policy to say, where its owner does not: so much of it
as the policy says at that moment. It stays until an event says otherwise; another policy is about
disks that come.

A node that waits for as many broken replicas to come back as ``rebuild_limit`` says is busy: it takes no replica
that would have to be rebuilt there from others.

Whoever is refused and waits for disks may be served when any disk, or a node with disks, is not as
it was, but for a disk that only offers less, or something is given back, or a node is busy no more.
A refusal ends by the event itself if nothing is wanted any more.
"""

from collections.abc import Iterable, Sequence
from dataclasses import fields
from operator import attrgetter
from typing import Final

from ledger.facts.cluster import NodeUpserted
from ledger.facts.disk import (
    DiskRemoved,
    DiskUpserted,
    ReplicaFailed,
    ReplicaRecovered,
    VolumeRemoved,
    VolumeUpserted,
)
from ledger.facts.disk_placement import DiskPlacement, WhyReleased
from ledger.facts.reason import Deadline
from ledger.reducers import deadlines, objects, proposals, retries
from ledger.reducers.objects import Key
from ledger.reducers.replacing import replace
from ledger.reducers.replicas import (
    Address,
    Copies,
    Disk,
    Disks,
    Host,
    Lost,
    Replica,
    Service,
    gave_back,
    host_name,
    numbered,
    rebuilds_less,
    replica_name,
    seen,
    still_missed,
    volumes_on,
    with_copies,
    with_disk,
    with_service,
    without_disk,
)
from ledger.reducers.world import (
    Account,
    Causes,
    Ended,
    OpenRefusal,
    Question,
    Released,
    World,
)
from ledger.units import Bytes, NodeName, Subject

WAITS_FOR_DISKS: Final = "disks"
"""For another state of any disk or of its node."""

_DISKS: Final[retries.Hook] = (WAITS_FOR_DISKS,)

_OF_HOST: Final = attrgetter(*(part.name for part in fields(Host) if part.name != "disks"))

_EDITED: Final[Causes] = frozenset({"edited"})
_LOST: Final[Causes] = frozenset({"lost"})
_FAILED: Final[Causes] = frozenset({"failed"})
_WAITED: Final[Causes] = frozenset({"waited"})
_EVICTING: Final[Causes] = frozenset({"evicting"})
_GONE: Final[Causes] = frozenset({"gone"})
_ROOM: Final[Causes] = frozenset({"room"})
_OTHER_POLICY: Final[Causes] = frozenset({"policy"})


def begun(world: World) -> World:
    """The World at the beginning of an event or deadline."""
    if world.retries.marked or not world.disks.changed:
        return world
    return replace(world, disks=seen(world.disks))


def question_of(volume: Subject) -> Question:
    """Where the replicas of a volume go."""
    return Question("disk_placement", volume)


def wanted(world: World, volume: Subject) -> VolumeUpserted | None:
    """A volume in force, as its owner wants it."""
    fact = world.objects.fact("volume", volume)
    assert fact is None or isinstance(fact, VolumeUpserted)
    return fact


def unserved(world: World, volume: Subject) -> bool:
    """Whether a volume wants anything that it has not."""
    fact = wanted(world, volume)
    if fact is None:
        return False
    copies = world.disks.volumes.get(volume)
    if copies is None or copies.over:
        return fact.replicas > 0
    return (
        len(copies.replicas) != fact.replicas
        or (copies.size != fact.size and bool(copies.replicas))
        or any(one.overdue or evicting(world.disks, one) for one in copies.replicas)
    )


def evicting(disks: Disks, replica: Replica) -> bool:
    """Whether the disk that a replica is on is to be emptied."""
    return disks.hosts[replica.at.host].evicting(replica.at.disk)


def disk_upserted(world: World, subject: Subject, fact: DiskUpserted, *, source: str) -> World:
    """A disk came or changed, or the node that it is in; another life of it is empty."""
    told = objects.upsert(world.objects, Key("disk", subject), fact, source=source, now=world.now)
    if told.effect != "applied":
        return replace(world, last_effect=told.effect)
    world = replace(world, objects=told.objects)
    at = Address(host_name(fact.cluster, fact.node), fact.disk)
    world = _turned(world, [at])
    if told.replaced is not None:
        world = proposals.targets_gone(_lose(world, [at]), _names([at]))
    service = _service(world, Subject(f"{fact.cluster}/{fact.node}"))
    reserved = _reserved(world, at, told.before, fact)
    return _put(world, with_disk(world.disks, fact, reserved=reserved, service=service), at.host)


def disk_removed(world: World, subject: Subject, fact: DiskRemoved, *, source: str) -> World:
    """A disk is gone."""
    told = objects.remove(world.objects, Key("disk", subject), fact, source=source, now=world.now)
    if told.effect != "applied":
        return replace(world, last_effect=told.effect)
    return disks_gone(replace(world, objects=told.objects), [subject])


def disks_gone(world: World, disks: Sequence[Subject]) -> World:
    """Disks are out of force, alone or with what they were in."""
    if not disks:
        return world
    gone = [_address(disk) for disk in disks]
    world = proposals.targets_gone(_turned(_lose(world, gone), gone), _names(gone))
    left = world.disks
    for at in gone:
        left = without_disk(left, at)
    return retries.grew_for(replace(world, disks=left), _DISKS)


def node_changed(world: World, node: Subject) -> World:
    """A node is in service or not, or about to be taken away."""
    host = NodeName(node)
    return _put(world, with_service(world.disks, host, _service(world, node)), host)


def upserted(world: World, subject: Subject, fact: VolumeUpserted, *, source: str) -> World:
    """A volume came, was edited, or took the place of another of the same name."""
    told = objects.upsert(world.objects, Key("volume", subject), fact, source=source, now=world.now)
    if told.effect != "applied":
        return replace(world, last_effect=told.effect)
    world = replace(world, objects=told.objects)
    if told.before is None:
        world = _over(world, subject)
        if subject not in world.disks.volumes:
            begun = Copies(fact.uid, fact.size)
            world = replace(world, disks=with_copies(world.disks, subject, begun))
    else:
        assert isinstance(told.before, VolumeUpserted)
        if _question(told.before) == _question(fact):
            return world
    return _ask(world, subject, _EDITED)


def removed(world: World, subject: Subject, fact: VolumeRemoved, *, source: str) -> World:
    """A volume is gone."""
    told = objects.remove(world.objects, Key("volume", subject), fact, source=source, now=world.now)
    if told.effect != "applied":
        return replace(world, last_effect=told.effect)
    world = _over(replace(world, objects=told.objects), subject)
    return _ask(world, subject, _GONE) if subject in world.disks.volumes else world


def replica_failed(world: World, fact: ReplicaFailed) -> World:
    """A replica broke; whether it did before, and for good, tells what that changes."""
    volume = Subject(fact.volume)
    effect = objects.named(world.objects, Key("volume", volume), uid=fact.uid)
    if effect != "applied":
        return replace(world, last_effect=effect)
    found = _named(world, volume, fact.replica)
    if found is None:
        return replace(world, last_effect="no_effect")
    copies, one = found
    if not fact.reusable:
        return _ask(_release(world, volume, copies, [one], "failed"), volume, _FAILED)
    if one.failed:
        return replace(world, last_effect="no_effect")
    wait = world.policy.disk.replenish_wait
    until = None
    if wait:
        at = deadlines.after(world.now, wait)
        until = Deadline(at, "replenish", Subject(f"{volume}/{fact.replica}"))
    world = _replaced(world, volume, copies, one._replace(failed=True, wait=until))
    return _settled(world, volume, _FAILED) if until else _ask(world, volume, _WAITED)


def replica_recovered(world: World, fact: ReplicaRecovered) -> World:
    """A replica that had failed is healthy again, if it is still there."""
    volume = Subject(fact.volume)
    effect = objects.named(world.objects, Key("volume", volume), uid=fact.uid)
    if effect != "applied":
        return replace(world, last_effect=effect)
    found = _named(world, volume, fact.replica)
    if found is None:
        return replace(world, last_effect="no_effect")
    copies, one = found
    if not one.failed:
        return replace(world, last_effect="no_effect")
    world = _replaced(world, volume, copies, one._replace(failed=False, wait=None))
    return _settled(world, volume, _FAILED)


def waited(world: World, deadline: Deadline) -> World:
    """A replica that failed was waited for long enough."""
    name, _, replica = deadline.subject.rpartition("/")
    volume = Subject(name)
    found = _named(world, volume, replica)
    assert found is not None, f"{deadline} is of nobody"
    copies, one = found
    assert one.wait == deadline, f"{one.wait} was set, {deadline} fired"
    return _ask(_replaced(world, volume, copies, one._replace(wait=None)), volume, _WAITED)


def forgotten(world: World, volume: Subject) -> World:
    """Without what was decided about a volume of which nothing is known, if it holds nothing."""
    kept = Key("volume", volume) in world.objects.known or volume in world.disks.volumes
    if kept or volume not in world.latest:
        return world
    return replace(world, latest=world.latest.delete(volume))


def other_policy(world: World) -> World:
    """What disks are chosen by has changed."""
    return retries.grew_for(world, _DISKS, _OTHER_POLICY)


def decided(world: World, volume: Subject, placement: DiskPlacement) -> World:
    """What a volume has by a decision, in the place of what it had."""
    before = world.disks.volumes.get(volume)
    fact = wanted(world, volume)
    known = {} if before is None or before.over else {one.number: one for one in before.replicas}
    replicas = tuple(
        known.get(one.number)
        or Replica(one.number, Address(host_name(one.cluster, one.node), one.disk))
        for one in placement.replicas
    )
    used = 0 if before is None or before.over else before.used
    used = max([used, *(one.number for one in replicas)])
    missed = () if before is None or before.over else before.missed
    missed = still_missed(
        missed,
        placed=sum(step.instead is None for step in placement.steps),
        lacking=placement.wanted - len(replicas),
    )
    after = None
    if fact is not None:
        after = Copies(fact.uid, placement.size, used, replicas, missed=missed)
    world = settled(world, volume, after, complete=placement.complete)
    if not placement.complete and any(step.instead is not None for step in placement.steps):
        # A size that was refused first may fit where the replicas went then.
        world = retries.mark(world, question_of(volume), _ROOM)
    return world


def settled(world: World, volume: Subject, after: Copies | None, *, complete: bool) -> World:
    """A volume has this now; ``complete`` ends what it was refused."""
    world = _with(world, volume, after)
    open_refusal = world.refusals.get(question_of(volume))
    if complete and open_refusal is not None:
        world = retries.end_refusal(world, question_of(volume), _hook(open_refusal))
    return world


def refused(world: World, question: Question, refusal: OpenRefusal) -> World:
    """A volume is refused something, for the first time or for another reason."""
    before, mark = world.refusals.get(question), world.retries.marked.get(question)
    if before is not None:
        world = retries.end_refusal(world, question, _hook(before))
    world = retries.list_refusal(world, question, refusal, _hook(refusal))
    if mark is not None and refusal.refusal.waits_for == WAITS_FOR_DISKS:
        # Set by its own placement, in the same answer.
        world = retries.mark(world, question, mark.causes)
    return world


def _hook(refusal: OpenRefusal) -> retries.Hook:
    return (refusal.refusal.waits_for,)


def _question(fact: VolumeUpserted) -> tuple[object, ...]:
    """What of a volume a question is about: everything but who uses it."""
    return (
        fact.size,
        fact.replicas,
        fact.node_soft,
        fact.zone_soft,
        fact.disk_soft,
        fact.disk_selector,
        fact.node_selector,
        fact.alpha,
    )


def _service(world: World, node: Subject) -> Service:
    fact = world.objects.fact("node", node)
    if fact is None:
        return Service()
    assert isinstance(fact, NodeUpserted)
    return Service(fact.ready, fact.schedulable, node in world.rooms.reclaiming)


def _address(disk: Subject) -> Address:
    host, _, name = disk.rpartition("/")
    return Address(NodeName(host), name)


def _names(disks: Iterable[Address]) -> list[str]:
    """As people call them."""
    return [f"{at.host}/{at.disk}" for at in disks]


def _reserved(
    world: World, at: Address, before: objects.Upsert | None, fact: DiskUpserted
) -> Bytes:
    """What is kept of a disk for others; left to the policy it is settled once, and then stays."""
    if fact.reserved is not None:
        return fact.reserved
    if isinstance(before, DiskUpserted) and before.reserved is None:
        there = world.disks.hosts[at.host].disk(at.disk)
        assert there is not None, f"{at} was told of and is not there"
        return there.reserved
    return Bytes(fact.maximum * world.policy.disk.default_reserved_pct // 100)


def _put(world: World, after: Disks, name: NodeName) -> World:
    """The World with a host as it is in ``after``: who has to leave it, and who waits for it."""
    before = world.disks
    if after is before:
        return world
    world = replace(world, disks=after)
    was, is_ = before.hosts.get(name), after.hosts[name]
    for disk in is_.disks:
        left = was is not None and was.evicting(disk.name)
        leaves = is_.service.reclaiming or disk.evicting
        at = Address(name, disk.name)
        for volume in volumes_on(after, [at]) if left != leaves else []:
            world = _ask(world, volume, _EVICTING) if leaves else _settled(world, volume, _EVICTING)
    return world if _offers_less(world, was, is_) else retries.grew_for(world, _DISKS)


def _offers_less(world: World, was: Host | None, is_: Host) -> bool:
    """Whether a host differs only in what serves nobody: fewer bytes left, a disk switched off.

    Under best effort a fuller disk opens its node, and where disks are scored among all candidates
    any difference can matter.
    """
    rules = world.policy.disk
    if was is None or rules.scope != "node" or rules.auto_balance == "best-effort":
        return False
    return (
        _OF_HOST(was) == _OF_HOST(is_)
        and len(was.disks) == len(is_.disks)
        and all(_is_less(*disk) for disk in zip(was.disks, is_.disks, strict=True))
    )


def _is_less(was: Disk, is_: Disk) -> bool:
    """Whether a disk takes no replica and no growth that it did not take before."""
    return is_ is was or is_ == was._replace(
        available=min(was.available, is_.available),
        allow=was.allow and is_.allow,
        schedulable=was.schedulable and is_.schedulable,
    )


def _ask(world: World, volume: Subject, causes: Causes) -> World:
    question = question_of(volume)
    before: Causes = world.due.get(question, frozenset())
    return replace(world, due=world.due.set(question, before | causes))


def _settled(world: World, volume: Subject, causes: Causes) -> World:
    """Whoever is refused wants something else now, or nothing any more.

    An edit that waits under ``hold`` is answered by a decision, and that one ends the refusal.
    """
    question = question_of(volume)
    if question not in world.refusals:
        return world
    if unserved(world, volume):
        return _ask(world, volume, causes)
    waits: Causes = world.waiting.get(question, frozenset())
    return world if _EDITED.issubset(waits) else _moot(world, volume)


def _moot(world: World, volume: Subject) -> World:
    """What was refused is not wanted any more."""
    question = question_of(volume)
    refusal = world.refusals.get(question)
    if refusal is not None:
        world = retries.end_refusal(world, question, _hook(refusal))
        world = replace(world, ended=(*world.ended, Ended("refusal", volume, refusal.number)))
    return world


def _over(world: World, volume: Subject) -> World:
    """The life that was in force is over: what it holds waits for the decision that gives it up."""
    world = proposals.all_released(_moot(world, volume), volume)
    copies = world.disks.volumes.get(volume)
    if copies is None:
        return world
    if copies.replicas or copies.lost:
        settled = tuple(one._replace(failed=False, wait=None) for one in copies.replicas)
        return _with(world, volume, copies._replace(replicas=settled, over=True))
    question = question_of(volume)
    if question in world.waiting:
        world = replace(world, waiting=world.waiting.delete(question))
    return _with(world, volume, None)


def _lose(world: World, gone: Iterable[Address]) -> World:
    """What was on these disks is lost."""
    where = frozenset(gone)
    for volume in volumes_on(world.disks, sorted(where)):
        copies = world.disks.volumes[volume]
        lost = [one for one in copies.replicas if one.at in where]
        world = _ask(_release(world, volume, copies, lost, "lost"), volume, _LOST)
    return world


def _release(
    world: World, volume: Subject, copies: Copies, gone: Sequence[Replica], why: WhyReleased
) -> World:
    lost = tuple(Lost(one.number, one.at, why) for one in gone)
    left = tuple(one for one in copies.replicas if one not in gone)
    names = [replica_name(volume, one.number) for one in gone]
    world = proposals.released(world, volume, names)
    number = world.latest[volume]
    hosts = world.disks.hosts
    released = [
        Released(
            "disk_placement",
            volume,
            number,
            hosts[one.at.host].cluster,
            hosts[one.at.host].node,
            1,
            disk=one.at.disk,
        )
        for one in gone
    ]
    world = replace(world, released=(*world.released, *released))
    missed = copies.missed + tuple(one.at for one in gone)
    after = copies._replace(replicas=left, lost=copies.lost + lost, missed=missed)
    return _with(world, volume, after)


def _replaced(world: World, volume: Subject, copies: Copies, now: Replica) -> World:
    replicas = tuple(now if one.number == now.number else one for one in copies.replicas)
    return _with(world, volume, copies._replace(replicas=replicas))


def _with(world: World, volume: Subject, after: Copies | None) -> World:
    """The World in which a volume has this: with its waits, and who may have what it gave back."""
    before = world.disks.volumes.get(volume)
    disks = with_copies(world.disks, volume, after)
    if disks is world.disks:
        return world
    queue = world.deadlines
    waits = [
        () if copies is None else tuple(one.wait for one in copies.replicas if one.wait is not None)
        for copies in (before, after)
    ]
    for wait in waits[0]:
        queue = queue if wait in waits[1] else deadlines.take_back(queue, wait)
    for wait in waits[1]:
        queue = queue if wait in waits[0] else deadlines.put(queue, wait)
    held = () if before is None else tuple(one.at for one in before.replicas)
    limit = world.policy.disk.rebuild_limit
    returned = gave_back(world.disks, disks, held) or rebuilds_less(world.disks, disks, held, limit)
    holds = () if after is None else tuple(one.at for one in after.replicas)
    world = _turned(replace(world, disks=disks, deadlines=queue), (*held, *holds))
    world = retries.grew_for(world, _DISKS) if returned else world
    return world if after is not None else forgotten(world, volume)


def _turned(world: World, disks: Iterable[Address]) -> World:
    """The World in which it is known that the pages of these disks are others."""
    turned = world.turned
    for at in disks:
        turned = turned.set(Account("disk", Subject("/".join(at))), None)
    return replace(world, turned=turned)


def _named(world: World, volume: Subject, name: str) -> tuple[Copies, Replica] | None:
    copies = world.disks.volumes.get(volume)
    if copies is None or copies.over:
        return None
    one = numbered(volume, copies, name)
    return None if one is None else (copies, one)
