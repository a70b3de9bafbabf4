"""What happens to workloads: which of their changes raise a question, and what ends with them.

A change of the replicas, of the wish to be divided, or of the uid asks for a division, and so does
one of what each replica takes where a division is refused; any other change asks for none. What
asks for a deployment is told in ``ledger.reducers.deployments``. Another uid is another workload:
nothing of the old one is remembered but that it is dead. Whatever ends here ends by the event
itself, and is told in ``World.ended``.

A job that has a queue is not divided; what happens to it is told by ``ledger.reducers.jobs``.
"""

from typing import TypeVar

from immutables import Map

from ledger.facts.workload import (
    DivisionSpec,
    JobFinished,
    WorkloadRemoved,
    WorkloadRescheduled,
    WorkloadUpserted,
)
from ledger.reducers import deployments, jobs, objects, pods, retries
from ledger.reducers.candidates import list_under, wish
from ledger.reducers.objects import Key
from ledger.reducers.replacing import replace
from ledger.reducers.rooms import claims_replaced
from ledger.reducers.world import Causes, Ended, Question, World
from ledger.units import Subject

Name = TypeVar("Name")
Value = TypeVar("Value")


def upserted(world: World, subject: Subject, fact: WorkloadUpserted, *, source: str) -> World:
    """A workload came, was edited, or took the place of another of the same name."""
    told = objects.upsert(
        world.objects, Key("workload", subject), fact, source=source, now=world.now
    )
    if told.effect != "applied":
        return replace(world, last_effect=told.effect)
    before = world.workload(subject)
    earlier = world
    world = replace(world, objects=told.objects)
    if before is None or told.before is None:
        world = _forget(world, subject, wish(before))
        before = None
    elif wish(fact) is None and wish(before) is not None:
        world = _give_up(world, subject, wish(before))
    world = _list(world, subject, wish(before), wish(fact))
    if wish(fact) is not None and (
        before is None or not _same_question(world, subject, before, fact)
    ):
        world = _ask(world, subject, frozenset({"edited"}))
    world = deployments.upserted(world, subject, before)
    world = jobs.upserted(world, subject, before, fact)
    return pods.workload_changed(claims_replaced(earlier, world, subject), subject)


def removed(world: World, subject: Subject, fact: WorkloadRemoved, *, source: str) -> World:
    """A workload is gone."""
    told = objects.remove(
        world.objects, Key("workload", subject), fact, source=source, now=world.now
    )
    if told.effect != "applied":
        return replace(world, last_effect=told.effect)
    before = wish(world.workload(subject))
    earlier = world
    world = _forget(replace(world, objects=told.objects), subject, before)
    world = jobs.removed(world, subject)
    return pods.workload_changed(claims_replaced(earlier, world, subject), subject)


def forgotten(world: World, subject: Subject) -> World:
    """Without what was decided about a workload of which nothing is known any more."""
    if subject in world.latest:
        world = replace(world, latest=world.latest.delete(subject))
    return deployments.forgotten(world, subject)


def rescheduled(world: World, subject: Subject, fact: WorkloadRescheduled) -> World:
    """Somebody wants a workload to be decided again."""
    effect = objects.named(world.objects, Key("workload", subject), uid=fact.uid)
    if effect != "applied":
        return replace(world, last_effect=effect)
    causes: Causes = frozenset({"fresh" if fact.fresh else "rescheduled"})
    if wish(world.workload(subject)) is not None:
        world = _ask(world, subject, causes)
    return deployments.shared(world, subject, causes)


def finished(world: World, subject: Subject, fact: JobFinished) -> World:
    """A task ended: something that only a job has, and only as many as it has replicas."""
    effect = objects.named(world.objects, Key("workload", subject), uid=fact.uid)
    if effect == "applied":
        job = world.workload(subject)
        assert job is not None
        if job.kind != "Job" or (fact.task is not None and fact.task >= job.replicas):
            effect = "no_effect"
    world = replace(world, last_effect=effect)
    return jobs.finished(world, subject, fact.task) if effect == "applied" else world


def _ask(world: World, subject: Subject, causes: Causes) -> World:
    return replace(world, due=world.due.set(Question("division", subject), causes))


def _same_question(
    world: World, subject: Subject, before: WorkloadUpserted, after: WorkloadUpserted
) -> bool:
    if (wish(before), before.replicas) != (wish(after), after.replicas):
        return False
    refused = Question("division", subject) in world.refusals
    return not refused or (before.request, before.deploy) == (after.request, after.deploy)


def _list(
    world: World, subject: Subject, before: DivisionSpec | None, after: DivisionSpec | None
) -> World:
    divisions = world.divisions
    if before is not None and after is not None:
        world = retries.edited(world, Question("division", subject), before, after)
    interested = list_under(divisions.interested, subject, before=before, after=after)
    if interested is divisions.interested:
        return world
    return replace(world, divisions=replace(divisions, interested=interested))


def _forget(world: World, subject: Subject, before: DivisionSpec | None) -> World:
    """The life that was in force is over: its last result, its epochs, its refusals."""
    world = _list(_give_up(world, subject, before), subject, before, None)
    world = pods.life_over(deployments.life_over(world, subject), subject)
    divisions = world.divisions
    if subject not in divisions.last and subject not in divisions.epochs:
        return world
    return replace(
        world,
        divisions=replace(
            divisions,
            last=_without(divisions.last, subject),
            epochs=_without(divisions.epochs, subject),
        ),
    )


def _give_up(world: World, subject: Subject, before: DivisionSpec | None) -> World:
    """It is not to be divided any more: its places, and what it was refused or is waiting for."""
    question = Question("division", subject)
    refused = world.refusals.get(question)
    # Before its room is given back: that is for others, and it is listed by a wish that is over.
    world = retries.closed(world, question, before)
    divisions = world.divisions
    ended: list[Ended] = []
    last = divisions.last.get(subject)
    if last is not None and last.in_force:
        ended.append(Ended("division", subject, last.number))
        given_up = replace(last, in_force=False)
        divisions = replace(divisions, last=divisions.last.set(subject, given_up))
    if refused is not None:
        ended.append(Ended("refusal", subject, refused.number))
    if not ended and question not in world.waiting:
        return world
    return replace(
        world,
        divisions=divisions,
        waiting=_without(world.waiting, question),
        ended=(*world.ended, *ended),
    )


def _without(kept: Map[Name, Value], name: Name) -> Map[Name, Value]:
    return kept.delete(name) if name in kept else kept
