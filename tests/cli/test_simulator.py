"""The invented fleet: the same for the same seed, always acceptable, and as lively as was asked."""

import json
from collections import Counter
from itertools import pairwise

import pytest

from ledger.cli.simulator.history import Simulation
from ledger.cli.simulator.life import Mix
from ledger.events.codec import Accepted, accept_line
from ledger.log.lines import FAMILIES

RAISED = 1 + 6 * (1 + 2 * 4) + 40 + 40
"""More events than it takes to raise the default fleet."""


def test_the_same_seed_tells_the_same_history() -> None:
    assert list(Simulation(7).events(2000)) == list(Simulation(7).events(2000))


def test_another_seed_tells_another_history() -> None:
    assert list(Simulation(7).events(200)) != list(Simulation(8).events(200))


def test_asking_in_parts_tells_the_same_as_asking_at_once() -> None:
    in_parts = Simulation(7)

    parts = [*in_parts.events(1), *in_parts.events(499), *in_parts.events(500)]

    assert parts == list(Simulation(7).events(1000))


def test_no_hash_seed_shows_in_a_history() -> None:
    first = next(iter(Simulation(7).events(1)))

    assert json.loads(first)["id"] == "28b88073-065b-8c35-64e2-76027c73b6c9"


def test_every_event_is_accepted_and_has_an_identity_of_its_own() -> None:
    verdicts = [accept_line(event, families=FAMILIES) for event in Simulation(7).events(5000)]

    assert all(isinstance(verdict, Accepted) for verdict in verdicts)
    identities = {verdict.identity for verdict in verdicts if isinstance(verdict, Accepted)}
    assert len(identities) == len(verdicts)


def test_time_only_moves_forward() -> None:
    times = [json.loads(event)["time"] for event in Simulation(7).events(3000)]

    assert all(earlier < later for earlier, later in pairwise(times))


def test_every_family_of_a_fleet_speaks() -> None:
    topics = Counter(message.topic for message in Simulation(7).messages(5000))

    assert topics.keys() == {f"ledger.{name}" for name in ("cluster", "workload", "quota", "disk")}


def test_a_message_goes_to_its_fleets_key() -> None:
    (message,) = Simulation(7, fleet="north").messages(1)

    assert message.key == b"north"
    assert json.loads(message.value)["fleet"] == "north"


def test_a_mix_of_reports_only_changes_nothing_that_is_divided() -> None:
    simulation = Simulation(7, mix=Mix(reports=1, changes=0, decisions=0))
    list(simulation.events(RAISED))

    kinds = {json.loads(event)["type"].split(".")[2] for event in simulation.events(1000)}

    assert kinds == {"pod", "replicaset", "job"}


def test_clusters_that_are_lost_come_back() -> None:
    simulation = Simulation(7, mix=Mix(reports=0, changes=0, decisions=1))
    ready: dict[str, list[bool]] = {}

    for event in map(json.loads, simulation.events(20_000)):
        if event["type"] == "ledger.cluster.cluster.upserted.v1":
            ready.setdefault(event["subject"], []).append(event["data"]["ready"])
        elif event["type"] == "ledger.cluster.cluster.removed.v1":
            ready[event["subject"]].append(False)

    assert all(any(states) and not all(states) for states in ready.values())
    back = [later for states in ready.values() for now, later in pairwise(states) if not now]
    assert back.count(True) > len(back) / 2


def test_trouble_comes_beside_the_good_events_and_leaves_them_as_they_are() -> None:
    good = list(Simulation(7).events(1000))

    troubled = list(Simulation(7, mix=Mix(trouble=100)).events(1500))

    remaining = iter(troubled)
    assert all(event in remaining for event in good), "the good ones are all there, in their order"


def test_trouble_is_of_every_kind_that_the_log_sets_aside() -> None:
    verdicts = [
        accept_line(event, families=FAMILIES)
        for event in Simulation(7, mix=Mix(trouble=200)).events(3000)
    ]

    reasons = {verdict.reason for verdict in verdicts if not isinstance(verdict, Accepted)}
    accepted = [verdict for verdict in verdicts if isinstance(verdict, Accepted)]
    contents: dict[bytes, set[bytes]] = {}
    for verdict in accepted:
        contents.setdefault(verdict.identity, set()).add(verdict.digest)
    assert reasons == {"not_json", "unknown_version"}
    assert any(len(digests) > 1 for digests in contents.values()), "a conflict"
    assert len(contents) < sum(map(len, contents.values())) < len(accepted), "and duplicates"


@pytest.mark.parametrize(("clusters", "nodes", "workloads"), [(1, 1, 1), (2, 1, 3), (20, 2, 5)])
def test_any_fleet_can_be_raised_and_lives(clusters: int, nodes: int, workloads: int) -> None:
    simulation = Simulation(3, clusters=clusters, nodes=nodes, workloads=workloads)

    events = list(simulation.events(3000))

    assert len(events) == 3000
    assert len({json.loads(e)["subject"] for e in events}) > clusters * (1 + 2 * nodes)
