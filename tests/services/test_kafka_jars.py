"""Getting Kafka's jars: done once, left whole, and plainly refused when it cannot be done.

Java and Maven are stand-ins here, written by the tests: what matters is how ours deals with what
they do. That the real ones work is seen wherever a broker starts.
"""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from consumers.local_kafka import jars
from ledger.errors import SetupProblem

VERSION = "9.9.9"

RESOLVES = """\
for argument in "$@"; do
  case $argument in -DoutputDirectory=*) directory=${argument#*=} ;; esac
done
grep -q "<version>9.9.9</version>" pom.xml || exit 1
echo run >> "$LEDGER_CACHE/runs"
sleep 0.2
touch "$directory/kafka_2.13-9.9.9.jar"
"""

FAILS = """\
echo "[ERROR] Could not find kafka_2.13:jar:9.9.9 in mine (https://me:secret@mirror/x) -> [Help 1]"
echo "[ERROR] To see the full stack trace, re-run with -e"
exit 1
"""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    directory = tmp_path / "cache"
    monkeypatch.setenv("LEDGER_CACHE", str(directory))
    return directory


@pytest.fixture(autouse=True)
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    directory = tmp_path / "bin"
    directory.mkdir()
    monkeypatch.setenv("PATH", f"{directory}:/usr/bin:/bin")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    return directory


def test_jars_are_resolved_once_however_many_ask(cache: Path, tools: Path) -> None:
    _install(tools, "mvn", RESOLVES)

    with ThreadPoolExecutor(4) as pool:
        places = list(pool.map(jars.fetch, [VERSION] * 4))

    assert set(places) == {cache / "kafka-9.9.9"}
    assert [jar.name for jar in places[0].iterdir()] == ["kafka_2.13-9.9.9.jar"]
    assert (cache / "runs").read_text(encoding="utf-8") == "run\n"


def test_what_a_dead_caller_left_half_done_is_cleared_away(cache: Path, tools: Path) -> None:
    _install(tools, "mvn", RESOLVES)
    (cache / "kafka-9.9.9-abc.partial").mkdir(parents=True)

    place = jars.fetch(VERSION)

    assert sorted(path.name for path in cache.iterdir()) == ["kafka-9.9.9", "kafka.lock", "runs"]
    assert place.is_dir()


def test_a_failed_resolution_leaves_nothing_and_says_what_maven_said(
    cache: Path, tools: Path
) -> None:
    _install(tools, "mvn", FAILS)

    with pytest.raises(SetupProblem) as caught:
        jars.fetch(VERSION)

    said = str(caught.value)
    assert "Could not find kafka_2.13:jar:9.9.9 in mine" in said
    assert "secret" not in said
    assert "stack trace" not in said
    assert [path.name for path in cache.iterdir()] == ["kafka.lock"]


def test_maven_that_succeeds_without_a_broker_is_not_believed(tools: Path) -> None:
    _install(tools, "mvn", "exit 0")

    with pytest.raises(SetupProblem, match="left no broker jar"):
        jars.fetch(VERSION)


def test_cached_jars_need_no_maven(
    cache: Path, tools: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _install(tools, "java", "echo 'openjdk version \"21.0.2\" 2024-01-16' >&2")
    monkeypatch.setenv("PATH", str(tools))

    assert jars.missing_tools(VERSION) == ("mvn",)
    (cache / "kafka-9.9.9").mkdir(parents=True)
    assert jars.missing_tools(VERSION) == ()
    assert jars.fetch(VERSION) == cache / "kafka-9.9.9"


@pytest.mark.parametrize("said", ['version "1.8.0_402"', 'version "11.0.2"', "no idea"])
def test_an_older_java_will_not_do(tools: Path, said: str) -> None:
    _install(tools, "java", f"echo 'openjdk {said}' >&2")

    with pytest.raises(SetupProblem, match="Java 17 or newer"):
        jars.java()
    assert "java" in jars.missing_tools(VERSION)


def test_the_java_of_java_home_comes_first(
    tools: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    (home / "bin").mkdir(parents=True)
    _install(home / "bin", "java", "echo 'openjdk version \"17\" 2021-09-14' >&2")
    _install(tools, "java", "echo 'openjdk version \"25\" 2025-09-16' >&2")
    monkeypatch.setenv("JAVA_HOME", str(home))

    assert jars.java() == str(home / "bin" / "java")


def test_nothing_installed_is_said_by_name(tools: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tools))

    assert jars.missing_tools(VERSION) == ("java", "mvn")
    with pytest.raises(SetupProblem, match="mvn: not found"):
        jars.fetch(VERSION)
    with pytest.raises(SetupProblem, match="java: not found"):
        jars.java()


@pytest.mark.parametrize("version", ["4.3", "../../etc", "4.3.1-rc1", "4.3.1\n", "latest", ""])
def test_only_a_version_is_taken_for_a_version(version: str) -> None:
    with pytest.raises(SetupProblem, match="not a version"):
        jars.fetch(version)


def test_a_cache_that_cannot_be_written_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("LEDGER_CACHE", str(tmp_path / "file" / "cache"))

    with pytest.raises(SetupProblem, match="LEDGER_CACHE may name another"):
        jars.fetch(VERSION)


def _install(directory: Path, name: str, script: str) -> None:
    program = directory / name
    program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    program.chmod(0o755)
