"""The worked examples in docs/core/disk.md are true: each is read from the page, asked, compared."""

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pytest

from ledger.core.disk.affinity import Replica
from ledger.core.disk.choice import Choice, Scope, choose
from ledger.core.disk.rebalance import Stock, Stored, plan
from ledger.core.disk.scheduling import Drive, Node, Placed, Rules, Situation, Volume, schedule
from ledger.core.disk.space import Disk, Limits, Space, fits
from ledger.units import NodeName
from tests.core.worked import Lines, counts, examples, listed, pairs


@pytest.mark.parametrize(("asked", "answered"), examples("disk.md"))
def test_an_example_comes_out_as_written(asked: Lines, answered: Lines) -> None:
    [answer] = [ANSWERS[word] for word in ANSWERS if word in asked]

    said = dict(answer(asked))

    assert answered, "an example says something"
    assert {word: said.get(word) for word in answered} == answered


def chosen(asked: Lines) -> Iterator[tuple[str, str]]:
    assert asked.keys() <= {"choose", "size", "alpha", "scope"}
    scope: Scope = "candidates" if asked.get("scope") == "candidates" else "node"
    choice = choose(
        disks(asked["choose"]), size=int(asked["size"]), alpha=Fraction(asked["alpha"]), scope=scope
    )
    assert isinstance(choice, Choice)
    yield "nodes", listed(choice.node_scores)
    yield "disks", listed(choice.disk_scores)
    yield "pick", f"{choice.disk.node}/{choice.disk.name}"
    yield "rule", choice.rule
    stages = [stage for stage in (choice.node_stage, choice.disk_stage) if stage is not None]
    yield "decided", " ".join(stage.decided_by() for stage in stages if stage.feasible)


def fitted(asked: Lines) -> Iterator[tuple[str, str]]:
    assert asked.keys() <= {"fits", "size", "actual"}
    short = fits(
        Space(**counts(asked["fits"])),
        Limits(),
        size=int(asked["size"]),
        actual=int(asked["actual"]),
    )
    yield "fits", "yes" if short is None else f"{short.code} {short.value} {short.bound}"


def placed(asked: Lines) -> Iterator[tuple[str, str]]:
    assert asked.keys() <= {"place", "size", "nodes", "disks", "replicas", "rules"}
    rules: dict[str, Any] = {name: value == "yes" for name, value in pairs(asked.get("rules", ""))}
    replicas = []
    for name, where in pairs(asked["replicas"]):
        address, _, state = where.partition("(")
        node, disk = address.split("/")
        evicting = state == "evicting)"
        replicas.append(Replica(name=name, node=NodeName(node), disk=disk, evicting=evicting))
    situation = Situation(
        volume=Volume(size=int(asked["size"])),
        nodes=[
            node_with(disks(asked["disks"]), name, zone)
            for name, zone in (node.split("@") for node in asked["nodes"].split())
        ],
        rules=Rules(**rules),
    )
    for step in schedule(situation, replicas, asked["place"].split()):
        if isinstance(step, Placed):
            found = step.choice.disk
            yield step.replica, f"{step.rungs[-1].name} {found.node}/{found.name}"
        else:
            by = {name for rung in step.rungs for kept in rung.kept for name in kept.by}
            yield step.replica, f"{step.code}: {' '.join(sorted(by))}"


def planned(asked: Lines) -> Iterator[tuple[str, str]]:
    assert asked.keys() <= {"plan", "alpha", "moves", "replicas", "measure"}
    volumes, stored = {}, []
    for volume, lies in pairs(asked["replicas"]):
        size, _, address = lies.partition("@")
        node, disk = address.split("/")
        volumes[volume] = Volume(size=int(size))
        stored.append(Stored(volume, Replica(name=volume, node=NodeName(node), disk=disk)))
    all_disks = disks(asked["plan"])
    stock = Stock(
        nodes=[node_with(all_disks, disk.node, "", frozenset(volumes)) for disk in all_disks],
        volumes=volumes,
        stored=stored,
        rules=Rules(alpha=Fraction(asked["alpha"]), limits=Limits(min_available_pct=0)),
    )
    found = plan(
        stock,
        max_moves=int(asked["moves"]),
        measure="spread" if asked.get("measure") == "spread" else "balance",
    )
    yield "before", str(found.before)
    for number, move in enumerate(found.moves):
        source, target = "/".join(move.source), "/".join(move.target)
        yield str(number + 1), f"{move.volume} {source} {target} {move.score}"
    yield "after", str(found.after)
    yield "ended", found.ended


ANSWERS = {"choose": chosen, "fits": fitted, "place": placed, "plan": planned}


def disks(text: str) -> list[Disk]:
    """Disks of the given usable bytes and totals; what is not usable is promised."""
    found = []
    for address, amounts in pairs(text):
        node, name = address.split("/")
        usable, total = map(int, amounts.split("/"))
        found.append(
            Disk(
                node=NodeName(node),
                name=name,
                maximum=total,
                available=total,
                scheduled=total - usable,
            )
        )
    return found


def node_with(
    all_disks: list[Disk], name: str, zone: str, booked: frozenset[str] = frozenset()
) -> Node:
    return Node(
        name=NodeName(name),
        zone=zone,
        drives=[
            Drive(disk=disk, scheduled_replicas=booked) for disk in all_disks if disk.node == name
        ],
    )
