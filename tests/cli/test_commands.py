"""The commands as people and scripts meet them: answers, exit codes, words."""

import asyncio
import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import cast

import pytest
from typer.testing import CliRunner, Result

from consumers import __main__ as consuming
from ledger.cli import deciding
from ledger.cli.commands import COMMANDS, as_asked
from ledger.log import fleets, stops
from ledger.log.database import connect, connected
from ledger.log.stops import Stop
from ledger.replay.report import Divergence
from tests.events_for_tests import cluster_line, policy_line, workload_line


class Command:
    """``ledger`` on one database."""

    def __init__(self, database_url: str) -> None:
        self._url = database_url

    def __call__(self, *words: str, code: int = 0, stdin: bytes | None = None) -> Result:
        surroundings = {"LEDGER_DATABASE_URL": self._url, "LEDGER_FLEET_CREATE": "auto"}
        answer = CliRunner().invoke(as_asked(words), list(words), input=stdin, env=surroundings)
        assert answer.exit_code == code, (words, answer.output, answer.exception)
        return answer

    def json(self, *words: str, code: int = 0, stdin: bytes | None = None) -> dict[str, object]:
        said: dict[str, object] = json.loads(self(*words, "--json", code=code, stdin=stdin).stdout)
        return said


@pytest.fixture
def ledger(database_url: str) -> Command:
    return Command(database_url)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "events.jsonl"
    lines = [
        cluster_line(1),
        cluster_line(2),
        workload_line(1, replicas=5, weights={"c1": 2, "c2": 1}),
        b"{",
        cluster_line(1),
        cluster_line(2, data={"name": "c2", "region": "other"}),
    ]
    path.write_bytes(b"\n".join(lines) + b"\n\n")
    return path


def test_ingest_counts_what_became_of_each_line(ledger: Command, file: Path) -> None:
    assert ledger.json("ingest", str(file)) == {
        "appended": 3,
        "duplicate": 1,
        "conflicting": 1,
        "quarantined": 2,
    }


def test_standard_input_is_a_file_too(ledger: Command, file: Path) -> None:
    said = ledger.json("ingest", "-", stdin=file.read_bytes())

    assert said["appended"] == 3


