"""Every import contract of pyproject.toml bites: each violation below is caught by name.

The violations are planted in a skeleton of rooms whose modules do nothing but import what they may,
not in a copy of the code: what is tested is the contract, not today's modules. One child
process reads all skeletons, because import-linter looks packages up where this process has
already found the real ones.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]

ROOMS = (
    *("ledger/units.py", "ledger/errors.py", "ledger/facts/event.py", "ledger/events/codec.py"),
    *(f"ledger/core/{name}/answer.py" for name in ("capacity", "disk", "division")),
    *(f"ledger/core/{name}/answer.py" for name in ("fairshare", "placement", "spot")),
    *("ledger/core/lot.py", "ledger/core/shares.py"),
    *("ledger/reducers/world.py", "ledger/decisions/decide.py", "ledger/log/append.py"),
    *("ledger/views/rows.py", "ledger/engine/loop.py", "ledger/replay/verify.py"),
    "ledger/admission/answering.py",
    *(
        "ledger/api/serve.py",
        "ledger/client.py",
        "ledger/cli/main.py",
        "ledger/cli/metrics/collecting.py",
    ),
    *("consumers/__main__.py", "consumers/settings.py", "consumers/feed.py"),
)

FLOW = "The data flows one way"
SYSTEMS = "The systems of the core do not know each other"
PURE = "Pure rooms do no input or output, read no clock and draw no luck"
POSTGRES = "Only the log and the views speak to Postgres"
KAFKA = "Only consumers speak to Kafka"
BORDER = "Input is judged at the border"
METRICS = "What is counted is told to monitoring by the command"
HTTP = "Only the HTTP room speaks HTTP"
ASKS = "The HTTP room asks the log, the views and the replay, nothing that decides"
CLIENT = "Whoever asks over HTTP needs nothing of the ledger but its answers"
SETTINGS = "Settings are read where a process begins"
FEEDERS = "The ledger does not know who feeds it, but for the command that starts both"
CONSUMERS = "Consumers know events, facts and the log, nothing behind it"
CYCLES = "No cycles, at any depth"

Planted = tuple[str, str]
"""A module and what it imports, as in ``("ledger/core/lot.py", "random")``."""

CAUGHT: Mapping[Planted, str] = {
    ("ledger/units.py", "ledger.errors"): FLOW,
    ("ledger/errors.py", "ledger.units"): FLOW,
    ("ledger/facts/event.py", "ledger.events.codec"): FLOW,
    ("ledger/core/division/answer.py", "ledger.reducers.world"): FLOW,
    ("ledger/core/division/answer.py", "ledger.events.codec"): FLOW,
    ("ledger/events/codec.py", "ledger.core.division.answer"): FLOW,
    ("ledger/reducers/world.py", "ledger.core.division.answer"): FLOW,
    ("ledger/reducers/world.py", "ledger.decisions.decide"): FLOW,
    ("ledger/decisions/decide.py", "ledger.log.append"): FLOW,
    ("ledger/log/append.py", "ledger.decisions.decide"): FLOW,
    ("ledger/log/append.py", "ledger.views.rows"): FLOW,
    ("ledger/views/rows.py", "ledger.log.append"): FLOW,
    ("ledger/admission/answering.py", "ledger.decisions.decide"): FLOW,
    ("ledger/admission/answering.py", "ledger.log.append"): FLOW,
    ("ledger/log/append.py", "ledger.admission.answering"): FLOW,
    ("ledger/replay/verify.py", "ledger.engine.loop"): FLOW,
    ("ledger/engine/loop.py", "ledger.replay.verify"): FLOW,
    ("ledger/engine/loop.py", "ledger.cli.main"): FLOW,
    ("ledger/log/append.py", "ledger.api.serve"): FLOW,
    ("ledger/attic/box.py", "ledger.units"): FLOW,
    ("ledger/disk.py", "ledger.core.spot.answer"): FLOW,
    ("ledger/core/spot/answer.py", "ledger.core.division.answer"): SYSTEMS,
    ("ledger/core/capacity/answer.py", "ledger.core.placement.answer"): SYSTEMS,
    ("ledger/core/placement/answer.py", "ledger.core.capacity.answer"): SYSTEMS,
    ("ledger/core/disk/answer.py", "ledger.core.fairshare.answer"): SYSTEMS,
    ("ledger/core/fairshare/answer.py", "ledger.core.disk.answer"): SYSTEMS,
    ("ledger/core/lot.py", "ledger.core.division.answer"): SYSTEMS,
    ("ledger/core/shares.py", "ledger.core.lot"): SYSTEMS,
    ("ledger/core/divide.py", "ledger.core.lot"): SYSTEMS,
    ("ledger/core/lot.py", "random"): PURE,
    ("ledger/facts/event.py", "datetime"): PURE,
    ("ledger/reducers/world.py", "time"): PURE,
    ("ledger/decisions/decide.py", "logging"): PURE,
    ("ledger/units.py", "os.path"): PURE,
    ("ledger/errors.py", "asyncio"): PURE,
    ("ledger/core/division/answer.py", "ledger.facts.event"): "The core knows no fact",
    ("ledger/decisions/decide.py", "ledger.events.codec"): (
        "Decisions are made from facts, not from bytes"
    ),
    ("ledger/log/append.py", "ledger.core.division.answer"): "The log keeps facts and judges none",
    ("ledger/log/append.py", "ledger.reducers.world"): "The log keeps facts and judges none",
    ("ledger/views/rows.py", "ledger.events.codec"): "Views show facts",
    ("ledger/views/rows.py", "ledger.reducers.world"): "Views show facts",
    ("ledger/engine/loop.py", "asyncpg"): POSTGRES,
    ("ledger/cli/main.py", "sqlalchemy.ext.asyncio"): POSTGRES,
    ("consumers/feed.py", "asyncpg"): POSTGRES,
    ("ledger/log/append.py", "aiokafka"): KAFKA,
    ("ledger/cli/main.py", "aiokafka.errors"): KAFKA,
    ("consumers/feed.py", "confluent_kafka"): "A second Kafka client is for tests",
    ("ledger/log/append.py", "pydantic"): BORDER,
    ("ledger/cli/main.py", "fastapi"): HTTP,
    ("ledger/core/lot.py", "starlette.requests"): HTTP,
    ("ledger/log/append.py", "uvicorn"): HTTP,
    ("ledger/api/serve.py", "ledger.engine.loop"): ASKS,
    ("ledger/api/serve.py", "ledger.decisions.decide"): ASKS,
    ("ledger/client.py", "ledger.log.append"): CLIENT,
    ("ledger/client.py", "ledger.api.serve"): FLOW,
    ("consumers/feed.py", "pydantic"): BORDER,
    ("ledger/engine/loop.py", "prometheus_client"): METRICS,
    ("consumers/feed.py", "prometheus_client"): METRICS,
    ("ledger/cli/main.py", "matplotlib"): "Pictures are drawn by one command",
    ("ledger/log/append.py", "pyarrow"): "Parquet is written and read in two places",
    ("ledger/log/append.py", "pydantic_settings"): "Settings are read where a process begins",
    ("ledger/log/append.py", "consumers.feed"): FEEDERS,
    ("ledger/engine/loop.py", "consumers.feed"): FEEDERS,
    ("consumers/feed.py", "ledger.engine.loop"): CONSUMERS,
    ("consumers/feed.py", "ledger.core.division.answer"): CONSUMERS,
    ("consumers/feed.py", "ledger.cli.main"): CONSUMERS,
    ("consumers/letters/dead.py", "consumers.feed:consumers.letters.dead"): CYCLES,
    ("ledger/log/tail.py", "ledger.log.append:ledger.log.tail"): CYCLES,
}
"""What is planted and which contract says no. ``a:b`` plants the way back, ``b``, in ``a``."""

ALLOWED: tuple[Planted, ...] = (
    ("ledger/facts/event.py", "ledger.units"),
    ("ledger/events/codec.py", "ledger.facts.event"),
    ("ledger/events/codec.py", "pydantic"),
    ("ledger/core/division/answer.py", "ledger.core.lot"),
    ("ledger/core/spot/answer.py", "ledger.core.shares"),
    ("ledger/core/lot.py", "hashlib"),
    ("ledger/reducers/world.py", "immutables"),
    ("ledger/decisions/decide.py", "ledger.core.division.answer"),
    ("ledger/decisions/decide.py", "ledger.reducers.world"),
    ("ledger/log/append.py", "ledger.events.codec"),
    ("ledger/log/append.py", "asyncpg"),
    ("ledger/views/rows.py", "sqlalchemy"),
    ("ledger/engine/loop.py", "ledger.decisions.decide"),
    ("ledger/engine/loop.py", "ledger.views.rows"),
    ("ledger/admission/answering.py", "ledger.core.spot.answer"),
    ("ledger/admission/answering.py", "ledger.events.codec"),
    ("ledger/engine/loop.py", "ledger.admission.answering"),
    ("ledger/api/serve.py", "ledger.admission.answering"),
    ("ledger/replay/verify.py", "ledger.log.append"),
    ("ledger/api/serve.py", "ledger.log.append"),
    ("ledger/api/serve.py", "ledger.views.rows"),
    ("ledger/api/serve.py", "ledger.replay.verify"),
    ("ledger/api/serve.py", "fastapi"),
    ("ledger/api/serve.py", "starlette"),
    ("ledger/api/serve.py", "uvicorn"),
    ("ledger/api/serve.py", "pydantic"),
    ("ledger/cli/main.py", "consumers.feed"),
    ("ledger/cli/metrics/collecting.py", "prometheus_client"),
    ("ledger/cli/what_if/pictures.py", "matplotlib"),
    ("ledger/cli/arrow_files.py", "pyarrow"),
    ("ledger/log/archive/parquet.py", "pyarrow"),
    ("ledger/cli/main.py", "pydantic_settings"),
    ("consumers/settings.py", "pydantic_settings"),
    ("consumers/__main__.py", "pydantic"),
    ("consumers/feed.py", "ledger.log.append"),
    ("consumers/feed.py", "aiokafka"),
)

LINT_EACH = """
import contextlib, importlib, io, json, os, sys
from importlinter import configuration
from importlinter.application import use_cases
configuration.configure()
for place in sys.argv[1:]:
    os.chdir(place)
    sys.path[0] = place
    importlib.invalidate_caches()
    with contextlib.redirect_stdout(io.StringIO()) as said:
        use_cases.lint_imports("pyproject.toml", cache_dir=None, no_logo=True, is_debug_mode=True)
    lines = [line.strip() for line in said.getvalue().splitlines()]
    print(json.dumps([line.removesuffix(" BROKEN") for line in lines if line.endswith(" BROKEN")]))
