"""Who was refused and may be served now: all who wait for what grew, and nobody else.

A refused workload that waits for clusters, or for room on their nodes, is listed under the hooks
of its wish (``ledger.reducers.candidates``). Whatever grows on a cluster - a node that changed, the
cluster itself, a claim that was given up - marks those listed workloads that the cluster matters
to. Refusals of every other kind are listed by what they wait for: the nodes of a cluster, the
disks. So a mark says that something grew there, not that it is enough: that is seen by asking. What
others take marks nobody; another policy marks all whose kind is decided by it.

A mark is answered in the event that set it: everybody marked is asked, up to the policy's
``retry.max_subjects`` that can be served. If there are more, all marks stand until the next event,
which is a tick where no other comes (``ledger.reducers.owed``), and so they do under ``hold``. Whoever was decided about in an event is not asked again in it; a
mark set after that decision stands too, or by it where the same answer goes on with a refusal. So
does one that a decision of a later kind set: the turn of its own kind was over by then.
"""

from collections.abc import Iterable
from typing import Final, get_args

from immutables import Map

from ledger.facts.decision import Decision
from ledger.facts.reason import RETRIED, Kind
from ledger.facts.refusal import Refusal
from ledger.facts.workload import DivisionSpec
from ledger.reducers.candidates import concerned, list_under
from ledger.reducers.replacing import replace
from ledger.reducers.world import (
    Causes,
    Mark,
    OpenRefusal,
    Question,
    Retries,
    World,
)
from ledger.units import ClusterName, DecisionNumber

WAITS_FOR_CLUSTER: Final = "cluster"
"""For another cluster, or another state of one."""

WAITS_FOR_NODES: Final = "nodes"
"""For room on the nodes of its clusters."""

WAITS_FOR_WISH: Final = "specification"
"""For another wish of its own."""

WAITS_FOR_NOTHING: Final = "nothing"
"""It was asked once and is not open."""

Hook = tuple[str, ...]
"""What a refusal waits for, as it is listed: ("nodes", cluster) for deployments, ("disks",) for
volumes."""

_NOBODY: Final[Map[Question, None]] = Map()
_NO_TURNS: Final[Map[Kind, DecisionNumber]] = Map()
_ORDER: Final = get_args(Kind)
"""Kinds are named in the order in which they are asked."""
_GREW: Final[Causes] = frozenset({"room"})
_OTHER_POLICY: Final[Causes] = frozenset({"policy"})


def begun(world: World) -> World:
    """The World at the beginning of an event or deadline: only marks that could not be answered."""
    retries = world.retries
    marked = retries.marked
    if marked and not (world.policy.hold or retries.served >= world.policy.retry.max_subjects):
        latest, first = world.latest, retries.first
        stay = [
            question
            for question in marked
            if latest[question.subject] >= first or _set_late(retries, question)
        ]
        if len(stay) < len(marked):
            marked = Map({question: marked[question] for question in stay})
    if marked is retries.marked and retries.first == world.decisions and not retries.served:
        return world
    begun = replace(retries, marked=marked, first=world.decisions, served=0, turns=_NO_TURNS)
    return replace(world, retries=begun)


def is_owed(world: World) -> bool:
    """Whether the next event would ask somebody again, whatever it tells: nothing else is waited for."""
    if not world.retries.marked or world.policy.hold:
        return False
    return bool(begun(world).retries.marked)


def _set_late(retries: Retries, question: Question) -> bool:
    """Whether a decision of a later kind set the mark."""
    if not retries.turns:
        return False
    turn = _ORDER.index(question.kind)
    since = retries.marked[question].since
    return any(
        _ORDER.index(kind) > turn and number < since
        for kind, number in sorted(retries.turns.items())
    )


def grew(world: World, clusters: Iterable[ClusterName]) -> World:
    """There may be more room on these clusters than before."""
    for cluster in clusters:
        world = grew_for(less_promised(world, [cluster]), ("nodes", cluster))
    return world


def less_promised(world: World, clusters: Iterable[ClusterName]) -> World:
    """Less of these clusters is promised than before, which is room for divisions alone."""
    waiting = world.retries.waiting
    if not waiting:
        return world
    for cluster in clusters:
        for subject in concerned(world, waiting, cluster):
            world = mark(world, Question("division", subject), _GREW)
    return world


def other_policy(world: World, kind: Kind) -> World:
    """What this kind of decision is made by has changed."""
    for question in sorted(world.refusals):
        if _may_grow(world.refusals[question]) and question.kind == kind:
            world = mark(world, question, _OTHER_POLICY)
    return world


