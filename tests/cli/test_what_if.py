"""``ledger what-if`` over a real log: what it prints, keeps, draws, refuses, and leaves alone."""

import asyncio
import json
from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

import pytest
from typer.testing import CliRunner, Result

from ledger.cli.commands import as_asked
from ledger.cli.what_if import pictures
from ledger.cli.what_if.telling import ROWS, size
from ledger.log import lines
from ledger.log.database import connect
from tests.engine.deciding import decide_all
from tests.events_for_tests import cluster_line, policy_line, workload_line

WEIGHTS = {"c1": 2, "c2": 1, "c3": 1}

HISTORY = [
    *(cluster_line(number) for number in (1, 2, 3)),
    workload_line(3, replicas=8, weights=WEIGHTS),
    workload_line(4, replicas=8, weights={"c1": 1, "c2": 1, "c3": 3}),
    policy_line(5, grace={"cluster_ms": 5}),
    workload_line(6, replicas=9, weights=WEIGHTS),
]


async def decided(url: str) -> None:
    connection = await connect(url, None)
    await lines.ingest(connection, HISTORY, clock="event")
    await connection.close()
    await decide_all(url)


async def everything(url: str) -> list[tuple[object, ...]]:
    """How much of everything there is in the database, and where its heads are."""
    connection = await connect(url, None)
    rows = await connection.fetch(
        "SELECT f.*, (SELECT count(*) FROM ledger.decisions), (SELECT count(*) FROM ledger.decided)"
        "  FROM ledger_api.fleets f ORDER BY fleet"
    )
    await connection.close()
    return [tuple(row) for row in rows]


def asked(database_url: str, *said: str) -> Result:
    return CliRunner().invoke(
        as_asked(["what-if"]), ["what-if", "--database-url", database_url, *said]
    )


def test_it_answers_keeps_draws_and_touches_nothing(database_url: str, tmp_path: Path) -> None:
    asyncio.run(decided(database_url))
    before = asyncio.run(everything(database_url))
    kept, png, svg, again = (tmp_path / name for name in ("kept", "a.png", "a.svg", "b.svg"))

    same = asked(database_url, "--set", "division.inertia=minimal", "--json")
    added = tmp_path / "added"
    added.write_bytes(cluster_line(4))
    both = asked(database_url, "--set", "hold=false", "--with", str(added), "--at", "3")
    other = asked(
        database_url,
        *("--without", "/tests/workload-4", "--keep", str(kept), "--json"),
        *("--plot", str(png), "--plot", str(svg)),
    )
    against = asked(database_url, "--without", "4", "--against", str(kept), "--plot", str(again))
    was = asked(database_url, "--against", str(kept), "--json")
    shorter = asked(database_url, "--against", str(kept), "--to", "3")

    assert (same.exit_code, json.loads(same.stdout)["same"]) == (0, True)
    assert f"what if: hold = false; with {added} in front of 3 " in " ".join(both.stdout.split())
    assert other.exit_code == 1, other.output
    told = json.loads(other.stdout)
    assert [(one["place"]["position"], one["subject"]) for one in told["decisions"]] == [
        (4, "shop/cart"),
        *([(6, "shop/cart")] if told["other"]["decisions"] == 2 else []),
    ]
    assert told["decisions"][0]["would_be"] == []
    assert (told["left_out"], told["other"]["unmade"]) == (1, 1)
    assert told["was"]["moved"] != told["would_be"]["moved"]
    assert [one["position"] for one in told["course"]] == [*range(7), 6]
    assert against.exit_code == 0, against.output
    assert "nothing would be different" in against.stdout
    back = json.loads(was.stdout)
    assert (back["was"], back["would_be"]) == (told["would_be"], told["was"])
    assert (back["other"]["anew"], back["other"]["unmade"]) == (1, 0)
    assert shorter.exit_code == 64
    assert "another_log" in shorter.stderr
    assert png.read_bytes().startswith(b"\x89PNG")
    assert "without /tests/workload-4" in svg.read_text()
    assert again.exists()
    assert asyncio.run(everything(database_url)) == before


def test_the_same_answer_is_drawn_with_the_same_bytes(database_url: str, tmp_path: Path) -> None:
    asyncio.run(decided(database_url))

    drawn = [tmp_path / "one.svg", tmp_path / "two.svg"]
    asked(
        database_url, "--without", "4", *(word for path in drawn for word in ("--plot", str(path)))
    )

    assert drawn[0].read_bytes() == drawn[1].read_bytes()


@pytest.mark.parametrize(
    ("most", "step"),
    [
        (0, 1),
        (3, 1),
        (5 * 2**30, 2**30),
        (5 * 2**30 + 1, 2**31),
        (900 * 2**30, 256 * 2**30),
        (1000 * 2**30, 256 * 2**30),
    ],
)
def test_ticks_of_bytes_are_whole_in_their_unit(most: int, step: int) -> None:
    row = next(one for one in ROWS if one.told is size)

    assert pictures.binary_step(pictures.Curve(row, [None, 1.0], [0.0, float(most)])) == step
    assert size(step).partition(".")[2] in ("", "0Ki", "0Mi", "0Gi")


