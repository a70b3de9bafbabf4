"""A fleet that is not there is one fault, and every command that takes a fleet ends with the same code by it."""

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Final, cast

import pytest
from typer.core import TyperGroup
from typer.main import get_command
from typer.testing import CliRunner, Result

from ledger.cli.commands import as_asked, every_command
from ledger.cli.run import MISCONFIGURED
from ledger.cli.sql import CAUTION
from ledger.log.signing_keys import make
from tests.events_for_tests import cluster_line, workload_line

ASK: Final = {
    "decide": "decide --until-idle --fleet absent",
    "watch": "watch --fleet absent",
    "explain": "explain 0 --fleet absent",
    "diff": "diff 0 1 --fleet absent",
    "verify": "verify --fleet absent",
    "replay": "replay --fleet absent",
    "what-if": "what-if --set hold=true --fleet absent",
    "prove": "prove event absent/0",
    "export": "export absent archives",
    "tiles": "tiles absent tiles",
    "recover": "recover absent --without-kafka",
    "seal": "seal --once --key site.key --site ledger.example --memory signed.json --fleet absent",
    "quarantine release": "quarantine release 0 --why typo --fleet absent",
    "partitions confirm": "partitions confirm absent ledger.cluster 0",
    "fleets bind": "fleets bind /tests absent",
    "readers grant": "readers grant ledger_reader absent",
    "readers revoke": "readers revoke ledger_reader absent",
}
"""How each is asked for a fleet that is not there."""

OPENS: Final = {"demo", "ingest", "simulate"}
"""A fleet that is not there is one to be opened, or its events are set aside and counted."""

NEEDS_NONE: Final = {"key show", "quarantine discard"}
"""One makes keys for any name; the other closes what names a fleet that is perhaps nobody's."""

OTHERS: Final = {
    "explain, by a name": "explain absent/1/0",
    "explain, by a name, in a fleet": "explain absent/1/0 --fleet test",
    "explain, by a name, as a decision": "explain absent/1/0 --kind decision",
    "prove decision": "prove decision absent/1/0",
    "verify --archive": "verify --archive archives --fleet absent",
    "replay --archive": "replay --archive archives --fleet absent",
    "sql": "sql \"SELECT * FROM placements_as_of('absent', 0)\"",
}


def taking_a_fleet(group: TyperGroup, *path: str) -> Iterator[str]:
    for name, command in group.commands.items():
        if isinstance(command, TyperGroup):
            yield from taking_a_fleet(command, *path, name)
        elif any(parameter.name == "fleet" for parameter in command.params):
            yield " ".join((*path, name))


def test_every_command_that_takes_a_fleet_is_asked() -> None:
    found = set(taking_a_fleet(cast("TyperGroup", get_command(every_command()))))

    assert found | {"prove"} == ASK.keys() | OPENS | NEEDS_NONE


def asked(database_url: str, *words: str, stdin: bytes | None = None) -> Result:
    surroundings = {"LEDGER_DATABASE_URL": database_url, "LEDGER_FLEET_CREATE": "auto"}
    return CliRunner().invoke(as_asked(words), list(words), input=stdin, env=surroundings)


@pytest.fixture
def history(database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A decided fleet, a quarantined message that names none, an archive and a key."""
    nameless = cluster_line(9).replace(b'"fleet": "test", ', b"")
    assert nameless != cluster_line(9)
    told = [cluster_line(1), workload_line(1, replicas=2, weights={"c1": 1}), nameless]
    monkeypatch.chdir(tmp_path)
    make(tmp_path / "site.key")
    for words, stdin in (
        ("ingest -", b"\n".join(told)),
        ("decide --until-idle --quiet", None),
        ("export test archives", None),
    ):
        assert asked(database_url, *words.split(), stdin=stdin).exit_code == 0
    return database_url


def test_whoever_names_a_fleet_that_is_not_there_has_named_it_wrongly(history: str) -> None:
    """One history for all of them: nobody changes anything."""
    ends = {name: asked(history, *shlex.split(words)) for name, words in (ASK | OTHERS).items()}

    assert {name: end.exit_code for name, end in ends.items()} == dict.fromkeys(ends, MISCONFIGURED)
    for name, end in ends.items():
        *cautions, said = end.stderr.splitlines()
        assert all(CAUTION in caution for caution in cautions), name
        assert said.startswith("ledger: "), name
        assert "absent" in said, name


def test_a_name_of_no_fleet_is_refused_so_beside_several_fleets(history: str) -> None:
    assert asked(history, "fleets", "open", "other").exit_code == 0

    end = asked(history, "explain", "absent/1/0")

    assert end.exit_code == MISCONFIGURED
    assert "unknown_fleet: absent/1/0: no fleet absent " in end.stderr
