"""compose.yaml says what it should, as far as that shows without a Docker engine.

Where a client with the compose plugin is installed, it reads the file too.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import typer.main
import yaml

from consumers.local_kafka import jars
from ledger.api import access
from ledger.cli.commands import every_command

FILE = Path(__file__).parents[2] / "compose.yaml"
COMPOSE: dict[str, Any] = yaml.safe_load(FILE.read_text(encoding="utf-8"))
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]

FOREIGN = {name for name, service in SERVICES.items() if "build" not in service}
OWN = set(SERVICES) - FOREIGN
ONCE = {"topics", "migrate"}

TOPICS = {
    "ledger.cluster",
    "ledger.workload",
    "ledger.quota",
    "ledger.disk",
    "ledger.control",
    "ledger.decisions",
    "ledger.deadletter",
    "ledger.notes",
}


def test_the_services_are_these() -> None:
    assert {"postgres", "kafka", "topics"} == FOREIGN
    assert {"migrate", "consume", "decide", "maintain", "publish", "serve"} == OWN


@pytest.mark.parametrize("name", sorted(FOREIGN))
def test_an_image_from_elsewhere_is_pinned_to_a_release(name: str) -> None:
    assert re.fullmatch(r"[a-z/]+:\d+\.\d+(\.\d+)?", SERVICES[name]["image"])


def test_postgres_and_kafka_are_of_the_versions_the_tests_run_against() -> None:
    assert SERVICES["postgres"]["image"].startswith("postgres:18.")
    assert SERVICES["kafka"]["image"] == f"apache/kafka:{jars.DEFAULT_VERSION}"
    assert SERVICES["topics"]["image"] == SERVICES["kafka"]["image"]


def test_kafka_needs_no_zookeeper() -> None:
    assert "zookeeper" not in FILE.read_text(encoding="utf-8").lower()
    assert SERVICES["kafka"]["environment"]["KAFKA_PROCESS_ROLES"] == "broker,controller"


def test_containers_and_the_host_each_have_a_door_of_their_own_to_kafka() -> None:
    kafka = SERVICES["kafka"]["environment"]
    advertised = dict(
        re.findall(r"(\w+)://([^,]+)", kafka["KAFKA_ADVERTISED_LISTENERS"].replace("${", "{"))
    )
    inside = advertised[kafka["KAFKA_INTER_BROKER_LISTENER_NAME"]]

    assert advertised["HOST"].startswith("127.0.0.1:")
    for name in OWN:
        assert SERVICES[name]["environment"]["LEDGER_KAFKA_BOOTSTRAP"] == inside


@pytest.mark.parametrize("name", ["postgres", "kafka"])
def test_what_others_wait_for_says_when_it_is_well_and_keeps_its_data(name: str) -> None:
    service = SERVICES[name]

    assert service["healthcheck"]["test"][0] == "CMD"
    assert [volume.split(":")[0] for volume in service["volumes"]] == [name]


def test_every_volume_is_declared_and_used() -> None:
    used = {
        volume.split(":")[0]
        for service in SERVICES.values()
        for volume in service.get("volumes", [])
    }

    assert used == set(COMPOSE["volumes"])


def test_only_the_host_itself_reaches_a_port() -> None:
    ports = [port for service in SERVICES.values() for port in service.get("ports", [])]

    assert ports
    assert all(port.startswith("127.0.0.1:") for port in ports)


@pytest.mark.parametrize("name", sorted(OWN))
def test_a_service_of_ours_runs_a_command_that_exists(name: str) -> None:
    commands = getattr(typer.main.get_command(every_command()), "commands", {})

    assert SERVICES[name]["command"][0] == name
    assert name in commands


@pytest.mark.parametrize("name", sorted(OWN))
def test_a_service_of_ours_may_do_little(name: str) -> None:
    service = SERVICES[name]
    recipe = service["build"]["dockerfile_inline"].splitlines()

    assert re.fullmatch(r"USER [1-9]\d*:[1-9]\d*", next(x for x in recipe if x.startswith("USER")))
    assert any("--require-hashes" in line and "requirements.lock.txt" in line for line in recipe)
    assert all("python:3.12-slim" in line for line in recipe if line.startswith("FROM"))
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_who_waits_waits_for_something_that_will_come(name: str) -> None:
    for other, how in SERVICES[name].get("depends_on", {}).items():
        if other in ONCE:
            assert how["condition"] == "service_completed_successfully"
        else:
            assert how["condition"] == "service_healthy"
            assert "healthcheck" in SERVICES[other]


@pytest.mark.parametrize("name", sorted(SERVICES))
def test_what_should_run_is_started_again_and_what_ran_is_not(name: str) -> None:
    assert SERVICES[name]["restart"] == ("no" if name in ONCE else "unless-stopped")


def test_the_topics_of_the_contract_are_created() -> None:
    (script,) = SERVICES["topics"]["command"]
    listed = re.search(r"for topic in(.*?)\ndo\n", script, re.DOTALL)

    assert listed is not None
    assert set(listed[1].replace("\\\n", " ").split()) == TOPICS
    assert "--if-not-exists" in script


def test_nobody_may_come_in_over_http_until_a_token_is_set(tmp_path: Path) -> None:
    content = COMPOSE["configs"]["access"]["content"]
    file = tmp_path / "access.json"
    file.write_text(re.sub(r"\$\{LEDGER_HTTP_TOKEN_SHA256:-(\w+)\}", r"\1", content))

    tokens = access.read(file).tokens

    assert [digest for digest, _ in tokens] == [bytes(32)]


def test_no_password_is_written_down() -> None:
    passwords = [
        value
        for service in SERVICES.values()
        for key, value in service.get("environment", {}).items()
        if "PASSWORD" in key
    ]

    assert passwords
    assert all(value.startswith("${LEDGER_POSTGRES_PASSWORD:?") for value in passwords)
    assert not re.search(r"://\w+:[^@\s/]*@", FILE.read_text(encoding="utf-8"))


def _compose(docker: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [docker, "compose", *arguments],
        env={**os.environ, "LEDGER_POSTGRES_PASSWORD": "for-reading-only"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


DOCKER = shutil.which("docker")

# Only where a client can be asked: elsewhere there is nothing that could be tested.
if DOCKER is not None and _compose(DOCKER, "version").returncode == 0:

    def test_docker_reads_it() -> None:
        read = _compose(str(DOCKER), "--file", str(FILE), "config", "--quiet")

        assert read.returncode == 0, read.stderr
