"""The commands of docs/replay.md do what the page says of them."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

from ledger.facts.decision import from_record, record
from ledger.facts.genesis import born, document
from ledger.log import fleets, lines, merkle
from ledger.log.database import connect
from ledger.replay.report import SAME, Stage
from ledger.units import FleetName
from tests.engine.deciding import decide_all
from tests.events_for_tests import cluster_line, workload_line

REPOSITORY = Path(__file__).parents[2]
PAGE = (REPOSITORY / "docs" / "replay.md").read_text()


def commands(place: int) -> list[list[str]]:
    """What a block of the page types, without its comments."""
    blocks = re.findall(r"```sh\n(.*?)```", PAGE, flags=re.DOTALL)
    return [shlex.split(line, comments=True)[1:] for line in blocks[place].splitlines()]


def table(heading: str) -> list[list[str]]:
    """The rows of the first table behind some words."""
    rows = re.search(r"\|---.*?\n((?:\|.*\n)+)", PAGE[PAGE.index(heading) :])
    assert rows is not None
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows[1].splitlines()]


def files(directory: Path) -> list[Path]:
    return list(directory.iterdir())


def ledger(words: list[str], url: str, directory: Path) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-m", "ledger.cli.main", *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        cwd=directory,
        env=os.environ | {"LEDGER_DATABASE_URL": url, "PYTHONPATH": str(REPOSITORY)},
    )
    return done.returncode, done.stdout, done.stderr


async def history(url: str) -> None:
    connection = await connect(url, None)
    weights = {"c1": 3, "c2": 2, "c3": 1}
    told = [cluster_line(number, fleet="shop") for number in (1, 2, 3)]
    for number in range(4, 31):
        name = "cart" if number % 2 else "till"
        told.append(
            workload_line(number, replicas=number, weights=weights, fleet="shop", name=name)
        )
    await lines.ingest(connection, told)
    await connection.close()
    await decide_all(url)


async def test_each_command_finds_the_same(database_url: str, tmp_path: Path) -> None:
    await history(database_url)

    for words in commands(0):
        code, said, aside = ledger(words, database_url, tmp_path)

        assert code == SAME, (words, said)
        assert not aside, "nobody watches"
        if "--json" in words:
            told = json.loads(said)
            assert told["diverged"] is None
            assert told["shown"]["proves"] is True
            for name in re.findall(r"`(\w+)`", PAGE[PAGE.index("`--json` prints") :][:700]):
                assert name in told or name in told["shown"], name
        elif "--from" in words:
            assert "at position 0: what was decided from position 0 to 19 is believed" in said
        elif "--subject" in words:
            assert "what was decided about others than shop/cart is believed" in said
        else:
            assert "begin at position 0: nothing is believed" in said
    assert files(tmp_path) == [], "nothing is written where nothing differs"


async def test_what_differs_is_cut_out_and_seen_again_without_a_database(
    database_url: str, tmp_path: Path
) -> None:
    """Somebody edits a decision and makes leaf, heads and tiles fit: only recomputing tells."""
    await history(database_url)
    connection = await connect(database_url, None)
    fleet = await fleets.find(connection, FleetName("shop"))
    assert fleet is not None
    rows = await connection.fetch("SELECT number, record FROM ledger.decisions ORDER BY number")
    records = [row["record"] for row in rows]
    edited = from_record(records[6])
    assert edited.position == 9
    records[6] = record(edited).replace(b'"moved":', b'"moved":9')
    frontier = merkle.extend(merkle.EMPTY, [merkle.leaf_hash(one) for one in records]).frontier
    async with connection.transaction():
        await connection.execute("SET LOCAL session_replication_role = replica")
        await connection.execute(
            "UPDATE ledger.decisions SET record = $1, digest = $2 WHERE number = 6",
            records[6],
            merkle.leaf_hash(records[6]),
        )
        await connection.execute(
            "DELETE FROM ledger.heads WHERE tree = 'decisions' AND size BETWEEN 7 AND $1",
            len(records) - 1,
        )
        await connection.execute(
            "UPDATE ledger.heads SET root = $1, frontier = $2 WHERE tree = 'decisions' AND size = $3",
            frontier.root(),
            frontier.to_bytes(),
            len(records),
        )
    await connection.close()

    code, said, _ = ledger(["replay", "--fleet", "shop"], database_url, tmp_path)

    unnamed = ["--slice-to", str(tmp_path / ("long" * 100))]
    unwritten = ledger(["replay", "--fleet", "shop", *unnamed], database_url, tmp_path)

    assert unwritten[0] == 1
    assert "decision_differs at position 9, decision 6" in unwritten[1]
    assert f"{unnamed[1]}: File name too long" in unwritten[1]
    assert code == 1
    assert "decision_differs at position 9, decision 6" in said
    assert "answer: the same goes in, something else comes out" in said
    assert "/moved" in said
    ((words,),) = [commands(1)]
    file = tmp_path / words[-1]
    assert file.exists()
    assert file.name in said
    code, said, _ = ledger(words, "postgresql://nobody@127.0.0.1:1/nothing", tmp_path)
    assert code == 1, "the record is what was changed, so every program finds it"
    assert "/moved" in said
    _, said, _ = ledger(["replay", "--fleet", "shop"], database_url, tmp_path)
    assert f"{file.name}\n" in said
    assert files(tmp_path) == [file], "the same slice again is the same file"
    whole = file.read_text()
    file.write_text("somebody's notes")
    _, said, _ = ledger(["replay", "--fleet", "shop"], database_url, tmp_path)
    assert "shop-9.2.slice.json" in said
    assert "`shop-9.2.slice.json`" in PAGE
    assert (tmp_path / "shop-9.2.slice.json").read_text() == whole
    assert file.read_text() == "somebody's notes"
    file.write_text(whole)
    piece = json.loads(file.read_text())
    assert piece["world"] is None
    assert len(piece["events"]) < 10

    honest = piece["recorded"][0].replace('"moved":9', '"moved":')
    file.write_text(json.dumps(piece | {"recorded": [honest]}))
    code, said, _ = ledger([*words, "--json"], "postgresql://nobody@127.0.0.1:1/nothing", tmp_path)
    assert (code, json.loads(said)["diverged"]) == (0, None)
    assert json.loads(said)["found"]["stage"] == "answer"


NO_DATABASE = "postgresql://nobody@127.0.0.1:1/nothing"

EVENT = {
    "position": 1,
    "recorded_at": 1,
    "source": "here",
    "id": "1",
    "type": "ledger.cluster.cluster.joined.v1",
    "subject": "c1",
    "revision": 1,
    "payload": "{}",
    "decisions": 0,
}
PIECE: dict[str, object] = {
    "ledger_slice": 1,
    "found": {},
    "genesis": {},
    "world": None,
    "events": [EVENT],
    "subject": None,
    "recorded": [],
}


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("", "not_a_slice: some.json: it is no JSON document"),
        ("{}", "not_a_slice: some.json: it has no ledger_slice"),
        ("[1]", "not_a_slice: some.json: it has no ledger_slice"),
        ('{"ledger_slice": 9}', "unknown_slice: some.json: its layout is 9, and 1 is known here"),
        ('{"ledger_slice": 1}', "not_a_slice: some.json: events is missing"),
        (PIECE | {"events": []}, "it has no events"),
        (PIECE | {"events": [EVENT, EVENT]}, "its events are not in order"),
        (PIECE | {"events": [{}]}, "events/0/position is missing"),
        (PIECE | {"events": [7]}, "events/0: it is no object"),
        (PIECE | {"events": [EVENT | {"id": 7}]}, "events/0/id: it is no text"),
        (PIECE | {"recorded": [7]}, "recorded: a record is no text"),
        (PIECE | {"subject": 7}, "subject: it is no text"),
        (PIECE, "genesis: it is none that this program knows"),
        (PIECE | {"genesis": {"genesis": 99}}, "genesis layout 99 is not known here"),
    ],
)
def test_what_is_no_slice_is_refused_in_words(
    content: str | dict[str, object], told: str, tmp_path: Path
) -> None:
    text = content if isinstance(content, str) else json.dumps(content)
    (tmp_path / "some.json").write_text(text)

    code, said, aside = ledger(["replay", "--slice", "some.json"], NO_DATABASE, tmp_path)

    assert (code, said) == (64, "")
    assert told in aside
    assert "Error" not in aside
    assert "Traceback" not in aside


def test_a_damaged_slice_is_refused_in_words(tmp_path: Path) -> None:
    genesis = json.loads(document(born(FleetName("shop"), salt=None, revision=1)))
    for changed, told in (
        ({"world": "?"}, "world: it is no base64"),
        ({"world": "aGk="}, "the World in it is damaged, or of another layout"),
        ({"events": [EVENT, EVENT | {"position": 2}]}, "this program cannot take the steps in it"),
    ):
        (tmp_path / "some.json").write_text(json.dumps(PIECE | {"genesis": genesis} | changed))

        code, _, aside = ledger(["replay", "--slice", "some.json"], NO_DATABASE, tmp_path)

        assert code == 64, aside
        assert told in aside
        assert "Traceback" not in aside


@pytest.mark.parametrize(
    "words",
    [
        ["--slice", "nowhere.json"],
        ["--slice", "."],
        ["--slice", "some.json", "--fleet", "shop"],
        ["--slice", "some.json", "--from", "0"],
        ["--slice", "some.json", "--archive", "."],
        ["--slice", "some.json", "--check-snapshots"],
        ["--slice", "some.json", "--slice-to", "other.json"],
        ["--fleet", "shop", "--slice-to", "nowhere/some.json"],
    ],
)
def test_what_would_have_no_effect_is_typed_wrongly(words: list[str], tmp_path: Path) -> None:
    (tmp_path / "some.json").write_text("{}")

    code, _, aside = ledger(["replay", *words], NO_DATABASE, tmp_path)

    assert code == 64
    assert "--slice" in aside


def test_the_page_names_every_stage_and_exit_code() -> None:
    assert [row[0].strip("`") for row in table("how far both came to the same.")] == [
        *get_args(Stage)
    ]
    assert [row[0] for row in table("there is none.")] == ["0", "1", "2", "3"]
