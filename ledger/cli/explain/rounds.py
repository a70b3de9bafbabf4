"""What a round did to a job, told: where its tasks went and in whose turn, or who had to go for whom.

Of an eviction each voter is told with the numbers that it compared. How the queues stood is told by the first decision of a round, and only where that changed; the view
``fair_shares`` has all of it as of now.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Final

from ledger.cli.explain import words
from ledger.cli.explain.derivation import Derivation
from ledger.cli.explain.sections import Sections, rows
from ledger.facts.allocation import Allocation, Way
from ledger.facts.eviction import Ballot, Evicted, Eviction
from ledger.facts.fair_share import RoundTold
from ledger.facts.refusal import Refusal

WAYS: Final[Mapping[Way, str]] = {
    "allocate": "in turn",
    "preempt": "by evictions in its queue",
    "reclaim": "by evictions in other queues",
    "backfill": "wherever a slot was free",
}


def ways(outcome: Allocation | Eviction, branch: str) -> str:
    """How tasks were placed, or why some had to go, as the branch spells it."""
    if isinstance(outcome, Eviction):
        return "tasks had to go so that others could run"
    told = [told for way, told in WAYS.items() if way in branch.split("+")]
    return f"tasks got places {' and '.join(told)}"


def tell(of: Derivation, outcome: Allocation | Eviction, sections: Sections) -> None:
    """Everything a record says of a job's part in a round."""
    sections.asked += _asked(of, outcome)
    sections.known += _known(of, outcome)
    sections.last_result += _last(of)
    match outcome:
        case Allocation():
            sections.steps += _turns(of, outcome)
        case Eviction():
            for evicted in outcome.tasks:
                sections.steps += _evicted(evicted)
    sections.draw.append("no lot: orders end in the names of queues, namespaces, jobs and nodes")
    sections.losers += _losers(of)
    sections.changed += _changed(outcome)


def _asked(of: Derivation, outcome: Allocation | Eviction) -> list[str]:
    job = f"{outcome.namespace}/{outcome.job}"
    lines = [f"places for tasks of {job} in queue {outcome.queue} (uid {outcome.uid})"]
    if isinstance(outcome, Allocation):
        request = outcome.request
        lines.append(
            f"each takes cpu {words.cores(request.cpu)}, memory {words.bytes_(request.memory)},"
            f" storage {words.bytes_(request.storage)}"
        )
    if of.wish is not None:
        names = ("replicas", "gang_min", "priority", "preemptable")
        lines.append(f"told by event {of.wish.position}: {words.wish(of.wished, names)}")
    return lines


def _known(of: Derivation, outcome: Allocation | Eviction) -> list[str]:
    lines = [f"round {outcome.round.number} of the fleet"]
    told = RoundTold(outcome.round.number) if of.round is None else of.round
    if told.total is not None:
        amounts = told.total._asdict().items()
        there = ", ".join(f"{resource} {_amount(resource, amount)}" for resource, amount in amounts)
        lines.append(f"to share out, held or free, there is by now {there}")
    lines += [f"{namespace} weighs {weight} by now" for namespace, weight in told.weights]
    lines += [
        f"for past use {_amount(one.resource, one.charged)} of {one.resource} counted on top of what"
        f" {one.namespace} held in {one.queue}"
        for one in told.past
    ]
    body = [
        [
            share.namespace,
            share.resource,
            _amount(share.resource, share.requested),
            _part(share.resource, share.deserved),
            _amount(share.resource, share.allocated),
        ]
        for share in told.shares
        if share.queue == outcome.queue
    ]
    if not body:
        return [*lines, f"how namespaces stand in {outcome.queue} is as it was told before"]
    lines.append(f"how namespaces stand in {outcome.queue} after it, where that changed:")
    head = ["namespace", "what", "wanted", "deserved", "held"]
    return lines + rows(head, body, numbers=range(2, 5))


def _amount(resource: str, amount: int) -> str:
    return words.cores(amount) if resource == "cpu" else words.bytes_(amount)


def _part(resource: str, amount: Fraction) -> str:
    if amount.denominator == 1:
        return _amount(resource, amount.numerator)
    return str(amount)


def _last(of: Derivation) -> list[str]:
    if of.last is None:
        return ["none: no task of it was placed before"]
    last = of.last.decision
    outcome = last.outcome
    assert isinstance(outcome, Allocation), "the last result of a job is one"
    return [
        (
            f"#{last.number} at position {last.position}: {len(outcome.tasks)} placed in round"
            f" {outcome.round.number}, {outcome.waiting} left waiting"
        )
    ]


def _turns(of: Derivation, allocation: Allocation) -> list[str]:
    body = [
        [
            str(placed.task),
            f"{placed.cluster}/{placed.node}",
            WAYS[placed.way],
            "-" if placed.share is None else str(placed.share),
        ]
        for placed in allocation.tasks
    ]
    lines = rows(["task", "node", "how", "share before"], body, numbers=range(3, 4))
    for one in of.beside:
        made_room = one.decision.outcome
        if isinstance(made_room, Eviction):
            tasks = [task for task in made_room.tasks if task.taker == of.decision.subject]
            lines += [
                f"task {task.taker_task} took the room of {one.decision.subject} task {task.task}:"
                f" see #{one.decision.number}"
                for task in tasks
            ]
    wait = "waits" if allocation.waiting == 1 else "wait"
    lines.append(f"{allocation.waiting} of its tasks {wait} after the round")
    if allocation.full:
        lines.append("the round had placed as many as one may, and goes on at once")
    return lines


def _evicted(evicted: Evicted) -> list[str]:
    return [
        (
            f"task {evicted.task} left {evicted.cluster}/{evicted.node} for {evicted.taker} task"
            f" {evicted.taker_task}, {WAYS[evicted.way]}"
        ),
        *(_ballot(ballot, evicted.task) for ballot in evicted.ballots),
    ]


def _ballot(ballot: Ballot, task: int) -> str:
    # Whoever does not ask about evictions should not wait for the questions about fair shares.
    from ledger.cli.solve.fairshare_questions import compared

    said = f"{ballot.voter} grants task {task}"
    return compared(said, ballot.rule, ballot.left, ballot.right, ballot.before)


def _losers(of: Derivation) -> list[str]:
    """Who else was told anew in the same round that they wait."""
    lines = [
        f"{one.decision.subject}: {words.reason(one.decision.outcome.reason)},"
        f" {words.amounts(one.decision.outcome.detail)}"
        for one in of.beside
        if isinstance(one.decision.outcome, Refusal) and one.decision.subject != of.decision.subject
    ]
    return lines or ["no other job was told anything new about why it waits"]


def _changed(outcome: Allocation | Eviction) -> list[str]:
    sign = "+" if isinstance(outcome, Allocation) else "-"
    counts = Counter(_places(outcome))
    return [", ".join(f"{node} {sign}{counts[node]}" for node in sorted(counts)) or "nothing"]


def _places(outcome: Allocation | Eviction) -> Iterable[str]:
    return (f"{task.cluster}/{task.node}" for task in outcome.tasks)
