"""``ledger bench engine`` measures what it says. How fast the engine is, is asked by running it."""

import json
from typing import Any

import pytest
from typer.testing import CliRunner

from ledger.cli.bench import engine_history
from ledger.cli.bench.engine_finding import Bar, Finding
from ledger.cli.bench.engine_memory import in_memory
from ledger.cli.bench.engine_nodes import node_events
from ledger.cli.bench.engine_size import LARGEST, told
from ledger.cli.bench.main import app
from ledger.cli.commands import MISUSED
from ledger.cli.simulator.sizes import Sizes
from ledger.log.folding import event as decoded

SAID_BY_ALL = {"bench", "part", "bars", "kept", "python", "postgres", "cores", "load_before"}


def bench(*words: str, code: int | None = None) -> list[dict[str, Any]]:
    answer = CliRunner().invoke(app, ["engine", "--quick", "--json", *words])
    assert answer.exit_code == (code or 0), answer.output
    return [json.loads(line) for line in answer.stdout.splitlines()]


def test_a_bar_is_kept_at_its_limit_and_missed_beyond_it() -> None:
    assert Bar("speed", 10, at_least=10).kept
    assert not Bar("speed", 9.9, at_least=10).kept
    assert Bar("wait", 10, at_most=10).kept
    assert not Bar("wait", 10.1, at_most=10).kept
    assert "MISSED" in Bar("wait", 10.1, at_most=10).as_text()


def test_a_finding_is_kept_if_every_bar_is() -> None:
    good, bad = Bar("speed", 10, at_least=10), Bar("wait", 11, at_most=10)

    assert Finding("part", "about", {}, [good, good]).kept
    found = Finding("part", "about", {"figure_of_it": 1234}, [good, bad])
    assert not found.kept
    assert found.as_plain()["bars"] == [
        {"figure": "speed", "measured": 10, "at_least": 10, "kept": True},
        {"figure": "wait", "measured": 11, "at_most": 10, "kept": False},
    ]
    assert "figure of it" in found.as_text()
    assert "1,234" in found.as_text()


def test_the_mixed_history_has_the_sizes_that_are_promised() -> None:
    sizes = engine_history.MIXED

    assert (sizes.clusters, sizes.clusters * sizes.nodes, sizes.workloads, sizes.queues) == (
        *(20, 2_000, 5_000, 30),
    )
    assert sizes.clusters * sizes.nodes * sizes.disks == 4_000
    assert (LARGEST.clusters, LARGEST.clusters * LARGEST.nodes, LARGEST.workloads) == (
        *(100, 50_000, 100_000),
    )
    assert LARGEST.replicas == 1_000_000


def test_rows_are_those_of_a_log_on_the_clock_of_its_events() -> None:
    lines = list(engine_history.simulation(Sizes()).events(500))

    rows = list(engine_history.rows(lines, first=7))

    assert [row.position for row in rows] == list(range(7, 507))
    times = [row.recorded_at_micros for row in rows]
    assert times == sorted(times)
    assert [row.payload for row in rows] == lines
    assert all(decoded(row).position == row.position for row in rows)


def test_every_event_of_a_pass_is_counted_once() -> None:
    found = in_memory(engine_history.QUICK, events=1_500, rounds=2)

    assert sum(row["events"] for row in found.table) == 1_500
    assert sum(row["decisions"] for row in found.table) == found.figures["decisions"] > 0
    costs = [row["percent"] for row in found.table]
    assert costs == sorted(costs, reverse=True)
    assert sum(costs) == pytest.approx(100, abs=1)
    assert sum(found.figures["percent_of_time"].values()) == pytest.approx(100, abs=2)


def test_node_events_are_compared_in_three_fleets() -> None:
    found = node_events(rounds=2, quick=True)

    assert [bar.figure for bar in found.bars] == ["ratio", "ratio in one cluster"]
    assert all(bar.measured > 0 for bar in found.bars)


def test_a_large_fleet_is_drawn_stage_by_stage() -> None:
    def lines(stage: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in told(Sizes(replicas=80), stage)]

    opening = lines("opening")
    pods = lines("pods")
    deployed = [
        event["data"]["replicas"]
        for event in opening
        if event["type"] == "ledger.workload.workload.upserted.v1" and "queue" not in event["data"]
    ]
    assert len({pod["subject"] for pod in pods}) == len(pods) == sum(deployed)
    assert min(pod["time"] for pod in pods) > max(event["time"] for event in opening)


@pytest.mark.parametrize("part", ["memory", "nodes", "size", "snapshot"])
def test_a_part_without_a_server_prints_one_line(part: str) -> None:
    (said,) = bench("--part", part)

    assert said.keys() >= SAID_BY_ALL
    assert (said["bench"], said["part"]) == ("engine", part)
    assert said["bars"]


@pytest.mark.parametrize("part", ["size", "snapshot"])
def test_what_fills_the_memory_is_measured_alone(part: str) -> None:
    assert bench("--part", part, "--part", "memory", code=MISUSED) == []


def test_one_fleet_is_raised_for_size_and_snapshot() -> None:
    size, snapshot = bench("--part", "size", "--part", "snapshot")

    assert (size["part"], snapshot["part"]) == ("size", "snapshot")
    assert size["events"] == snapshot["events"]


def test_a_missed_bar_is_an_exit_code_if_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ledger.cli.bench.engine_nodes.MOST", 0)

    assert not bench("--part", "nodes")[0]["kept"]
    assert not bench("--part", "nodes", "--check", code=1)[0]["kept"]
