"""Whatever the scenario pages come to can be told, and every division comes out again from its record.

Here nothing is read from a log: what a derivation reads is taken from the history of the page, without
the events that tell wishes. So the caps of a division are those of its record.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from ledger.cli.explain import telling
from ledger.cli.explain.derivation import Derivation
from ledger.cli.explain.sections import WIDTH, page
from ledger.facts.allocation import Allocation
from ledger.facts.decision import Decision, record
from ledger.facts.eviction import Eviction
from ledger.facts.refusal import Refusal
from ledger.views.derivations import Recorded
from tests.histories import History
from tests.scenarios.page import lived

SCENARIOS = Path(__file__).parents[1] / "scenarios"
PAGES = sorted(SCENARIOS.glob("*.txt"))


def derivations(history: History) -> Iterator[Derivation]:
    """Every decision with what it followed from, as the log would have it."""
    known: dict[int, Recorded] = {}
    last: dict[tuple[str, str], Recorded] = {}
    for step in history.steps:
        for kind, subject, _ in step.ended:
            last.pop((kind, subject), None)
        beside = tuple(recorded(made) for made in step.decisions)
        for made in step.decisions:
            key = (wanted(made), made.subject)
            yield Derivation(
                recorded=recorded(made),
                cause=None,
                previous=None if made.previous is None else known[made.previous],
                last=last.get(key),
                wish=None,
                beside=tuple(
                    one
                    for one in beside
                    if isinstance(made.outcome, Allocation | Eviction)
                    and one.decision.number != made.number
                    and wanted(one.decision) == "allocation"
                ),
                ended=None,
                short=None,
                ending=None,
                ended_by=None,
                newer_wish=None,
                newer=None,
                gone=None,
            )
            known[made.number] = recorded(made)
            if not isinstance(made.outcome, Refusal | Eviction):
                last[key] = recorded(made)


def recorded(made: Decision) -> Recorded:
    return Recorded(f"{made.fleet}/{made.incarnation}/{made.number}", "", made, record(made))


def wanted(made: Decision) -> str:
    match made.outcome:
        case Refusal(wanted=kind):
            return kind
        case Eviction():
            return "allocation"
        case outcome:
            return outcome.kind


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_whatever_a_page_comes_to_is_told(path: Path) -> None:
    history = lived(path.read_text(encoding="utf-8"))

    for of in derivations(history):
        again = telling.questions(of)

        assert [one.differs for one in again if one.differs] == [], of.recorded.name
        sections = telling.tell(of, again)
        assert {"asked", "steps", "changed", "caused_by"} <= set(sections.told())
        for name, lines in page(sections):
            for line in lines:
                assert len(line) <= WIDTH or "  " in line.strip() or "echo " in line, (name, line)


def test_what_counts_as_used_before_is_told() -> None:
    history = lived((SCENARIOS / "past-use.txt").read_text("utf-8"))
    charged = next(
        of
        for of in derivations(history)
        if isinstance(made := of.decision.outcome, Allocation) and made.round.past
    )

    known = telling.tell(charged, telling.questions(charged)).known

    assert "for past use 3870m of cpu counted on top of what ml held in gold" in known


def test_the_pages_come_to_decisions_of_every_kind() -> None:
    kinds: Counter[str] = Counter()
    for path in PAGES:
        for of in derivations(lived(path.read_text(encoding="utf-8"))):
            kinds[of.decision.kind] += 1

    assert set(kinds) == {
        "allocation",
        "capacity_class",
        "deployment",
        "disk_placement",
        "division",
        "eviction",
        "incident",
        "proposal",
        "refusal",
        "repair",
    }


def test_an_eviction_is_told_with_every_vote() -> None:
    history = lived((SCENARIOS / "preempt.txt").read_text(encoding="utf-8"))
    (of,) = [one for one in derivations(history) if one.decision.kind == "eviction"][:1]

    told = "\n".join(telling.tell(of, []).steps)

    assert "task 2 left m1/n1 for a/poor task 1, by evictions in its queue" in told
    assert "drf grants task 2: by job, 1/2 against 1/2, before that 3/4" in told
    assert "conformance grants task 3" in told
