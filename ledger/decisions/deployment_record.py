"""What is recorded of a subject's turn: the decision, if there is one, and the refusals behind it.

Whatever came of a turn is one decision; what was refused is one refusal after it, with the first
reason and what is short in each part:

``no_eligible_node``        no node of the cluster takes new instances; waits for nodes
``insufficient_resource``, ``insufficient_capacity``  too little room on the nodes there are, or no more may be on
                            them; waits for nodes
``too_many_instances``      there is room, for more instances than anybody runs; waits for another wish
codes of an invalid request  it means nothing; waits for another wish

A refusal that only repeats the open one is not recorded. One of ``fresh`` waits for nothing.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from ledger.decisions.answer import REFUSED, Answered
from ledger.decisions.deployment_turn import Refused, Served, Turn
from ledger.decisions.nodes import Nodes
from ledger.facts import deployment as record
from ledger.facts.canonical import Plain, digest
from ledger.facts.deployment import Instance, Move, NodeChange, Waiting, Why
from ledger.facts.reason import LOSERS_NAMED, NO_LOSERS, RETRIED, Losers
from ledger.facts.refusal import Refusal
from ledger.reducers.instances import Deployed, workload_of
from ledger.reducers.retries import WAITS_FOR_NOTHING
from ledger.reducers.world import Causes
from ledger.units import NodeName

SYSTEM: Final = "placement"

KEEP: Final = "keep"
"""The branch of an answer that is the last one."""

TOUCHED: Final[Causes] = frozenset({"edited", "rescheduled", "share"})
"""The causes for which an answer is recorded even if it is the last one."""


def answers(turn: Turn) -> tuple[Answered, ...]:
    """The decision, if there is one, and the refusals."""
    open_ = turn.open_refusal()
    after = tuple(turn.instances[number] for number in sorted(turn.instances))
    waiting = tuple(Waiting(*one) for one in sorted(turn.waiting.items()))
    changed = (
        turn.was.over
        or (turn.was.lost and not turn.here.share)
        or "fresh" in turn.did
        or (after, waiting, turn.ordered)
        != (turn.was.instances, turn.was.waiting, turn.was.ordered)
    )
    touched = not RETRIED.issuperset(turn.causes)
    kept = turn.fresh_refused is None and _says_so(turn)
    due = changed or (not turn.refused and (open_ is not None or kept))
    made: list[Answered] = []
    if due:
        decided = _decided(turn, after, waiting)
        branch = _branch(turn, changed=changed)
        made.append(_answered(turn, branch, decided, moved(turn.was, decided)))
    if turn.fresh_refused is not None:
        refusal = _refusal(turn, [turn.fresh_refused], WAITS_FOR_NOTHING)
        made.append(_answered(turn, REFUSED, refusal, 0))
    if turn.refused:
        refusal = _refusal(turn, turn.refused, turn.refused[0].waits_for)
        if open_ is None or (not turn.repeats(refusal) and (touched or changed)):
            made.append(_answered(turn, REFUSED, refusal, 0))
    return tuple(made)


def _branch(turn: Turn, *, changed: bool) -> str:
    if changed and turn.did:
        return turn.did[0]
    # What was lost and is not wanted any more was given up by the event that said so.
    return "given_up" if turn.was.lost and not turn.waiting else KEEP


def _says_so(turn: Turn) -> bool:
    """Whether the same answer as before is recorded."""
    if turn.deploy is not None and turn.deploy.strategy == "EACH":
        return not (TOUCHED - {"share"}).isdisjoint(turn.causes)
    return not TOUCHED.isdisjoint(turn.causes)


def _answered(
    turn: Turn, branch: str, outcome: record.Deployment | Refusal, moved: int
) -> Answered:
    here = turn.here
    given: Plain = {
        "subject": turn.subject,
        "share": here.share,
        "ordered": here.ordered,
        "fresh": "fresh" in turn.causes,
        "target": turn.target,
        "held": [[one.number, one.node] for one in turn.was.instances],
        "waiting": turn.was.waiting,
        "terms": None if turn.terms is None else record.terms_plain(turn.terms),
        "invalid": turn.invalid,
        "asked": turn.inputs,
    }
    return Answered(
        subject=turn.subject,
        algorithm=SYSTEM,
        version=turn.world.policy.algorithms.placement,
        inputs=digest(given).hex(),
        branch=branch,
        outcome=outcome,
        moved=moved,
    )


def _decided(
    turn: Turn, after: tuple[Instance, ...], waiting: tuple[Waiting, ...]
) -> record.Deployment:
    was, here = turn.was, turn.here
    namespace, name = workload_of(turn.subject).split("/")
    places = {one.number: one.node for one in was.waiting}
    places |= {one.number: one.node for one in was.instances}
    whys: dict[int, Why] = turn.whys | {one.number: "lost" for one in was.waiting}
    kept = {*turn.instances, *turn.waiting}
    moves = (
        ()
        if was.over
        else tuple(
            Move(one.number, places[one.number], one.node, whys[one.number])
            for one in after
            if places.get(one.number, one.node) != one.node
        )
    )
    gone = [one for one in was.instances if was.over or one.number not in kept]
    return record.Deployment(
        namespace=namespace,
        workload=name,
        uid=here.uid,
        cluster=here.cluster,
        share=here.share,
        strategy="" if turn.deploy is None else turn.deploy.strategy,
        instances=after,
        waiting=waiting,
        ordered=turn.ordered,
        complete=not turn.refused,
        target=turn.target,
        changes=changes(was, after),
        moves=moves,
        given_up=tuple((one.number, one.node) for one in gone),
        asked=tuple(turn.asked),
        losers=_lost_to(turn),
        because=tuple(sorted(turn.causes)),
    )


def _lost_to(turn: Turn) -> Losers:
    """Who got nothing of what was placed last, and why."""
    if turn.placed is None:
        return NO_LOSERS
    assert turn.nodes is not None
    return losers_of(turn.nodes, turn.counts, turn.placed, most=turn.world.losers_named)


def losers_of(
    nodes: Nodes, held: Counter[NodeName], served: Served, *, most: int = LOSERS_NAMED
) -> Losers:
    """Who got nothing, and why, where each node holds so many; ``most`` of them are named."""
    request, placed, among = served
    passed_over, passed_by = nodes.passed_over, nodes.rules.passed_by
    names, takers, counted = nodes.onlookers(among)
    counts = Counter(counted)
    why: dict[NodeName, str | None] = {node.name: None for node in request.nodes}
    for name, reason in nodes.rules.left_out(request, placed):
        if name not in passed_over:
            why[name] = reason
            counts[reason] += 1
    # Too many came before the others to ask about them at all, so they are as they were then.
    others = nodes.others(held).intersection(takers).difference(why)
    for name in sorted(others):
        why[name] = reason = passed_by(nodes.capacity(name), held[name], request, placed)
        counts[reason] += 1
    # Of whoever holds none it only matters whether it has room: most need not be looked at for that.
    least = nodes.rules.least_room(request)
    known = [nodes.had_room(name, least) for name in why if name in takers]
    able = nodes.with_room(takers, least)
    by_room: dict[bool, str] = {}
    for has_room, alike in ((False, len(takers) - able), (True, able)):
        by_room[has_room] = passed_by(least if has_room else 0, 0, request, placed)
        counts[by_room[has_room]] += alike - known.count(has_room)
    named: list[tuple[str, str]] = []
    for name in names:
        loses = passed_over.get(name)
        if loses is None:
            loses = why[name] if name in why else by_room[nodes.had_room(name, least)]
        if loses is not None:
            named.append((name, loses))
        if len(named) == most:
            break
    return Losers(tuple(sorted((+counts).items())), tuple(named))


def _refusal(turn: Turn, refused: Sequence[Refused], waits_for: str) -> Refusal:
    """All parts that were refused, under the reason of the first."""
    detail: dict[str, int] = {}
    for one in refused:
        short_of = ((f"short_{what}", amount) for what, amount in one.lacking.short)
        for what, amount in (("found", one.found), ("wanted", one.wanted), *short_of):
            name = f"{one.part}_{what}"
            detail[name] = detail.get(name, 0) + amount
    return Refusal(
        wanted="deployment",
        reason=refused[0].reason,
        waits_for=waits_for,
        detail=tuple(sorted(detail.items())),
        losers=refused[0].lacking.losers,
        because=tuple(sorted(turn.causes)),
    )


def changes(was: Deployed, after: Iterable[Instance]) -> tuple[NodeChange, ...]:
    """How many came to each node and left it since the decision before."""
    left = {one.number: one.node for one in was.instances}
    changed: dict[NodeName, list[int]] = {}
    for one in after:
        if not was.over and left.get(one.number) == one.node:
            del left[one.number]
        else:
            changed.setdefault(one.node, [0, 0])[0] += 1
    for node in (*left.values(), *was.lost):
        changed.setdefault(node, [0, 0])[1] += 1
    return tuple(NodeChange(node, *changed[node]) for node in sorted(changed))


def moved(was: Deployed, decided: record.Deployment) -> int:
    """How many changed places: what came anew or was only lost has not moved.

    Whoever was lost and waits is counted where it was, until a decision places it elsewhere or gives it up:
    so a loss counts once, however many decisions it takes to make up for it.
    """
    if was.over:
        return 0
    before = Counter([*(one.node for one in was.instances), *was.lost, *was.awaited])
    after = Counter([one.node for one in decided.instances])
    after.update(one.node for one in decided.waiting)
    return min((after - before).total(), (before - after).total())
