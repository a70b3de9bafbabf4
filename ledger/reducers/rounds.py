"""When a round of jobs closes: after so many events, or so much time, from when one became due.

A round is due from the first event after which a task of a known queue waits and anything that
rounds read is not as the last one left it: the tasks that wait, the free room of nodes that take
new work, what queues hold, queues, weights of namespaces, the policy of fair shares. Room that is
given up and taken again in one event is as it was: no round ever sees it free. Where its tasks may go is read of a job while it waits; one of which nothing waits or runs is not read at all. Once
nothing waits any more it is not due; that something changed is kept in mind. What a round changes
itself counts only if it evicted, and what follows from it in the same event does not count at all.

It closes inside the event that is the policy's ``round.max_events``-th from the one that made it
due, after the kinds of decisions that come before; or when its deadline fires, so many milliseconds
after it became due, or after the policy began to say so. One that was full goes on inside the next
event, or when its new deadline fires; if the policy has none, a tick is owed (``is_owed``), so that one
event places no more than a round may. Under ``hold`` events are
counted and the deadline is held back; once it is lifted, it is set again, to the same moment or to
the present, whichever is later.

A round that had nothing to say left no decision. That it closed is therefore not read off its
decisions but off the World before what comes next (``begun``), which is as it was when it closed.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from immutables import Map

from ledger.facts.cluster import Labels
from ledger.facts.reason import Deadline
from ledger.reducers import deadlines, past_use
from ledger.reducers.book import Loose
from ledger.reducers.replacing import replace
from ledger.reducers.tasks import Rounds, Where
from ledger.reducers.world import World
from ledger.units import ClusterName, Microseconds, Position, Subject

_NOTHING: Final[Map[Subject, Loose | None]] = Map()


def is_closing(world: World) -> bool:
    """Whether a round closes now, once the kinds before it are decided."""
    rounds = world.jobs.rounds
    if rounds.due is None or rounds.done or world.policy.hold:
        return False
    if not rounds.within:
        return rounds.fired
    events = _present(world) - rounds.due + 1
    return rounds.goes_on or events >= world.policy.round.max_events


def is_owed(world: World) -> bool:
    """Whether a round that was full goes on inside the next event, whatever it tells, and no deadline brings it."""
    rounds = world.jobs.rounds
    going_on = rounds.goes_on and rounds.due is not None
    return going_on and rounds.deadline is None and not world.policy.hold


def begun(world: World, *, within: bool) -> World:
    """The World at the beginning of an event, or of a deadline: the last round is over."""
    if is_closing(world):
        world = closed(world)
    rounds = world.jobs.rounds
    if rounds.within == within and not (rounds.stirred or rounds.done or rounds.fired):
        return world
    changed = rounds.changed or bool(rounds.stirred)
    return _put(
        world,
        replace(rounds, changed=changed, stirred=_NOTHING, within=within, done=False, fired=False),
    )


def fired(world: World, deadline: Deadline) -> World:
    """The deadline of a round is reached."""
    rounds = world.jobs.rounds
    assert rounds.deadline == deadline, f"{rounds.deadline} was set, {deadline} fired"
    world = replace(world, deadlines=deadlines.take_back(world.deadlines, deadline))
    return _put(world, replace(rounds, deadline=None, fired=True))


def closed(world: World) -> World:
    """A round has closed: the next one is not due before something changes."""
    world = past_use.caught_up(_not_due(world))
    rounds = world.jobs.rounds
    after = replace(rounds, closed=rounds.closed + 1, changed=False, stirred=_NOTHING, done=True)
    return _put(world, after)


def changed(world: World) -> World:
    """Something that rounds read is not as it was; after a round of the same event nothing counts."""
    rounds = world.jobs.rounds
    if rounds.changed or rounds.done:
        return world
    return _put(world, replace(rounds, changed=True, stirred=_NOTHING))


def stirred(world: World, nodes: Iterable[tuple[Subject, Loose | None, Loose | None]]) -> World:
    """Nodes have other room for tasks than they had; None: they take no work.

    That counts if they still have at the end of what is folded or decided.
    """
    rounds = world.jobs.rounds
    if rounds.changed or rounds.done:
        return world
    before = rounds.stirred
    after = before
    for node, had, has in nodes:
        first = after.get(node, had)
        if has != first:
            after = after.set(node, first)
        elif node in after:
            after = after.delete(node)
    return world if after is before else _put(world, replace(rounds, stirred=after))


def relabelled_cluster(world: World, name: ClusterName, before: Labels, after: Labels) -> World:
    """A cluster has other labels: rounds read those that a job selects by."""
    if before == after:
        return world
    for where in _choosy(world):
        if where.takes_cluster(name, before) != where.takes_cluster(name, after):
            return changed(world)
    return world


def relabelled_node(world: World, cluster: ClusterName, before: Labels, after: Labels) -> World:
    """A node has other labels: rounds read those that a job selects by."""
    if before == after:
        return world
    known = world.clusters[cluster]
    for where in _choosy(world):
        if where.takes_node(before) != where.takes_node(after) and where.takes_cluster(
            cluster, known.labels
        ):
            return changed(world)
    return world


def evicted(world: World) -> World:
    """The round that is being folded made tasks wait again: that is a change of its own."""
    return _put(world, replace(world.jobs.rounds, changed=True))


def full(world: World) -> World:
    """The round that is being folded placed as many as one may."""
    return _put(world, replace(world.jobs.rounds, changed=True, goes_on=True))


def settled(world: World) -> World:
    """The World after a fact was folded, with a round due or not as it says."""
    jobs = world.jobs
    rounds = jobs.rounds
    if jobs.contenders == 0:
        return world if rounds.due is None else _not_due(world)
    differs = rounds.changed or bool(rounds.stirred)
    if rounds.due is None and differs:
        world = _due(world)
    elif rounds.due is not None and not differs:
        world = _not_due(world)
    elif rounds.due is not None and rounds.deadline is None and not is_closing(world):
        world = _with_deadline(world)
    rounds = world.jobs.rounds
    # A round that closes now is not to close again by a deadline that nobody has taken back.
    held_back = world.policy.hold or is_closing(world)
    if rounds.deadline is None or rounds.waits == held_back:
        return world
    if held_back:
        queue = deadlines.take_back(world.deadlines, rounds.deadline)
        return _put(replace(world, deadlines=queue), replace(rounds, waits=True))
    moment = Microseconds(max(rounds.deadline.at, world.now))
    deadline = replace(rounds.deadline, at=moment)
    queue = deadlines.put(world.deadlines, deadline)
    return _put(replace(world, deadlines=queue), replace(rounds, deadline=deadline, waits=False))


def _choosy(world: World) -> Iterator[Where]:
    """What jobs that wait in known queues say of the nodes they may go to; in no order."""
    jobs = world.jobs
    for subject, where in jobs.choosy.items():
        tasks = jobs.of[subject]
        if tasks.waiting and tasks.queue in jobs.queues:
            yield where


def _due(world: World) -> World:
    return _with_deadline(_put(world, replace(world.jobs.rounds, due=_present(world))))


def _with_deadline(world: World) -> World:
    rounds = world.jobs.rounds
    after = world.policy.round.max_milliseconds
    if not after:
        return world
    deadline = Deadline(deadlines.after(world.now, after), "round", Subject(world.fleet))
    return _put(world, replace(rounds, deadline=deadline, waits=True))


def _not_due(world: World) -> World:
    rounds = world.jobs.rounds
    if rounds.deadline is not None and not rounds.waits:
        queue = deadlines.take_back(world.deadlines, rounds.deadline)
        world = replace(world, deadlines=queue)
    return _put(world, replace(rounds, due=None, goes_on=False, deadline=None, waits=False))


def _present(world: World) -> Position:
    """The event that is folded or decided, or before which a deadline is."""
    return Position(world.position - 1) if world.jobs.rounds.within else world.position


def _put(world: World, rounds: Rounds) -> World:
    return replace(world, jobs=replace(world.jobs, rounds=rounds))
