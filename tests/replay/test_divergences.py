"""Whatever is wrong with the program or with a record, the first place where it shows is named.

A history is decided by the program as it is. Then one fault is planted, in the program or in what
was recorded, and the history is recomputed. Where it must show first is found without replaying:
the faulty program decides the whole history by itself, and the lists are laid side by side.
"""

import json
import random
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from ledger.cli.bench.engine_history import rows
from ledger.cli.simulator.history import Simulation
from ledger.cli.simulator.sizes import Sizes
from ledger.core import lot
from ledger.core.capacity import cpu
from ledger.core.disk import ground, space
from ledger.core.division import dynamic, webster
from ledger.core.placement import place
from ledger.core.spot import target
from ledger.decisions import columns, decide, deployment, division, room, versions
from ledger.decisions.step import advance
from ledger.events.codec import CONTRACT_REVISION
from ledger.facts.decision import record
from ledger.facts.genesis import born
from ledger.log import merkle
from ledger.log.decisions import StoredDecision
from ledger.log.folding import event
from ledger.log.history import Decided
from ledger.log.read import StoredEvent
from ledger.reducers import (
    deadlines,
    outcomes,
    pods,
    policies,
    volumes,
    workloads,
)
from ledger.reducers.registry import Versions
from ledger.reducers.world import World, begin
from ledger.replay import comparing, slices
from ledger.replay.recomputing import Recomputed, recompute
from ledger.replay.reducing import Candidates, smallest
from ledger.replay.report import Divergence, Stage
from ledger.replay.segments import START, Segment
from ledger.replay.slices import Slice
from ledger.replay.told_events import RECOVERED
from ledger.units import DecisionNumber, FleetName, Incarnation, Position

FLEET = FleetName("demo")
EVENTS = 400
POLICY = "ledger.policy.policy.changed.v1"

History = list[Decided]
Patch = Callable[[pytest.MonkeyPatch], None]
Edit = Callable[[History], int]
"""Changes what was recorded; the position at which that must show."""


def beginning() -> World:
    return begin(born(FLEET, salt=None, revision=CONTRACT_REVISION), incarnation=Incarnation(1))


@pytest.fixture(scope="module")
def history() -> History:
    """Events of every family, in which most kinds of decisions are made, with their decisions."""
    sizes = Sizes(clusters=4, nodes=2, workloads=40, disks=2)
    simulation = Simulation(8, fleet=FLEET, sizes=sizes)
    opened = simulation.opening
    told = [orjson.loads(line) for line in simulation.events(EVENTS - 1)]
    policy = next(one for one in told if one["type"] == POLICY)
    more = {"id": "more", "time": told[opened]["time"], "data": {"fairshare": {"preempt": True}}}
    told.insert(opened, policy | more)
    return decided(rows(orjson.dumps(one) for one in told))


@pytest.fixture(autouse=True)
def nothing_kept() -> Iterator[None]:
    """What is kept from question to question was worked out by a program that another fault was planted in."""
    forget()
    yield
    forget()


def forget() -> None:
    """Begin anew with everything that the pure rooms keep."""
    for name in sorted(sys.modules):
        if name.startswith(("ledger.core.", "ledger.decisions.", "ledger.reducers.")):
            for kept in vars(sys.modules[name]).values():
                if hasattr(kept, "cache_clear"):
                    kept.cache_clear()


def decided(told: Iterable[StoredEvent]) -> History:
    """Events with the decisions that are made on each."""
    world = beginning()
    found: History = []
    for row in told:
        step = advance(world, event(row))
        world = step.world
        found.append((row, [stored(record(one)) for one in step.decisions]))
    return found


def stored(spelled: bytes) -> StoredDecision:
    told = json.loads(spelled)
    return StoredDecision(
        DecisionNumber(told["number"]),
        Position(told["position"]),
        spelled,
        merkle.leaf_hash(spelled),
    )


async def pages(history: History) -> AsyncIterator[list[Decided]]:
    for first in range(0, len(history), 100):
        yield history[first : first + 100]


async def replayed(history: History) -> Recomputed:
    segment = Segment(0, None, Position(len(history) - 1), None, START)
    return await recompute(pages(history), beginning(), segment, subject=None, go_on=lambda _: True)


def first_unlike(history: History) -> int:
    """Where what the program makes by itself first differs; it goes on with what it made."""
    world = beginning()
    for row, decisions in history:
        try:
            step = advance(world, event(row))
            made = [vars(comparing)["record"](one) for one in step.decisions]
        except Exception:  # noqa: BLE001 - that it fails is what was planted
            return row.position
        if made != [one.record for one in decisions]:
            return row.position
        world = step.world
    raise AssertionError("this fault does not show in this history")