def grew_for(world: World, hook: Hook, causes: Causes = _GREW) -> World:
    """What those listed under a hook wait for grew, or is to be looked at again."""
    waiting = world.retries.listed.get(hook, _NOBODY)
    if not waiting:
        return world
    # All at once and in no order: there may be thousands, for each disk that offers more.
    before = world.retries.marked
    marked, alone = before.mutate(), Mark(causes, world.decisions)
    for question in waiting:
        known = before.get(question)
        if known is None or known.causes == causes:
            marked[question] = alone
        else:
            marked[question] = Mark(causes | known.causes, world.decisions)
    return replace(world, retries=replace(world.retries, marked=marked.finish()))


def list_refusal(world: World, question: Question, refusal: OpenRefusal, hook: Hook) -> World:
    """Somebody is refused something that is no division, and waits for what ``hook`` names."""
    world = replace(world, refusals=world.refusals.set(question, refusal))
    listed = world.retries.listed
    listed = listed.set(hook, listed.get(hook, _NOBODY).set(question, None))
    return replace(world, retries=replace(world.retries, listed=listed))


def end_refusal(world: World, question: Question, hook: Hook) -> World:
    """Such a refusal has ended, if there was one; ``hook`` is what it waited for."""
    if question not in world.refusals:
        return world
    retries = world.retries
    listed, marked = retries.listed, retries.marked
    left = listed.get(hook, _NOBODY)
    if question in left:
        left = left.delete(question)
        listed = listed.set(hook, left) if left else listed.delete(hook)
    if question in marked:
        marked = marked.delete(question)
    return replace(
        world,
        refusals=world.refusals.delete(question),
        retries=replace(retries, listed=listed, marked=marked),
    )


def counted(world: World, decision: Decision) -> World:
    """A decision is in force: whether it served somebody who was asked again."""
    retries = world.retries
    outcome = decision.outcome
    refused = outcome.kind == "refusal"
    question = Question(
        outcome.wanted if isinstance(outcome, Refusal) else outcome.kind, decision.subject
    )
    if question.kind not in retries.turns:
        retries = replace(retries, turns=retries.turns.set(question.kind, decision.number))
    if question in retries.marked and not _of_the_same_turn(retries, question, decision):
        retries = replace(retries, marked=retries.marked.delete(question))
    if not refused and RETRIED.issuperset(outcome.because):
        retries = replace(retries, served=retries.served + 1)
    return world if retries is world.retries else replace(world, retries=retries)


def _of_the_same_turn(retries: Retries, question: Question, decision: Decision) -> bool:
    """Whether a volume's refusal follows the placement that set its mark, in one answer."""
    return (
        decision.kind == "refusal"
        and question.kind == "disk_placement"
        and retries.marked[question].since == decision.number
        and decision.previous == decision.number - 1
        and retries.first < decision.number
    )


def opened(
    world: World, question: Question, refusal: OpenRefusal, spec: DivisionSpec | None
) -> World:
    """Somebody is refused, for the first time or for another reason."""
    before = world.refusals.get(question)
    world = replace(world, refusals=world.refusals.set(question, refusal))
    return _listed(
        world,
        question,
        before=spec if before is not None and _may_grow(before) else None,
        after=spec if _may_grow(refusal) else None,
    )


def closed(world: World, question: Question, spec: DivisionSpec | None) -> World:
    """A refusal has ended."""
    refusal = world.refusals.get(question)
    if refusal is None:
        return world
    world = replace(world, refusals=world.refusals.delete(question))
    if question in world.retries.marked:
        marked = world.retries.marked.delete(question)
        world = replace(world, retries=replace(world.retries, marked=marked))
    return _listed(world, question, before=spec if _may_grow(refusal) else None, after=None)


def edited(world: World, question: Question, before: DivisionSpec, after: DivisionSpec) -> World:
    """Somebody who is refused wishes something else."""
    refusal = world.refusals.get(question)
    if refusal is None or not _may_grow(refusal):
        return world
    return _listed(world, question, before=before, after=after)


def _may_grow(refusal: OpenRefusal) -> bool:
    return refusal.refusal.waits_for in {WAITS_FOR_CLUSTER, WAITS_FOR_NODES}


def _listed(
    world: World, question: Question, *, before: DivisionSpec | None, after: DivisionSpec | None
) -> World:
    waiting = list_under(world.retries.waiting, question.subject, before=before, after=after)
    if waiting is world.retries.waiting:
        return world
    return replace(world, retries=replace(world.retries, waiting=waiting))


def mark(world: World, question: Question, causes: Causes) -> World:
    """What somebody who is refused waits for may have come."""
    before = world.retries.marked.get(question)
    if before is not None:
        causes |= before.causes
    marked = world.retries.marked.set(question, Mark(causes, world.decisions))
    return replace(world, retries=replace(world.retries, marked=marked))