"""

Verdicts = Mapping[Planted | None, list[str]]


def build_skeleton(place: Path, planted: tuple[Planted, ...]) -> None:
    """Lay out every room with an empty module, then add the planted imports."""
    settings = REPOSITORY.joinpath("pyproject.toml").read_text(encoding="utf-8")
    place.mkdir()
    place.joinpath("pyproject.toml").write_text(settings, encoding="utf-8")
    lines: dict[str, list[str]] = {room: [] for room in ROOMS}
    for module, wanted in planted:
        there, _, back = wanted.partition(":")
        lines.setdefault(module, []).append(f"import {there}")
        if there.startswith(("ledger.", "consumers.")):
            lines.setdefault(f"{there.replace('.', '/')}.py", [])
        if back:
            lines[f"{there.replace('.', '/')}.py"].append(f"import {back}")
    for module, text in lines.items():
        file = place / module
        file.parent.mkdir(parents=True, exist_ok=True)
        for package in file.relative_to(place).parents[:-1]:
            place.joinpath(package, "__init__.py").touch()
        file.write_text("\n".join(text), encoding="utf-8")


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Verdicts:
    """The contracts that each planted import breaks; under None those that allowed ones break."""
    top = tmp_path_factory.mktemp("skeletons")
    planted: list[Planted | None] = [None, *CAUGHT]
    for number, one in enumerate(planted):
        build_skeleton(top / str(number), ALLOWED if one is None else (*ALLOWED, one))
    places = [str(top / str(number)) for number in range(len(planted))]

    run = subprocess.run(
        [sys.executable, "-c", LINT_EACH, *places],
        env=os.environ | {"COLUMNS": "200"},  # no contract's name is broken over two lines
        capture_output=True,
        text=True,
        check=False,
    )

    assert run.returncode == 0, run.stderr
    return dict(zip(planted, map(json.loads, run.stdout.splitlines()), strict=True))


def test_what_the_rooms_may_use_breaks_nothing(broken: Verdicts) -> None:
    assert broken[None] == []


@pytest.mark.parametrize("planted", CAUGHT, ids=" imports ".join)
def test_a_planted_violation_is_caught(planted: Planted, broken: Verdicts) -> None:
    assert CAUGHT[planted] in broken[planted]


def test_every_contract_is_broken_by_something() -> None:
    settings = REPOSITORY.joinpath("pyproject.toml").read_text(encoding="utf-8")

    for contract in settings.split("[[tool.importlinter.contracts]]")[1:]:
        name = contract.split('name = "', 1)[1].split('"', 1)[0]
        assert name in CAUGHT.values()