def test_exit_codes_and_refusals_say_what_is_wrong(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    empty = asked(database_url, "--set", "hold=true")
    asyncio.run(decided(database_url))
    broken = tmp_path / "broken"
    broken.write_text('{"branch": 1')
    settings = tmp_path / "policy.json"
    settings.write_text("[]")

    for said, code, why in (
        ((), 64, "nothing_otherwise"),
        (("--set", "algorithms.division=9"), 64, "unknown_algorithm"),
        (("--set", "division.kapa=1"), 64, "unknown_setting"),
        (("--set", "disk.alpha=1/2", "--set", "disk.alpha=0"), 64, "disk.alpha is set already"),
        (("--policy", str(settings)), 64, "invalid_setting"),
        (("--policy", str(tmp_path / "none")), 64, "invalid_setting"),
        (("--set", "hold=true", "--fleet", "other"), 78, "unknown_fleet"),
        (("--set", "hold=true", "--from", "soon"), 64, "invalid_moment"),
        (("--set", "hold=true", "--ask-again"), 64, "invalid_moment"),
        (("--set", "hold=true", "--at", "3"), 64, "nothing_otherwise"),
        (("--with", str(tmp_path / "none")), 64, "invalid_event"),
        (("--with", "/dev/null"), 64, "nothing_otherwise"),
        (("--set", "hold=true", "--to", "7"), 64, "invalid_moment: 7: only 7 events"),
        (("--weights", "shop/nobody:c1=3"), 64, "unknown_workload"),
        (("--against", str(broken)), 64, "not_a_branch"),
        (("--against", str(tmp_path / "none")), 64, "not_a_branch"),
        (("--set", "hold=true", "--against", "x", "--keep", "x"), 64, "not_a_branch"),
        (("--set", "hold=true", "--keep", str(tmp_path / "no" / "x")), 78, "no such directory"),
        (("--set", "hold=true", "--plot", "a.gif"), 64, ".png or .svg"),
        (("--set", "hold=true", "--plot", str(tmp_path / "no" / "x.png")), 78, "no such directory"),
    ):
        answer = asked(database_url, *said)
        assert (answer.exit_code, why in answer.stderr) == (code, True), (said, answer.output)
    assert "no fleet" in empty.stderr or "none is open" in empty.stderr

    monkeypatch.setattr(pictures, "find_spec", lambda _: None)
    without = asked(database_url, "--set", "hold=true", "--plot", "a.png")
    assert without.exit_code == 78
    assert "ledger-scheduling[plots]" in without.stderr


def test_a_question_that_is_refused_leaves_the_kept_branch_as_it_was(
    database_url: str, tmp_path: Path
) -> None:
    asyncio.run(decided(database_url))
    kept = tmp_path / "kept"
    asked(database_url, "--without", "4", "--keep", str(kept))
    before = kept.read_bytes()

    refused = asked(database_url, "--without", "999", "--keep", str(kept))
    taken = asked(database_url, "--without", "3", "--keep", str(tmp_path))

    assert (refused.exit_code, "unknown_event" in refused.stderr) == (64, True)
    assert kept.read_bytes() == before
    assert (taken.exit_code, "Is a directory" in taken.stderr) == (78, True)
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


def test_a_reader_is_told_which_right_is_missing(database_url: str) -> None:
    asyncio.run(decided(database_url))
    login = f"reader_{uuid4().hex[:8]}"
    place = urlsplit(database_url)

    async def said(*statements: str) -> None:
        connection = await connect(database_url, None)
        for statement in statements:
            await connection.execute(statement)
        await connection.close()

    asyncio.run(
        said(f"CREATE ROLE {login} LOGIN PASSWORD 'read'", f"GRANT ledger_reader TO {login}")
    )
    try:
        as_reader = place._replace(netloc=f"{login}:read@{place.hostname}:{place.port}").geturl()
        answer = asked(as_reader, "--set", "hold=true")
    finally:
        asyncio.run(said(f"DROP ROLE {login}"))

    assert answer.exit_code == 78
    assert "needs a login that is a member of ledger_signer" in answer.stderr


def test_a_log_with_a_hole_says_so(database_url: str) -> None:
    asyncio.run(decided(database_url))

    async def punched() -> None:
        connection = await connect(database_url, None)
        async with connection.transaction():
            await connection.execute("SET LOCAL session_replication_role = replica")
            await connection.execute("DELETE FROM ledger.events WHERE position = 2")
        await connection.close()

    asyncio.run(punched())
    answer = asked(database_url, "--set", "hold=true")

    assert answer.exit_code == 2
    assert "position 2 is not in the log" in answer.stderr