async def sliced(
    history: History, done: Recomputed, *, most: int = 600, folded: list[int] | None = None
) -> Slice:
    """Cut with little effort: slices need not be as small as they can be for each of so many faults."""
    assert done.evidence is not None
    assert done.trouble is not None
    found = Candidates(done.evidence)
    await found.gather(pages(history))
    counted: list[int] = [] if folded is None else folded
    return smallest(found, done.trouble, most=most, on_folded=counted.append)


def test_nothing_is_found_where_nothing_is_wrong(history: History) -> None:
    kinds = {json.loads(one.record)["kind"] for _, made in history for one in made}
    assert kinds >= {"division", "deployment", "allocation", "disk_placement", "refusal"}
    assert {"capacity_class"} <= kinds


@dataclass(frozen=True, slots=True)
class Fault:
    name: str
    stages: frozenset[Stage]
    plant: Patch


def changed(owner: Any, name: str, to: Any) -> Patch:
    """Something in a module is something else."""
    return lambda patch: patch.setattr(owner, name, to)


def builtin(module: Any, name: str, to: Any) -> Patch:
    """A module has a builtin of its own, as if each use in it were spelled otherwise."""
    return lambda patch: patch.setattr(module, name, to, raising=False)


def backwards(values: Any, **how: Any) -> list[Any]:
    return sorted(values, **how)[::-1]


def by_ends(values: Any, **how: Any) -> list[Any]:
    """An order that depends on nothing but the text, and is not that of names: as a set's might be."""
    return sorted(sorted(values, **how), key=lambda one: repr(one)[::-1])


def failing(*_: Any, **__: Any) -> Any:
    return 1 // 0


def nothing(world: World, *_: Any, **__: Any) -> World:
    return world


def other_rules(system: Versions[Any], **rules: Any) -> Patch:
    def plant(patch: pytest.MonkeyPatch) -> None:
        patch.setitem(system._known, 1, replace(system.of(1), **rules))

    return plant


def second_version(patch: pytest.MonkeyPatch) -> None:
    """The same rule under another number, which no policy asked for."""
    patch.setitem(versions.DIVISION._known, 2, versions.DIVISION.of(1))
    honest = division.given
    patch.setattr(division, "given", lambda *told: replace(honest(*told), version=2))


def without_latest(patch: pytest.MonkeyPatch) -> None:
    honest = outcomes.decided

    def careless(world: World, decision: Any) -> World:
        return replace(honest(world, decision), latest=world.latest)

    patch.setattr(outcomes, "decided", careless)


def twice_as_late(now: int, milliseconds: int) -> int:
    return now + 2 * milliseconds * 1000


def room_by_float(patch: pytest.MonkeyPatch) -> None:
    honest = vars(division)["available"]

    def floating(*told: Any) -> Any:
        return {name: most * 1.0 for name, most in honest(*told).items()}

    patch.setattr(division, "available", floating)


def one_more(patch: pytest.MonkeyPatch) -> None:
    honest = vars(division)["available"]

    def generous(*told: Any) -> Any:
        return {name: most + 1 for name, most in honest(*told).items()}

    patch.setattr(division, "available", generous)


def float_in_a_question(patch: pytest.MonkeyPatch) -> None:
    honest: Any = division.spelled
    patch.setattr(
        division,
        "spelled",
        lambda one: {**honest(one), "replicas": float(one.request.replicas)},
    )


def memory_by_float(patch: pytest.MonkeyPatch) -> None:
    honest = vars(room)["memory_capacity"]
    patch.setattr(room, "memory_capacity", lambda **told: round(honest(**told) * 0.7))


def stale_policy(patch: pytest.MonkeyPatch) -> None:
    honest = policies.changed
    patch.setattr(
        policies,
        "changed",
        lambda world, fact: replace(honest(world, fact), policy_digest=world.policy_digest),
    )


def float_fold(number: int, bits: int, total: int) -> int | None:
    return min(total - 1, int(number / 2**bits * total))


def of_the_moment(patch: pytest.MonkeyPatch) -> None:
    honest = lot._stem
    patch.setattr(lot, "_stem", lambda one: honest(one) + b"%d" % time.monotonic_ns())


def moment_in_the_question(patch: pytest.MonkeyPatch) -> None:
    honest: Any = division.spelled
    patch.setattr(division, "spelled", lambda one: {**honest(one), "at": time.monotonic_ns()})


