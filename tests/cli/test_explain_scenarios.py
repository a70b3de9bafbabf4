"""Whatever the scenario pages come to can be told, and every division comes out again from its record.

Here nothing is read from a log: what a derivation reads is taken from the history of the page, without
the events that tell wishes. So the caps of a division are those of its record.
"""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from ledger.cli.explain import disks, telling, words
from ledger.cli.explain.derivation import Derivation
from ledger.cli.explain.sections import LOSERS_TOLD, WIDTH, page, why_lost
from ledger.facts.allocation import Allocation
from ledger.facts.decision import Decision, Outcome, record
from ledger.facts.deployment import Deployment
from ledger.facts.disk_placement import DiskPlacement
from ledger.facts.division import Division
from ledger.facts.eviction import Eviction
from ledger.facts.proposal import Proposal
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


def sections(page_name: str, number: int) -> dict[str, list[str]]:
    """What is told of a decision of a page."""
    history = lived((SCENARIOS / f"{page_name}.txt").read_text("utf-8"))
    (of,) = [one for one in derivations(history) if one.decision.number == number]
    return telling.tell(of, telling.questions(of)).told()


def test_a_refused_job_goes_on_with_the_tasks_that_run() -> None:
    assert sections("preempt", 5)["last_result"] == [
        "#0 at position 4 (allocate) goes on as far as its tasks still run"
    ]


def test_who_took_no_part_did_not_lose_to_a_stronger_claim() -> None:
    told = [
        line
        for of in derivations(lived((SCENARIOS / "aggregated.txt").read_text("utf-8")))
        for line in telling.tell(of, []).losers
        if of.decision.branch != "keep"
    ]

    assert [line for line in told if line.endswith("others had room enough (no_part)")]
    assert not [line for line in told if "stronger claim" in line]


def test_numbers_of_instances_are_not_taken_for_how_many() -> None:
    told = [
        line
        for of in derivations(lived((SCENARIOS / "deploy-losses.txt").read_text("utf-8")))
        for line in telling.tell(of, []).steps
        if line.startswith(("given up: ", "lost and still"))
    ]

    assert told
    assert all(re.search(r": numbers? [0-9]", line) for line in told)


def test_what_changed_in_place_says_what_it_was() -> None:
    told = [
        line
        for of in derivations(lived((SCENARIOS / "deploy-edits.txt").read_text("utf-8")))
        for line in telling.tell(of, []).steps
    ]

    assert [line for line in told if line.startswith("changed where they are: ")]


def test_so_many_on_each_node_are_no_share() -> None:
    asked = sections("deploy-fill", 0)["asked"]

    assert asked[1] == "FILL brings each node that it chooses to its count, whatever the share is"


def test_what_was_kept_says_so_and_not_that_nobody_knows() -> None:
    said: dict[str, set[str]] = {"without asking": set(), "filled": set()}
    for name in ("deploy-fill", "deploy-edits", "deploy-losses", "deploy-auto"):
        for of in derivations(lived((SCENARIOS / f"{name}.txt").read_text("utf-8"))):
            made = of.decision.outcome
            if isinstance(made, Deployment) and of.decision.branch == "keep":
                how = "filled" if made.asked else "without asking"
                said[how] |= set(telling.tell(of, []).known)

    assert said == {
        "without asking": {"no node was looked at: what was there was kept"},
        "filled": {
            "what was there was kept: each node that the rule chooses has its count already"
        },
    }
    assert sections("deploy-fill", 2)["last_result"][0] == "#1 at position 5: 6 instances by FILL"


def test_a_proposal_says_what_would_move_and_what_there_is_to_approve() -> None:
    proposed = [
        of
        for of in derivations(
            lived((SCENARIOS / "proposals-of-deployments.txt").read_text("utf-8"))
        )
        if isinstance(of.outcome, Proposal)
    ]

    for of in proposed:
        told = telling.tell(of, [])
        assert isinstance(of.outcome, Proposal)
        assert all(line.split()[1] == "instance" for line in told.steps[: len(of.outcome.moves)])
        nothing = told.changed[0] == "nothing: there is nothing to be approved"
        assert nothing == (not of.outcome.moves)
    assert any(of.decision.branch == "proposed" for of in proposed)
    assert any(of.decision.branch == "nothing_to_move" for of in proposed)


