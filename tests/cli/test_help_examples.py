"""What the help of a command shows can be typed, and does what it says."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, cast

import pytest
from typer.core import TyperGroup
from typer.main import get_command
from typer.testing import CliRunner

from ledger.cli.commands import as_asked, every_command
from ledger.log.signing_keys import make

FILES: Final = ("signed.json", "shop-1204.slice.json")
"""What has to be there to be named."""

HISTORY: Final = (
    "simulate history.jsonl",
    "ingest history.jsonl --clock event",
    "decide --until-idle",
)
"""On an empty ledger, one after the other."""

OF_SHOP: Final = {
    'sql "SELECT * FROM open_refusals"': 0,
    'sql "SELECT * FROM open_incidents"': 0,
    'sql "SELECT * FROM conservation"': 0,
    'sql "SELECT * FROM placements"': 0,
    "verify --fleet shop --deep": 0,
    "replay --fleet shop": 0,
    "replay --fleet shop --from 1000 --to 2000 --subject shop/cart": 0,
    "what-if --set division.inertia=seed --set disk.alpha=1/2": 1,
    "what-if --without 12": 1,
    "what-if --with gone.jsonl --at 13": 1,
    "what-if --set disk.alpha=0 --from now --plot review.png": 0,
    'quarantine release --all --reason unknown_fleet --fleet shop --why "it is open now"': 0,
    "recover shop --without-kafka --restored --yes": 0,
    "seal --key new.key --key site.key --site ledger.example --memory signed.json --once": 0,
    "prove event shop/3 --out event-3.tlog-proof": 0,
    "prove decision shop/1/7 > decision-7.tlog-proof": 0,
    "key new witness.key": 0,
    "recover shop --memory signed.json": 0,
    'recover shop --memory signed.json --why "the disk was lost" --yes': 0,
    "readers revoke ledger_reader '*'": 0,
}
"""On a decided history of one fleet, in this order, with their exit codes."""

NOT_RUN: Final = {
    "simulate --log --events 20000": "as long as its events take to decide",
    "simulate --kafka --rate 200 --fleet north": "wants Kafka, and never ends",
    "simulate --clusters 20 --nodes 100 --workloads 5000 --events 200000 large.jsonl": "long",
    "verify --archive /archives --fleet shop": "tests/cli/test_archive_page.py has archives",
    "replay --slice shop-1204.slice.json": "tests/cli/test_replay_page.py has a slice",
    "seal --key site.key --site ledger.example --memory signed.json --publish notes": "runs on",
    'witness --key witness.key --name witness.example/w1 --state seen.json --log "$EVENTS"'
    ' --log "$DECISIONS"': "runs on",
    "explain NUMBER": "stands for any",
    "recover FLEET": "stands for any",
}


def shown(group: TyperGroup, *path: str) -> Iterator[tuple[str, Any, list[str]]]:
    """What stands as a command in the help of each: all of it, the command it is of, the words behind."""
    root = cast("TyperGroup", get_command(every_command()))
    for name, command in group.commands.items():
        if isinstance(command, TyperGroup):
            yield from shown(command, *path, name)
        texts = [command.help, *(getattr(one, "help", None) for one in command.params)]
        for text in texts:
            for example in re.findall(r"`ledger ([^`]*)`", text or ""):
                told = " ".join(example.split())
                words = shlex.split(told.partition(" > ")[0])
                found: Any = root
                while words and isinstance(found, TyperGroup) and words[0] in found.commands:
                    found = found.commands[words.pop(0)]
                yield told, found, words


EXAMPLES: Final = list(shown(cast("TyperGroup", get_command(every_command()))))


def spoken_of(command: Any, words: list[str]) -> bool:
    """Whether a command, or an option of it, is only named."""
    return set(words) <= {name for option in command.params for name in option.opts}


@pytest.mark.parametrize(("told", "command", "words"), EXAMPLES, ids=[one[0] for one in EXAMPLES])
def test_what_help_shows_can_be_typed(
    told: str, command: Any, words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in FILES:
        (tmp_path / name).touch()
    assert command.name in told.split(), "it is a command"
    if not spoken_of(command, words):
        with command.make_context(command.name, list(words)) as parsed:
            assert not parsed.args


AFTER_THE_DEMO: Final = {
    told
    for told, command, words in EXAMPLES
    if command.name in {"explain", "diff"} and told not in NOT_RUN and not spoken_of(command, words)
}


def test_every_example_is_run_or_there_is_a_reason() -> None:
    found = {told for told, command, words in EXAMPLES if not spoken_of(command, words)}

    assert found <= {*HISTORY, *OF_SHOP, *AFTER_THE_DEMO, *NOT_RUN}
    assert OF_SHOP.keys() | NOT_RUN.keys() <= found, "what nobody shows any more"


def run(database_url: str, told: str) -> tuple[int, str]:
    words = shlex.split(told.partition(" > ")[0])
    surroundings = {"LEDGER_DATABASE_URL": database_url, "LEDGER_FLEET_CREATE": "auto"}
    done = CliRunner().invoke(as_asked(words), words, env=surroundings)
    return done.exit_code, done.stderr


def test_the_examples_of_a_history_run(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    for told in HISTORY:
        assert run(database_url, told)[0] == 0, told


def test_the_examples_about_decisions_are_answered_after_the_demo(database_url: str) -> None:
    assert run(database_url, "demo --rate 0 --json")[0] == 0

    assert {told.partition(" ")[0] for told in AFTER_THE_DEMO} == {"explain", "diff"}
    for told in sorted(AFTER_THE_DEMO):
        assert run(database_url, told)[0] == 0, told


def test_the_examples_about_a_fleet_run(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("site.key", "new.key"):
        make(tmp_path / name)
    for told in (
        "simulate --fleet shop --events 2500 shop.jsonl",
        "ingest shop.jsonl --clock event",
        "decide --until-idle --quiet",
    ):
        assert run(database_url, told)[0] == 0, told
    gone = Path("shop.jsonl").read_text().splitlines()[12].replace("upserted", "removed")
    Path("gone.jsonl").write_text(f"{gone}\n")

    ends = {told: run(database_url, told) for told in OF_SHOP}

    assert {told: code for told, (code, _) in ends.items()} == OF_SHOP, ends