def other_spelling(decision: Any) -> bytes:
    return json.dumps(json.loads(record(decision)), sort_keys=True).encode()


def float_spelling(decision: Any) -> bytes:
    return record(decision).replace(b'"moved":0', b'"moved":0.0')


def escaped_spelling(decision: Any) -> bytes:
    return record(decision).replace(b'"fleet":"demo"', b'"fleet":"\\u0064emo"')


def sometimes(patch: pytest.MonkeyPatch) -> None:
    luck = random.Random()
    patch.setattr(lot, "fold", lambda *_: luck.randrange(10**9) % _[2])


def only(*stages: Stage) -> frozenset[Stage]:
    return frozenset(stages)


FAULTS = [
    Fault("a constant of the lot", only("answer"), changed(lot, "LABEL", "kdiv2")),
    Fault("a lot folded by a float", only("answer"), changed(lot, "fold", float_fold)),
    Fault("a lot over names in another order", only("answer"), builtin(lot, "sorted", by_ends)),
    Fault("a lot that looks at the clock", only("chance"), of_the_moment),
    Fault("luck in place of a lot", only("chance"), sometimes),
    Fault("the clock in a question", only("chance"), moment_in_the_question),
    Fault(
        "a dropped tie-break between equal claims",
        only("answer"),
        changed(webster, "names_descend", lambda _: True),
    ),
    Fault("clusters in the order of a set", only("answer"), builtin(dynamic, "sorted", by_ends)),
    Fault(
        "a constant of the target of on-demand pods",
        only("answer"),
        changed(target, "_majority", lambda replicas: replicas),
    ),
    Fault(
        "losers that are not told",
        only("answer"),
        other_rules(versions.PLACEMENT, passed_by=lambda *_: "full"),
    ),
    Fault("disks in the order of a set", only("answer"), builtin(ground, "sorted", backwards)),
    Fault("the smaller of two amounts", only("answer"), builtin(space, "max", min)),
    Fault("cores in the order of a set", only("answer"), builtin(cpu, "sorted", backwards)),
    Fault("a rule that fails on some", only("answer"), builtin(place, "min", max)),
    Fault("room by a float, which the core refuses", only("answer"), room_by_float),
    Fault("replicas by a float in a question", only("question"), float_in_a_question),
    Fault("memory by a float", only("question"), memory_by_float),
    Fault("nodes in the order of a set", only("question"), builtin(columns, "sorted", backwards)),
    Fault(
        "questions in another order", only("order", "trigger"), builtin(decide, "sorted", backwards)
    ),
    Fault("a digest of the policy before", only("fold"), stale_policy),
    Fault("one more than there is room for", only("question"), one_more),
    Fault(
        "a last result that is not asked with",
        only("question"),
        changed(division, "_last", lambda *_: None),
    ),
    Fault(
        "a region that is not looked up",
        only("question"),
        changed(division, "_region", lambda *_: ""),
    ),
    Fault(
        "kinds in another order",
        only("order", "trigger"),
        lambda patch: patch.setattr(decide, "_RULES", decide._RULES[::-1]),
    ),
    Fault("a version that no policy names", only("version"), second_version),
    Fault("a decision that is not remembered", only("fold"), without_latest),
    Fault("a reducer that fails", only("fold"), changed(pods, "observed", failing)),
    Fault("a rule that fails", only("answer"), changed(target, "_majority", failing)),
    Fault("a question that fails", only("question"), changed(deployment, "_in_vain", failing)),
    Fault("a deadline that is late", only("trigger"), changed(deadlines, "after", twice_as_late)),
    Fault(
        "edits that ask nothing",
        only("trigger"),
        changed(workloads, "_same_question", lambda *_: True),
    ),
    Fault(
        "edits that always ask",
        only("trigger"),
        changed(workloads, "_same_question", lambda *_: False),
    ),
    Fault("volumes that are not heard of", only("trigger"), changed(volumes, "upserted", nothing)),
    Fault("spaces in a record", only("record"), changed(comparing, "record", other_spelling)),
    Fault("a float in a record", only("record"), changed(comparing, "record", float_spelling)),
    Fault("an escape in a record", only("record"), changed(comparing, "record", escaped_spelling)),
]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
async def test_a_fault_of_the_program_is_found_where_it_shows_first(
    history: History, fault: Fault, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as planted:
        fault.plant(planted)
        expected = first_unlike(history)

        done = await replayed(history)

        assert done.trouble is not None
        assert done.trouble.position == expected
        assert done.trouble.stage in fault.stages
        told(done.trouble)


SLICED = {
    "a constant of the lot",
    "the clock in a question",
    "luck in place of a lot",
    "a version that no policy names",
    "a decision that is not remembered",
    "a question that fails",
    "a rule that fails",
    "a deadline that is late",
    "edits that ask nothing",
    "volumes that are not heard of",
    "spaces in a record",
}
"""One of each way in which programs part; the others in the long form."""


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(one, id=one.name, marks=() if one.name in SLICED else pytest.mark.long)
        for one in FAULTS
    ],
)
async def test_a_slice_shows_the_same_alone(
    history: History, fault: Fault, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with monkeypatch.context() as planted:
        fault.plant(planted)
        done = await replayed(history)
        assert done.trouble is not None

        piece = await sliced(history, done)

        file = tmp_path / "piece.json"
        slices.write(file, piece, done.trouble)
        again, found = slices.read(file)
        assert again == piece
        assert found["position"] == done.trouble.position
        seen = slices.run(again)
        assert seen is not None
        assert (seen.position, seen.trouble) == (done.trouble.position, done.trouble.trouble)
        assert seen.stage == done.trouble.stage
        if done.trouble.stage != "chance":
            assert seen.recomputed_digest == done.trouble.recomputed_digest
    forget()
    assert slices.run(piece) is None, "the program that decided makes what was recorded"


async def test_a_slice_goes_through_lives_as_its_history_did() -> None:
    """Two recoveries, and what was recorded behind each is not what is made."""
    simulation = Simulation(8, fleet=FLEET, sizes=Sizes(clusters=4, nodes=2, workloads=20, disks=2))
    events = list(rows(simulation.events(160)))
    for life, position in ((2, 60), (3, 110)):
        said = {"incarnation": life, "signed": [], "why": "the disk was lost", "by": "anna"}
        payload = orjson.dumps({"type": RECOVERED, "subject": FLEET, "data": said})
        events[position] = events[position]._replace(type=RECOVERED, subject=FLEET, payload=payload)
    for before in (110, len(events)):
        history = decided(events[:before])
        position = place_of(history, divides)
        edited(history, position, put("moved", 99))
        done = await replayed(history)
        assert done.trouble is not None

        piece = await sliced(history, done)

        assert piece.world is None
        assert sum(one.type == RECOVERED for one in piece.events) == (1 if before == 110 else 2)
        seen = slices.run(piece)
        assert seen is not None
        assert (seen.position, seen.trouble) == (position, "decision_differs")


def told(trouble: Divergence) -> None:
    """Everything a reader needs is said."""
    assert trouble.subject is not None
    assert trouble.versions["policy division"] == "1"
    if trouble.trouble == "decision_differs":
        assert trouble.path is not None
        assert trouble.recorded_digest != trouble.recomputed_digest
        assert trouble.versions["recorded"]
        assert trouble.kind


def edited(history: History, position: int, edit: Callable[[list[dict[str, Any]]], object]) -> None:
    """Write the decisions of an event anew, as somebody would who makes the trees fit again."""
    row, decisions = history[position]
    plain = [json.loads(one.record) for one in decisions]
    edit(plain)
    history[position] = (
        row,
        [
            stored(
                json.dumps(one, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
            )
            for one in plain
        ],
    )


def place_of(history: History, fits: Callable[[list[dict[str, Any]]], object]) -> int:
    """The last event with such decisions, so that much lies before it."""
    return next(
        place
        for place in reversed(range(len(history)))
        if history[place][1] and fits([json.loads(one.record) for one in history[place][1]])
    )


def edit(
    name: str,
    stage: Stage,
    fits: Callable[[list[dict[str, Any]]], object],
    change: Callable[[list[dict[str, Any]]], object],
) -> Any:
    def apply(history: History) -> int:
        position = place_of(history, fits)
        edited(history, position, change)
        return position

    return pytest.param(apply, stage, id=name)


def put(member: str, value: Any) -> Callable[[list[dict[str, Any]]], None]:
    return lambda plain: plain[-1].__setitem__(member, value)


def divides(plain: list[dict[str, Any]]) -> bool:
    return bool(plain[-1]["kind"] == "division")


def one_replica_elsewhere(plain: list[dict[str, Any]]) -> None:
    allocation = plain[-1]["result"]["allocation"]
    allocation[max(allocation)] += 1


def other_draws(plain: list[dict[str, Any]]) -> None:
    plain[-1]["lot"]["draws"].append("c9")


def other_epoch(plain: list[dict[str, Any]]) -> None:
    plain[-1]["lot"]["epoch"] += 1


def swapped(plain: list[dict[str, Any]]) -> None:
    one, other = plain[0]["number"], plain[1]["number"]
    plain[0], plain[1] = plain[1], plain[0]
    plain[0]["number"], plain[1]["number"] = one, other


def one_too_many(plain: list[dict[str, Any]]) -> None:
    plain.append(plain[-1] | {"number": plain[-1]["number"] + 1, "subject": "shop/invented"})


EDITS = [
    edit("a share of a division", "answer", divides, one_replica_elsewhere),
    edit("who was drawn", "answer", lambda p: p[-1]["lot"], other_draws),
    edit("which lot was drawn from", "question", lambda p: p[-1]["lot"], other_epoch),
    edit("the digest of what went in", "question", divides, put("inputs", "0" * 64)),
    edit(
        "the decision before", "fold", lambda p: p[-1]["previous"] is not None, put("previous", 0)
    ),
    edit("the policy in force", "fold", divides, put("policy", "0" * 64)),
    edit("the version", "version", divides, put("version", 7)),
    edit("the rule", "version", divides, put("algorithm", "placement")),
    edit("how much moved", "answer", lambda _: True, put("moved", 99)),
    edit("the branch", "answer", divides, put("branch", "keep_it")),
    edit("whom it is about", "trigger", divides, put("subject", "shop/other")),
    edit("a decision dropped", "trigger", lambda _: True, lambda p: p.pop()),
    edit("a decision added", "trigger", lambda _: True, one_too_many),
    edit(
        "two decisions swapped",
        "order",
        lambda p: len(p) > 1 and p[0]["subject"] != p[1]["subject"],
        swapped,
    ),
]


@pytest.mark.parametrize(("apply", "stage"), EDITS)
async def test_an_edited_decision_is_found_though_its_digest_fits(
    history: History, apply: Edit, stage: Stage
) -> None:
    touched = list(history)
    position = apply(touched)

    done = await replayed(touched)

    assert done.trouble is not None
    assert (done.trouble.position, done.trouble.stage) == (position, stage)
    piece = await sliced(touched, done)
    seen = slices.run(piece)
    assert seen is not None
    assert (seen.position, seen.stage) == (position, stage)


async def test_a_version_that_is_gone_is_named(
    history: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(versions.DIVISION._known, 1)

    done = await replayed(history)

    assert done.trouble is not None
    assert (done.trouble.trouble, done.trouble.stage) == ("version_missing", "version")
    first = next(
        place
        for place, (_, made) in enumerate(history)
        if any(json.loads(one.record)["algorithm"] == "division" for one in made)
    )
    assert done.trouble.position is not None
    assert done.trouble.position <= first


async def test_a_slice_is_a_small_part_of_the_history(history: History) -> None:
    """A division needs its workload, its clusters, and what was decided about it before."""

    def division(plain: list[dict[str, Any]]) -> dict[str, Any] | None:
        return next((one for one in plain if one["kind"] == "division" and one["lot"]), None)

    def edit(plain: list[dict[str, Any]]) -> None:
        found = division(plain)
        assert found is not None
        found["moved"] = 99

    touched = list(history)
    position = next(
        place
        for place, (_, made) in enumerate(history)
        if division([json.loads(one.record) for one in made])
    )
    edited(touched, position, edit)
    done = await replayed(touched)

    piece = await sliced(touched, done, most=1_500)

    assert piece.world is None
    assert len(piece.events) < 60
    assert piece == await sliced(touched, done, most=1_500), "it is the same one each time"


@pytest.mark.parametrize("most", [0, 50, 200, 500])
async def test_a_slice_shows_the_same_however_little_may_be_tried(
    history: History, most: int
) -> None:
    touched = list(history)
    position = place_of(touched, divides)
    edited(touched, position, put("moved", 99))
    done = await replayed(touched)
    folded: list[int] = []

    piece = await sliced(touched, done, most=most, folded=folded)

    assert max(folded, default=0) <= most + 1, "the last step comes on top"
    assert folded == sorted(folded)
    seen = slices.run(piece)
    assert seen is not None
    assert (seen.position, seen.stage) == (position, "answer")


def numbers(history: Sequence[Decided]) -> list[int]:
    return [one.number for _, made in history for one in made]


def test_the_history_is_numbered_without_gaps(history: History) -> None:
    assert numbers(history) == list(range(len(numbers(history))))