def test_every_code_of_the_pages_has_words() -> None:
    """A code by itself is told where no words are known; here there is none."""
    bare = set()
    for path in PAGES:
        for of in derivations(lived(path.read_text(encoding="utf-8"))):
            outcome, branch = of.decision.outcome, of.decision.branch
            if not telling.heading(of)[1].startswith(f"{branch}: "):
                bare.add(branch)
            if isinstance(outcome, Refusal):
                told = words.SHORT_OF.get(outcome.reason)
                if told is None and " " not in outcome.reason:
                    bare.add(outcome.reason)
            for _, code in named(outcome):
                if why_lost(code, LOSERS_TOLD).startswith(code.partition(" ")[0]):
                    bare.add(code)
            if isinstance(outcome, DiskPlacement):
                bare |= {step.rule for step in outcome.steps} - disks.RULES.keys()
                bare |= {step.rung for step in outcome.steps} - disks.RUNGS.keys()

    assert not bare


def named(outcome: Outcome) -> Iterator[tuple[str, str]]:
    """Those who lost in an outcome, with their codes."""
    match outcome:
        case DiskPlacement(steps=steps):
            for step in steps:
                yield from step.losers.named
        case Deployment(losers=lost) | Division(losers=lost):
            yield from lost.named
        case Refusal(losers=lost, wanted=wanted) if wanted != "proposal":
            yield from lost.named
        case _:
            return


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_what_changed_is_told_against_the_last_result(path: Path) -> None:
    for of in derivations(lived(path.read_text(encoding="utf-8"))):
        named = [
            int(found[1])
            for line in telling.tell(of, []).changed
            if (found := re.match(r"against #([0-9]+) ", line))
        ]

        assert named == ([] if of.last is None else [of.last.decision.number]), of.recorded.name


RESIZED = """\
cluster m1
workload shop/db {first} strategy=none cluster=m1 kind={kind} deploy=AUTO available=2 @memory=1
workload shop/db {second} strategy=none cluster=m1 kind={kind} deploy=AUTO available=2 @memory=1
----
"""


@pytest.mark.parametrize(
    ("kind", "first", "second", "changed"),
    [
        ("StatefulSet", 3, 1, "the lowest 2 -> its one pod"),
        ("StatefulSet", 1, 3, "its one pod -> the lowest 2"),
        ("Deployment", 1, 4, "its one pod -> 2 of them"),
        ("Deployment", 4, 1, "2 of them -> its one pod"),
    ],
)
def test_a_target_of_another_mode_is_told_in_its_own(
    kind: str, first: int, second: int, changed: str
) -> None:
    history = lived(RESIZED.format(kind=kind, first=first, second=second))
    targets = [one for one in derivations(history) if one.decision.kind == "capacity_class"]

    told = telling.tell(targets[-1], [])

    before = changed.partition(" -> ")[0]
    assert (told.last_result, told.changed[0]) == ([before], changed)


def test_a_proposal_that_nobody_needs_any_more_does_not_say_that_something_is_lacking() -> None:
    assert sections("repairs-of-pods", 6)["caused_by"][0] == "too few are on on-demand nodes."
    assert sections("repairs-of-pods", 7)["caused_by"][0] == (
        "there were too few on on-demand nodes, and now there are enough."
    )


WITHOUT_NODES = """\
cluster m1
policy round.max_events=1
queue q
job a/one 3 queue=q @cpu=1
----
"""


def test_a_queue_that_deserves_nothing_says_that_this_is_why_its_jobs_wait() -> None:
    (of,) = derivations(lived(WITHOUT_NODES))

    told = telling.tell(of, []).steps

    assert told[:3] == [
        "its queue has all it deserves (queue_overused).",
        "numbers: waiting 3",
        "that is nothing: there is nothing to share out, or nothing of it for this queue",
    ]
    assert "that is nothing" not in "\n".join(sections("why-jobs-wait", 1)["steps"])


def test_a_surplus_that_is_over_does_not_say_that_there_are_too_many() -> None:
    over = [
        "\n".join(telling.tell(of, []).caused_by)
        for path in PAGES
        for of in derivations(lived(path.read_text(encoding="utf-8")))
        if isinstance(made := of.decision.outcome, Proposal)
        and made.what == "surplus"
        and not made.before
    ]

    assert over
    assert {told.splitlines()[0] for told in over} == {
        "there were more on-demand than are due, and now there are not."
    }
