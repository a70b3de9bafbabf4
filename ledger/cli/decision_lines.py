"""A decision in one line, for people who watch."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from rich.markup import escape

from ledger.cli.counting import count
from ledger.facts.admission import Admission
from ledger.facts.allocation import Allocation
from ledger.facts.capacity_class import CapacityClass
from ledger.facts.decision import Decision, Outcome
from ledger.facts.deployment import Deployment, NodeChange
from ledger.facts.disk_placement import DiskPlacement, InForce
from ledger.facts.division import Division
from ledger.facts.eviction import Eviction
from ledger.facts.incident import Incident
from ledger.facts.proposal import Proposal
from ledger.facts.refusal import Refusal
from ledger.facts.repair import Repair
from ledger.units import ClusterName

NODES_TOLD: Final = 8
"""A line is a line: the others stand in the views ``deployments`` and ``proposal_moves``."""

SO_MANY_EACH: Final = frozenset({"FILL", "EACH"})
"""Rules by which there may be more or fewer than the share: it is a number of each node that is wanted."""


def line(decision: Decision, *, fleet: str = "") -> str:
    """What was decided, with the part that matters most first; in rich's markup.

    Where several fleets are watched at once, ``fleet`` is named and so is the kind of the decision.
    """
    named = f"{escape(fleet)} " if fleet else ""
    kind = f"{decision.kind} " if fleet else ""
    moved = f" [yellow]moved {decision.moved}[/yellow]" if decision.moved else ""
    return (
        f"[dim]{named}#{decision.number} @{decision.position}[/dim]"
        f" [cyan]{escape(decision.subject)}[/cyan]"
        f" [dim]{kind}{escape(decision.branch)}[/dim] {_answer(decision.outcome)}{moved}"
    )


def _answer(outcome: Outcome) -> str:
    match outcome:
        case Division():
            changes: dict[ClusterName, tuple[int, int]] = {
                one.cluster: (one.previous, one.replicas) for one in outcome.shares
            }
            changes |= {cluster: (held, 0) for cluster, held in outcome.left}
            shares = "  ".join(
                f"{escape(cluster)} {_change(*changes[cluster])}"
                for cluster in sorted(changes)
                if any(changes[cluster])
            )
            return f"[bold]{outcome.replicas}[/bold] → {shares}"
        case CapacityClass():
            target = "as they are" if outcome.target is None else f"{outcome.target} on demand"
            flags = f" [dim]{' '.join(outcome.flags)}[/dim]" if outcome.flags else ""
            return f"[bold]{outcome.share}[/bold] → {target}{flags}"
        case Admission():
            given = outcome.capacity_class or "as it is"
            slots = f" ({outcome.on_demand} of {outcome.target})" if outcome.target else ""
            flags = f" [dim]{' '.join(outcome.flags)}[/dim]" if outcome.flags else ""
            return f"a pod → [bold]{given}[/bold]{slots}{flags}"
        case Deployment():
            nodes = "  ".join(
                f"{escape(change.node)} {_change(before, before + change.added - change.removed)}"
                for change, before in _before(outcome)
            )
            there = f" → {nodes}" if nodes else ""
            wanted = (
                f"by {outcome.strategy}"
                if outcome.strategy in SO_MANY_EACH
                else f"of {outcome.share}"
            )
            return f"[bold]{len(outcome.instances)}[/bold] {wanted}{there}"
        case Incident():
            numbers = "  ".join(f"{escape(name)} {amount}" for name, amount in outcome.numbers)
            return f"[red]contradicts the book[/red] on {escape(outcome.node)}: {numbers}"
        case DiskPlacement():
            replicas = [f"{escape(one.replica)} {escape(_disk(one))}" for one in outcome.replicas]
            replicas += [
                f"[magenta]{escape(gone.replica)} {escape(gone.why)}[/magenta]"
                for gone in outcome.released
            ]
            return (
                f"[bold]{len(outcome.replicas)} of {outcome.wanted}[/bold] → {'  '.join(replicas)}"
            )
        case Repair():
            named = outcome.evict + outcome.lower
            pods = "  ".join(escape(one.pod) for one in named[:NODES_TOLD])
            what = "evicted" if outcome.evict else "lowered"
            return f"[magenta]{len(named)}[/magenta] to be {what}: {pods}"
        case Proposal():
            away = "lowered" if outcome.what == "surplus" else "evicted"
            moves = "  ".join(
                f"{escape(move.thing)} {escape(move.out)}→{escape(move.into or away)}"
                for move in outcome.moves[:NODES_TOLD]
            )
            many = count(len(outcome.moves), "move")
            return f"[bold]{many}[/bold] of {outcome.what}{': ' if moves else ''}{moves}"
        case Allocation():
            places = _places((placed.cluster, placed.node) for placed in outcome.tasks)
            waiting = f", [yellow]{outcome.waiting}[/yellow] wait" if outcome.waiting else ""
            return (
                f"[bold]{len(outcome.tasks)}[/bold] of {escape(outcome.queue)} → {places}{waiting}"
            )
        case Eviction():
            places = _places((evicted.cluster, evicted.node) for evicted in outcome.tasks)
            takers = ", ".join(sorted({evicted.taker for evicted in outcome.tasks}))
            return f"[magenta]{len(outcome.tasks)}[/magenta] evicted from {places} for {escape(takers)}"
        case Refusal():
            return f"[red]{escape(outcome.reason)}[/red] (waits for {escape(outcome.waits_for)})"


def _disk(one: InForce) -> str:
    return "/".join(filter(None, (one.cluster, one.node, one.disk)))


def _places(tasks: Iterable[tuple[str, str]]) -> str:
    """How many tasks on which nodes, by name."""
    counts = Counter(f"{cluster}/{node}" for cluster, node in tasks)
    return "  ".join(f"{escape(node)} {counts[node]}" for node in sorted(counts))


def _change(before: int, now: int) -> str:
    if before == now:
        return f"[dim]{now}[/dim]"
    colour = "green" if now > before else "magenta"
    return f"[{colour}]{before}→{now}[/{colour}]"


def _before(deployment: Deployment) -> Iterator[tuple[NodeChange, int]]:
    """The first nodes where something changed, each with how many were there."""
    there = Counter(instance.node for instance in deployment.instances)
    for change in deployment.changes[:NODES_TOLD]:
        yield change, there[change.node] - change.added + change.removed
