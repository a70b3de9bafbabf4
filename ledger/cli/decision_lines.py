"""A decision in one line, for people who watch."""

from rich.markup import escape

from ledger.facts.decision import Decision, Outcome
from ledger.facts.division import Division
from ledger.facts.refusal import Refusal


def line(decision: Decision) -> str:
    """What was decided, with the part that matters most first; in rich's markup."""
    moved = f" [yellow]moved {decision.moved}[/yellow]" if decision.moved else ""
    return (
        f"[dim]#{decision.number} @{decision.position}[/dim]"
        f" [cyan]{escape(decision.subject)}[/cyan]"
        f" [dim]{escape(decision.branch)}[/dim] {_answer(decision.outcome)}{moved}"
    )


def _answer(outcome: Outcome) -> str:
    match outcome:
        case Division():
            shares = "  ".join(
                f"{escape(share.cluster)} {_change(share.previous, share.replicas)}"
                for share in outcome.shares
                if share.replicas or share.previous
            )
            return f"[bold]{outcome.replicas}[/bold] → {shares}"
        case Refusal():
            return f"[red]{escape(outcome.reason)}[/red] (waits for {escape(outcome.waits_for)})"


def _change(before: int, now: int) -> str:
    if before == now:
        return f"[dim]{now}[/dim]"
    colour = "green" if now > before else "magenta"
    return f"[{colour}]{before}→{now}[/{colour}]"
