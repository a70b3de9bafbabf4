"""Signed notes on a real broker: each under its origin, in order, at least once, whoever was away."""

import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiokafka import ConsumerRecord

from consumers.local_kafka import topics
from consumers.notes import notes_topic
from consumers.settings import Settings
from ledger.cli.run import UNAVAILABLE
from ledger.errors import KafkaUnavailable
from ledger.log import lines
from ledger.log.checkpoints import parse_checkpoint
from ledger.log.database import connected
from ledger.log.notes import open_note
from ledger.log.sealer import REST_SECONDS, Sealer
from ledger.log.sealing import Site
from ledger.log.signed import memory
from ledger.log.signing_keys import make, signing
from tests.engine.deciding import decide_all
from tests.events_for_tests import cluster_line, workload_line
from tests.feeding import Stream
from tests.kafka import Kafka

SITE = Site("ledger.example", (bytes(32),))
EVENTS, DECISIONS, BOTH = (
    f"ledger.example/test/1/{tree}" for tree in ("events", "decisions", "both")
)
NOWHERE = Settings(kafka_bootstrap="127.0.0.1:9")


@pytest.fixture
async def stream(kafka: Kafka) -> Stream:
    made = await Stream.create(kafka.bootstrap, partitions=3)
    await topics.create_topic(kafka.bootstrap, made.topic("notes"), partitions=3)
    return made


async def grow(database_url: str, number: int) -> None:
    async with connected(database_url, "ledger_writer") as connection:
        await lines.ingest(
            connection, [cluster_line(number), workload_line(number, replicas=1, weights={"c1": 1})]
        )
    await decide_all(database_url)


@asynccontextmanager
async def publishing(settings: Settings, folder: Path) -> AsyncIterator[Sealer]:
    """A signer that publishes to Kafka, as the command has it."""
    with memory(folder / "signed.json") as remembered:
        async with notes_topic(settings, folder / "signed.json.kafka") as place:
            yield Sealer(SITE, remembered, [place])


async def sealed(settings: Settings, folder: Path, database_url: str) -> Sealer:
    async with (
        publishing(settings, folder) as signer,
        connected(database_url, "ledger_signer") as connection,
    ):
        await signer.round(connection)
    return signer


async def notes(stream: Stream) -> dict[str, list[ConsumerRecord]]:
    """What the topic has, by key."""
    found: dict[str, list[ConsumerRecord]] = {}
    for record in await stream.records("notes"):
        found.setdefault(record.key.decode(), []).append(record)
    return found


def sizes(records: list[ConsumerRecord], origin: str = EVENTS) -> list[int]:
    key = signing(bytes(32), origin).key
    return [parse_checkpoint(open_note(record.value, [key]).text).size for record in records]


async def test_every_note_goes_out_under_its_origin_and_only_what_is_news(
    database_url: str, stream: Stream, tmp_path: Path
) -> None:
    for number in (1, 2):
        await grow(database_url, number)
        assert (await sealed(stream.settings(), tmp_path, database_url)).trouble() is None
    assert (await sealed(stream.settings(), tmp_path, database_url)).trouble() is None

    found = await notes(stream)
    assert sizes(found[EVENTS]) == [2, 4]
    assert sizes(found[DECISIONS], DECISIONS) == [1], "nothing was decided the second time"
    last = open_note(found[BOTH][-1].value, [signing(bytes(32), BOTH).key])
    assert last.text.startswith(f"{BOTH}\ndecided 3\nevents 4 ")
    assert {len({record.partition for record in records}) for records in found.values()} == {1}


async def test_a_signer_that_died_before_it_noted_what_went_out_sends_it_again(
    database_url: str, stream: Stream, tmp_path: Path
) -> None:
    noted = tmp_path / "signed.json.kafka"
    await grow(database_url, 1)
    await sealed(stream.settings(), tmp_path, database_url)
    then = noted.read_bytes()
    await grow(database_url, 2)
    await sealed(stream.settings(), tmp_path, database_url)
    noted.write_bytes(then)

    await sealed(stream.settings(), tmp_path, database_url)

    assert sizes((await notes(stream))[EVENTS]) == [2, 4, 4]


async def test_kafka_that_is_away_keeps_nobody_from_signing_and_gets_it_all_later(
    database_url: str, stream: Stream, tmp_path: Path
) -> None:
    for number in (1, 2):
        await grow(database_url, number)
        away = await sealed(NOWHERE, tmp_path, database_url)
        assert isinstance(away.trouble(), KafkaUnavailable)

    assert (await sealed(stream.settings(), tmp_path, database_url)).trouble() is None
    assert sizes((await notes(stream))[EVENTS]) == [2, 4]


async def test_a_topic_that_is_there_only_later_gets_it_all(
    database_url: str, kafka: Kafka, tmp_path: Path
) -> None:
    """The same process goes on, and the fleet is silent by then."""
    made = await Stream.create(kafka.bootstrap)
    moment = 0.0
    await grow(database_url, 1)
    async with (
        publishing(made.settings(), tmp_path) as signer,
        connected(database_url, "ledger_signer") as connection,
    ):
        signer.clock = lambda: moment
        assert len(await signer.round(connection)) == 3
        assert isinstance(signer.trouble(), KafkaUnavailable)
        await topics.create_topic(kafka.bootstrap, made.topic("notes"))
        moment += REST_SECONDS
        assert await signer.round(connection) == []
        assert signer.trouble() is None
    assert sizes((await notes(made))[EVENTS]) == [2]


async def test_the_command_publishes_and_does_not_end_well_where_it_could_not(
    database_url: str, stream: Stream, tmp_path: Path
) -> None:
    await grow(database_url, 1)
    make(tmp_path / "secret")

    def seal(bootstrap: str) -> int:
        return subprocess.run(
            [
                *(sys.executable, "-m", "ledger.cli.main", "seal", "--once", "--kafka"),
                *("--key", str(tmp_path / "secret"), "--site", "ledger.example"),
                *("--memory", str(tmp_path / "signed.json"), "--database-url", database_url),
            ],
            env=os.environ
            | {
                "LEDGER_KAFKA_BOOTSTRAP": bootstrap,
                "LEDGER_KAFKA_TOPIC_PREFIX": stream.prefix,
            },
            check=False,
            capture_output=True,
            timeout=120,
        ).returncode

    assert seal("127.0.0.1:9") == UNAVAILABLE
    assert seal(stream.bootstrap) == 0
    assert set(await notes(stream)) == {EVENTS, DECISIONS, BOTH}
    known = json.loads((tmp_path / "signed.json.kafka").read_text())["signed"]
    assert known[EVENTS]["size"] == 2
