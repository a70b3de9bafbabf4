"""``ledger simulate``: an invented history goes where it was asked to go, and nowhere else."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from ledger.cli.commands import as_asked
from ledger.cli.simulator.history import Simulation
from ledger.cli.simulator.sizes import Mix, Shares, Sizes


def simulate(*words: str, code: int = 0, url: str = "") -> Result:
    answer = CliRunner().invoke(
        as_asked(["simulate"]), ["simulate", *words], env={"LEDGER_DATABASE_URL": url}
    )
    assert answer.exit_code == code, (words, answer.output, answer.exception)
    return answer


def lines_of(simulation: Simulation, count: int) -> bytes:
    return b"".join(event + b"\n" for event in simulation.events(count))


def test_a_file_holds_the_history_of_its_seed(tmp_path: Path) -> None:
    file = tmp_path / "history.jsonl"

    told = simulate(str(file), "--events", "500", "--seed", "7", "--fleet", "north", "--json")

    assert file.read_bytes() == lines_of(Simulation(7, fleet="north"), 500)
    counts = json.loads(told.stdout)
    assert counts["events"] == 500
    assert sum(counts["by_topic"].values()) == 500


def test_without_a_file_the_lines_are_the_output_and_the_counts_are_aside() -> None:
    told = simulate("--events", "300")

    assert told.stdout_bytes == lines_of(Simulation(1), 300)
    assert "ledger.cluster" in told.stderr
    assert "ledger.cluster" not in simulate("--events", "1", "--json").stdout


def test_every_size_share_and_part_of_the_mix_can_be_said(tmp_path: Path) -> None:
    file = tmp_path / "history.jsonl"
    sizes = {
        *("--clusters 2", "--nodes 3", "--workloads 9", "--namespaces 2", "--queues 4"),
        *("--disks 2", "--volumes 5", "--replicas 90"),
    }
    shares = {"--spot 1", "--pieces 2", "--batch 30", "--stateful 40", "--placed 50"}
    mix = {"--reports 5", "--changes 3", "--decisions 2", "--late 100", "--trouble 50"}
    words = [word for option in sorted(sizes | shares | mix) for word in option.split()]

    simulate(str(file), *words, "--events", "1000")

    assert file.read_bytes() == lines_of(
        Simulation(
            1,
            sizes=Sizes(2, 3, 9, 2, 4, 2, 5, 90),
            shares=Shares(1, 2, 30, 40, 50),
            mix=Mix(5, 3, 2, 100, 50),
        ),
        1000,
    )


def test_unless_told_otherwise_a_history_goes_on_for_a_while_after_the_fleet_stands() -> None:
    told = simulate()

    assert told.stdout_bytes.count(b"\n") == Simulation(1).opening + 3000


def test_a_history_can_go_into_the_log(database_url: str) -> None:
    simulate("--log", "--events", "400", "--clock", "event", url=database_url)
    answer = CliRunner().invoke(
        as_asked(["decide"]),
        ["decide", "--until-idle", "--json"],
        env={"LEDGER_DATABASE_URL": database_url},
    )

    decided = json.loads(answer.stdout)
    assert decided["events"] >= 400
    assert decided["decisions"] > 0


@pytest.mark.parametrize(
    "words",
    [
        ("--log", "--kafka"),
        ("history.jsonl", "--kafka"),
        ("--reports", "0", "--changes", "0", "--decisions", "0"),
        ("--replicas", "3"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_happens(words: tuple[str, ...]) -> None:
    assert simulate(*words, code=64).stdout == ""


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    told = simulate(str(tmp_path / "not" / "there.jsonl"), code=78)

    assert "there.jsonl: No such file or directory" in told.stderr.replace("\n", "")

    told = simulate("/dev/full", code=78)

    assert "/dev/full: No space left on device" in told.stderr.replace("\n", "")