def test_a_fleet_can_be_given_to_events_that_name_none(ledger: Command, tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    nameless = json.loads(cluster_line(1))
    del nameless["fleet"]
    path.write_bytes(json.dumps(nameless).encode() + b"\n" + cluster_line(2, fleet="other"))

    said = ledger.json("ingest", str(path), "--fleet", "mine")

    assert (said["appended"], said["quarantined"]) == (1, 1)


def test_a_missing_file_is_said_in_one_line(ledger: Command) -> None:
    answer = ledger("ingest", "no-such-file", code=78)

    assert "no-such-file: No such file or directory" in answer.stderr
    assert len(answer.stderr.splitlines()) == 1


def test_from_a_file_to_an_answer(ledger: Command, file: Path) -> None:
    ledger("ingest", str(file))

    decided = ledger.json("decide", "--until-idle")
    rows = ledger("sql", "SELECT cluster, count FROM placements ORDER BY cluster", "--json").stdout

    assert decided == {"events": 3, "decisions": 1}
    assert [json.loads(row) for row in rows.splitlines()] == [
        {"cluster": "c1", "count": 3},
        {"cluster": "c2", "count": 2},
    ]


def test_sql_answers_with_a_table_or_csv(ledger: Command, file: Path) -> None:
    ledger("ingest", str(file))

    table = ledger("sql", "SELECT fleet, events, clock FROM fleets WHERE fleet = 'test'").stdout
    csv = ledger(
        "sql", "SELECT fleet, events, clock FROM fleets WHERE fleet = 'test'", "--csv"
    ).stdout

    assert [line.split() for line in table.splitlines()] == [
        ["fleet", "events", "clock"],
        ["test", "3", "wall"],
        ["(1", "row)"],
    ]
    assert csv.split() == ["fleet,events,clock", "test,3,wall"]


@pytest.mark.parametrize(
    "query",
    ["SELECT nothing FROM nowhere", "DROP VIEW placements", "SELECT * FROM ledger.events", "("],
)
def test_a_reader_asks_and_does_nothing_else(ledger: Command, query: str) -> None:
    answer = ledger("sql", query, code=64)

    assert answer.stderr.startswith("ledger: ")
    assert "Traceback" not in answer.output


def test_replay_and_verify_say_roots_and_counts(ledger: Command, file: Path) -> None:
    ledger("ingest", str(file))
    ledger("decide", "--until-idle", "--quiet")

    verified = ledger.json("verify", "--fleet", "test")
    replayed = ledger.json("replay", "--fleet", "test")

    shown = replayed.pop("shown")
    assert isinstance(shown, dict)
    assert shown["proves"]
    assert verified.pop("deep") is False
    assert replayed == verified
    assert (replayed["events"], replayed["decisions"], replayed["diverged"]) == (3, 1, None)
    assert {"event_root", "decision_root"} <= replayed.keys()


def test_verifying_says_whether_it_looked_at_what_people_read(ledger: Command, file: Path) -> None:
    ledger("ingest", str(file))
    ledger("decide", "--until-idle", "--quiet")

    of_test = ("verify", "--fleet", "test")

    assert "is whole; what people read was not looked at" in ledger(*of_test).output
    assert "is whole, and so is what people read" in ledger(*of_test, "--deep").output
    assert ledger.json(*of_test, "--deep")["deep"] is True


def test_what_is_nowhere_is_not_said_to_be_at_none() -> None:
    told = {(None, None): "", (7, None): " at position 7", (7, 3): " at position 7, decision 3"}
    for (position, decision), place in told.items():
        assert Divergence("row_unexpected", position, decision).place == place


def test_an_unknown_fleet_is_said_so(ledger: Command) -> None:
    assert "there is none of this name" in ledger("replay", "--fleet", "nobody", code=78).stderr


def test_of_no_fleet_at_all_nothing_is_verified(ledger: Command) -> None:
    answer = ledger("verify", code=78)

    assert "there is no fleet yet, so there is nothing to verify" in answer.stderr


def test_a_database_that_is_not_there_is_said_so() -> None:
    answer = Command("postgresql://nobody@127.0.0.1:1/none")("status", code=75)

    assert answer.stderr.startswith("ledger: the database: ")
    assert "Traceback" not in answer.output


async def changed(database_url: str, statement: str) -> None:
    connection = await connect(database_url, None)
    try:
        await connection.execute(statement)
    finally:
        await connection.close()


def test_status_adds_the_book_up_where_it_is_asked_to(database_url: str, tmp_path: Path) -> None:
    ledger = Command(database_url)
    path = tmp_path / "events.jsonl"
    path.write_bytes(
        cluster_line(1) + b"\n" + workload_line(1, replicas=5, weights={"c1": 1}) + b"\n"
    )
    ledger("ingest", str(path))
    ledger("decide", "--until-idle", "--quiet")

    assert "book" not in ledger.json("status")
    assert ledger.json("status", "--check")["book"] == []
    assert "the book adds up" in ledger("status", "--check").stdout

    asyncio.run(changed(database_url, "UPDATE ledger.placements SET count = 4"))

    assert ledger.json("status", "--check", code=76)["book"] == [
        {
            "fleet": "test",
            "finding": "replicas_divided",
            "cluster": "c1",
            "node": None,
            "subject": "shop/cart",
            "amount": "replicas",
            "recorded": 5,
            "kept": 4,
        }
    ]
    said = ledger("status", "--check", code=76).stdout
    assert "replicas_divided fleet test, c1/shop/cart replicas: recorded 5, kept 4" in said


def test_status_shows_each_fleet_and_what_waits(ledger: Command, file: Path) -> None:
    ledger("ingest", str(file))

    said = ledger.json("status")

    assert isinstance(said["fleets"], list)
    assert said["fleets"][0]["fleet"] == "test"
    assert said["fleets"][0]["undecided"] == 3
    assert said["quarantined"] == 2
    assert "2 in quarantine" in ledger("status").stdout


def test_status_shows_a_fleet_whose_decisions_are_held(database_url: str, tmp_path: Path) -> None:
    ledger = Command(database_url)
    file = tmp_path / "held.jsonl"
    file.write_bytes(b"\n".join([cluster_line(1), policy_line(1, hold=True)]))
    ledger("ingest", str(file))
    ledger("decide", "--until-idle")

    (held,) = cast("list[dict[str, object]]", ledger.json("status")["fleets"])
    assert held["held_since"] == 1
    assert "test is held: the policy of event 1" in ledger("status").stdout

    file.write_bytes(policy_line(2, hold=False))
    ledger("ingest", str(file))
    ledger("decide", "--until-idle")
    (held,) = cast("list[dict[str, object]]", ledger.json("status")["fleets"])
    assert held["held_since"] is None


def test_who_decides_to_the_end_for_a_fleet_that_is_not_there_is_told(ledger: Command) -> None:
    done = ledger("decide", "--until-idle", "--fleet", "tset", code=78)

    assert "there is no fleet 'tset' here" in done.stderr


def test_whoever_decides_for_a_machine_tells_how_far_it_is(database_url: str, file: Path) -> None:
    ledger = Command(database_url)
    ledger("ingest", str(file))

    done = ledger("decide", "--until-idle", "--json", "--progress", "--log-level", "error")

    assert json.loads(done.stdout) == {"events": 3, "decisions": 1}
    told = [json.loads(line) for line in done.stderr.splitlines()]
    assert told[-1] == {"phase": "decide", "done": 3, "of": 3}
    assert {line["phase"] for line in told} == {"decide"}


def test_a_decider_that_runs_on_tells_a_machine_as_it_goes(database_url: str, file: Path) -> None:
    ledger = Command(database_url)
    ledger("ingest", str(file))
    words = ["decide", "--json", "--database-url", database_url]
    program = [sys.executable, "-m", "ledger.cli.main", *words]
    with subprocess.Popen(
        program, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as running:
        try:
            assert running.stdout is not None
            first = json.loads(running.stdout.readline())
            # It runs on: whoever reads has been told before it ends.
            assert running.poll() is None
        finally:
            running.terminate()
        last = json.loads(running.stdout.read().splitlines()[-1])

    assert first == last == {"events": 3, "decisions": 1}


def test_a_decider_that_was_stopped_before_the_end_does_not_say_it_is_complete(
    database_url: str, tmp_path: Path
) -> None:
    many = 4_000
    path = tmp_path / "many.jsonl"
    path.write_bytes(b"\n".join(cluster_line(number) for number in range(many)))
    Command(database_url)("ingest", str(path))
    words = ["decide", "--until-idle", "--progress", "--quiet", "--batch", "1"]
    program = [sys.executable, "-m", "ledger.cli.main", *words, "--log-level", "error"]
    with subprocess.Popen(
        [*program, "--database-url", database_url],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        try:
            assert running.stderr is not None
            first = json.loads(running.stderr.readline())
        finally:
            running.terminate()
        last = json.loads(running.stderr.read().splitlines()[-1])

    assert first["of"] is None
    assert first["done"] <= last["done"] < last["of"] == many


def test_a_decider_whose_reader_went_ends(database_url: str, file: Path) -> None:
    ledger = Command(database_url)
    ledger("ingest", str(file))
    program = [sys.executable, "-m", "ledger.cli.main", "decide", "--json", "--progress"]
    with subprocess.Popen(
        [*program, "--log-level", "error", "--database-url", database_url],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        try:
            assert running.stdout is not None
            running.stdout.readline()
            running.stdout.close()
            ledger("ingest", "-", stdin=cluster_line(3))
            assert running.wait(timeout=30) == 141
        finally:
            running.terminate()
    status = ledger.json("status")

    (fleet,) = cast("list[dict[str, object]]", status["fleets"])
    assert (fleet["undecided"], fleet["decider"]) == (0, None)


async def stopped(database_url: str) -> None:
    async with connected(database_url, "ledger_writer") as connection:
        fleet = await fleets.named(connection, "test")
        why = Stop("signer", "log_rewound", "3 events were signed, 0 are there")
        await stops.stop(connection, fleet, why)


def test_status_shows_a_stopped_fleet_until_it_is_recovered(database_url: str) -> None:
    ledger = Command(database_url)
    ledger("fleets", "open", "test")
    assert ledger.json("status")["stops"] == []
    asyncio.run(stopped(database_url))

    (stop,) = cast("list[dict[str, object]]", ledger.json("status")["stops"])
    assert stop.pop("stopped_at")
    assert stop == {
        "fleet": "test",
        "incarnation": 1,
        "component": "signer",
        "reason": "log_rewound",
        "detail": "3 events were signed, 0 are there",
        "run": "ledger recover test",
    }
    shown = ledger("status").stdout
    assert "fleet test was stopped by the signer" in shown
    assert "log_rewound (3 events were signed, 0 are there); run `ledger recover test`" in shown

    ledger("recover", "test", "--without-kafka", "--restored", "--yes", "--why", "it was restored")
    assert ledger.json("status")["stops"] == []
    assert "stopped by" not in ledger("status").stdout


def test_a_quarantined_line_can_be_corrected_and_let_in(
    ledger: Command, file: Path, tmp_path: Path
) -> None:
    ledger("ingest", str(file))
    listed = [json.loads(row) for row in ledger("quarantine", "list", "--json").stdout.splitlines()]
    bad = next(row["position"] for row in listed if row["reason"] == "not_json")
    assert ledger("quarantine", "show", str(bad)).stdout.strip() == "{"
    corrected = tmp_path / "corrected.json"
    corrected.write_bytes(cluster_line(3))

    ledger("quarantine", "release", str(bad), "--why", "typo", code=65)
    nowhere = ledger(
        "quarantine", "release", str(bad), "--why", "typo", "--corrected", "nowhere", code=64
    )
    assert "does not exist" in nowhere.stderr
    ledger("quarantine", "release", str(bad), "--why", "typo", "--corrected", str(corrected))

    again = ledger("quarantine", "release", str(bad), "--why", "typo", code=76)
    assert "released already" in again.stderr
    ledger("decide", "--until-idle", "--quiet")
    rows = ledger("sql", "SELECT type, effect FROM events WHERE position = 3", "--csv").stdout
    assert "ledger.quarantine.message.released.v1,applied" in rows
    assert ledger.json("status")["quarantined"] == 1


def test_what_a_producer_wrote_is_listed_as_it_is(ledger: Command, tmp_path: Path) -> None:
    odd = tmp_path / "odd.jsonl"
    odd.write_bytes(cluster_line(1, type="[/x]"))
    ledger("ingest", str(odd))

    listed = ledger("quarantine", "list").stdout

    assert "type: '[/x]'" in listed.splitlines()[1]


def test_a_quarantined_line_can_be_closed(ledger: Command, file: Path) -> None:
    ledger("ingest", str(file))
    listed = [json.loads(row) for row in ledger("quarantine", "list", "--json").stdout.splitlines()]

    for row in listed:
        ledger("quarantine", "discard", str(row["position"]), "--why", "noise")

    assert ledger("quarantine", "list", "--json").stdout == ""
    settled = [
        json.loads(row)
        for row in ledger("quarantine", "list", "--all", "--json").stdout.splitlines()
    ]
    assert [(row["outcome"], row["settled_why"]) for row in settled] == [("discarded", "noise")] * 2
    assert all(row["settled_by"] and row["settled_at"] for row in settled)
    assert "discarded by" in ledger("quarantine", "list", "--all").stdout


def test_what_came_before_its_fleet_was_open_is_let_in_by_one_command(
    ledger: Command, tmp_path: Path
) -> None:
    early = tmp_path / "early.jsonl"
    early.write_bytes(b"\n".join(cluster_line(number, fleet="shop") for number in range(7)))
    ledger("ingest", str(early), "--create-fleets", "never")
    every = ("--all", "--reason", "unknown_fleet", "--why", "it is open now")
    closed = ledger.json("quarantine", "release", *every, code=65)
    ledger("fleets", "open", "shop")

    counted = ledger("quarantine", "release", *every, "--dry-run").stdout
    numbers = ledger.json("quarantine", "release", *every, "--dry-run", "--before", "2")
    said = ledger("quarantine", "release", *every, "--before", "2").stdout
    rest = ledger.json("quarantine", "release", *every, "--fleet", "shop", "--source", "/tests")
    again = ledger.json("quarantine", "release", *every)

    assert closed == {"released": 0, "refused": {"unknown_fleet": 7}}
    assert counted.strip() == "7 would be released, as far as they are not refused again"
    assert numbers == {"waiting": 2}
    assert said.split() == ["2", "released"]
    assert rest == {"released": 5, "refused": {}}
    assert again == {"released": 0, "refused": {}}
    assert ledger.json("status")["quarantined"] == 0


def test_where_a_line_stands_is_told_with_its_file(ledger: Command, tmp_path: Path) -> None:
    names = ("orders.jsonl", "odd\n\udcff name")
    for name in names:
        (tmp_path / name).write_bytes(cluster_line(1) + b"\n{\n")
        ledger("ingest", str(tmp_path / name))
    ledger("ingest", str(tmp_path / "orders.jsonl"))
    ledger("ingest", "-", stdin=b"\n\n{\n")

    rows = ledger("quarantine", "list", "--json").stdout.splitlines()

    told = [json.loads(row)["address"] for row in rows]
    assert told == ["stdin@3", "odd?? name@2", "orders.jsonl@2"]
    ledger("verify")


def test_noise_is_closed_by_one_command(ledger: Command, tmp_path: Path) -> None:
    noise = tmp_path / "noise.jsonl"
    noise.write_bytes(b"{\n" * 3 + b"[[[\n" + cluster_line(1))
    ledger("ingest", str(noise))

    said = ledger.json(
        "quarantine", "discard", "--all", "--reason", "not_json", "--why", "a test", code=0
    )

    assert said == {"discarded": 4, "refused": {}}
    assert ledger.json("status")["quarantined"] == 0


@pytest.mark.parametrize(
    "words",
    [
        "quarantine release --why x",
        "quarantine release 1 --all --reason not_json --why x",
        "quarantine release --all --why x",
        "quarantine release --all --reason typo --why x",
        "quarantine release 1 --reason not_json --why x",
        "quarantine release 1 --dry-run --why x",
        "quarantine discard 1 --fleet shop --why x",
        "quarantine discard 1 --before 2 --why x",
        "quarantine release 1 --fleet BAD! --why x",
        "ingest - --fleet BAD!",
        "ingest - --fleet _ledger",
        "fleets open BAD!",
        "fleets open _ledger",
        "fleets bind /tests BAD!",
        "simulate --log --fleet BAD!",
        "demo --fleet BAD!",
    ],
)
def test_what_cannot_be_meant_is_said_before_anything_is_read(
    ledger: Command, words: str, file: Path
) -> None:
    ledger(*words.split(), code=64, stdin=file.read_bytes())

    assert ledger("quarantine", "list", "--json").stdout == ""


def test_fleets_are_opened_and_bound_for_machines_too(ledger: Command) -> None:
    assert ledger.json("fleets", "open", "shop", "--clock", "event") == {
        "fleet": "shop",
        "clock": "event",
    }
    assert ledger.json("fleets", "bind", "/tests", "shop") == {
        "source": "/tests",
        "fleet": "shop",
        "open": True,
    }


def test_maintain_makes_partitions_and_finds_nothing_missing(ledger: Command, file: Path) -> None:
    ledger("ingest", str(file))

    assert ledger.json("maintain") == {
        "partitions_made": 1,
        "rows_in_default": 0,
        "incomplete_fleets": [],
    }


def test_a_fleet_can_be_opened_and_a_source_bound(ledger: Command, tmp_path: Path) -> None:
    ledger("fleets", "open", "test", "--clock", "event")
    ledger("fleets", "bind", "/tests", "test")
    path = tmp_path / "events.jsonl"
    path.write_bytes(cluster_line(1) + b"\n" + cluster_line(2, fleet="other"))

    said = ledger.json("ingest", str(path), "--create-fleets", "never")

    assert (said["appended"], said["quarantined"]) == (1, 1)


def test_on_a_database_of_ones_own_an_unknown_fleet_is_set_aside(
    database_url: str, tmp_path: Path
) -> None:
    path = tmp_path / "events.jsonl"
    path.write_bytes(cluster_line(1))
    words = ["ingest", str(path), "--database-url", database_url, "--json"]

    answer = CliRunner().invoke(as_asked(words), words, env={"LEDGER_FLEET_CREATE": None})

    assert json.loads(answer.stdout) == {
        "appended": 0,
        "duplicate": 0,
        "conflicting": 0,
        "quarantined": 1,
    }


def test_a_source_is_bound_to_a_fleet_that_is_not_open_only_on_purpose(
    ledger: Command, tmp_path: Path
) -> None:
    refused = ledger("fleets", "bind", "/tests", "tset", code=78)
    assert "fleet tset: there is none of this name" in refused.stderr
    assert "--ahead" in refused.stderr
    path = tmp_path / "events.jsonl"
    path.write_bytes(cluster_line(1))
    assert ledger.json("ingest", str(path))["appended"] == 1, "nothing was bound"

    assert "not open yet" in ledger("fleets", "bind", "/tests", "next", "--ahead").stderr
    path.write_bytes(cluster_line(2) + b"\n" + cluster_line(3, fleet="next"))
    said = ledger.json("ingest", str(path))
    assert (said["appended"], said["quarantined"]) == (1, 1)
    ledger("fleets", "bind", "/tests", "No_Label", "--ahead", code=64)


@pytest.mark.parametrize("name", ["_ledger", "No_Label", "", "-a", "a" * 64])
def test_a_fleet_that_no_event_could_name_is_not_opened(ledger: Command, name: str) -> None:
    answer = ledger("fleets", "open", "--", name, code=64)

    assert "Invalid value" in answer.stderr
    assert ledger.json("status")["fleets"] == []


def test_a_fleet_keeps_the_clock_it_was_opened_with(ledger: Command) -> None:
    ledger("fleets", "open", "test", "--clock", "event")

    ledger("fleets", "open", "test", "--clock", "event")
    answer = ledger("fleets", "open", "test", "--clock", "wall", code=78)

    assert "runs on the event clock since it was opened" in answer.stderr


def test_processes_of_equal_host_and_number_hold_leases_under_names_of_their_own() -> None:
    mine = deciding.holder()
    assert deciding.holder() == mine

    deciding.holder.cache_clear()
    assert deciding.holder() != mine
    assert consuming.holder() != consuming.holder()


def test_the_demo_replays_the_same(ledger: Command) -> None:
    said = ledger.json("demo", "--events", "300", "--rate", "0")

    assert isinstance(said["replay"], dict)
    assert said["replay"]["diverged"] is None
    assert said["replay"]["decisions"] > 0
    assert said["replay"]["fleet"] == "demo"


def suggested(said: str) -> list[list[str]]:
    """The words of each command that the last words of a demo suggest."""
    return [shlex.split(line)[2:] for line in said.splitlines() if line.startswith("  ./try ")]


def test_what_the_demo_suggests_is_about_what_was_seen(ledger: Command) -> None:
    ledger("demo", "--events", "20", "--rate", "0")
    told = suggested(ledger("demo", "--events", "300", "--rate", "0").stdout)

    answers = {words[0]: ledger(*words).stdout for words in told}

    assert answers.keys() == {"sql", "explain", "replay", "--help"}
    (explained,) = [words for words in told if words[0] == "explain"]
    assert explained[2:] == ["--fleet", "demo-2"]
    assert f"division of {explained[1]}" in answers["explain"]
    placed = next(words for words in told if "placements" in words[1])
    assert f"fleet = 'demo-2' AND subject = '{explained[1]}'" in placed[1]
    assert json.loads(ledger(*placed, "--json").stdout.splitlines()[0])["since_position"] > 0


def test_a_demo_that_divided_nothing_suggests_nothing_about_it(ledger: Command) -> None:
    told = suggested(ledger("demo", "--events", "3", "--rate", "0").stdout)

    assert {words[0] for words in told} == {"sql", "replay", "--help"}
    assert not [words for words in told if "subject =" in words[-1]]
    for words in told:
        ledger(*words)


def test_every_command_is_listed_and_teaches(ledger: Command) -> None:
    listed = ledger("--help").stdout.split()

    for command in COMMANDS:
        assert command in listed
        assert f"ledger {command} " in ledger(command, "--help").stdout


def test_a_command_is_loaded_without_the_others() -> None:
    script = (
        "import sys\n"
        "from ledger.cli.commands import as_asked\n"
        "as_asked(['status'])\n"
        "print(*(name for name in sys.modules if name.startswith('ledger.')))\n"
    )

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)

    loaded = done.stdout.decode().split()
    assert "ledger.cli.standing" in loaded
    assert "ledger.cli.sealing" not in loaded
    assert "ledger.decisions.decide" not in loaded


def test_explaining_loads_neither_a_server_nor_what_prints_complaints_nor_what_computes() -> None:
    """A person waits for all of it, each time."""
    script = (
        "import sys\n"
        "from ledger.cli.commands import as_asked\n"
        "as_asked(['explain'])\n"
        "print(*sys.modules)\n"
    )

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)

    loaded = done.stdout.decode().split()
    assert "ledger.cli.explain.main" in loaded
    for name in ("ledger.log.embedded.server", "rich.console", "pydantic", "sqlalchemy"):
        assert name not in loaded
    assert not [name for name in loaded if name.startswith(("ledger.core.", "ledger.decisions."))]


@pytest.mark.parametrize(
    "words",
    [
        ("replay",),
        ("replay", "--fleet", "f", "--from", "soon"),
        ("verify", "--fleet"),
        ("verify-proof", "no such file", "--key", "x"),
        ("what-if", "--such"),
        ("nonsense",),
    ],
)
def test_what_is_typed_wrongly_is_no_finding_of_an_audit(
    ledger: Command, words: tuple[str, ...]
) -> None:
    ledger(*words, code=64)


def test_a_mistake_of_ours_is_no_finding_of_an_audit() -> None:
    script = (
        "import ledger.cli.commands as commands\nimport ledger.cli.main as main\n"
        "commands.as_asked = lambda words: lambda: 1 // 0\nmain.main()"
    )

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False)

    assert done.returncode == 70
    assert done.stderr.endswith(b"ZeroDivisionError: integer division or modulo by zero\n")


INTERRUPTED_WHILE_LOADING = """\
import os, signal, sys

class Interrupts:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupts())
sys.argv[1:] = ["decide"]
from ledger.cli.main import main
main()
"""


@pytest.mark.parametrize(
    "module", ["ledger.cli.commands", "typer", "ledger.cli.deciding", "asyncpg"]
)
def test_a_command_that_is_interrupted_while_it_loads_ends_without_a_word(module: str) -> None:
    script = INTERRUPTED_WHILE_LOADING.format(module=module)

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False)

    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")
