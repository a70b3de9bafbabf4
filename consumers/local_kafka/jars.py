"""Where Kafka's jars come from, and what has to be installed before they can.

Maven resolves them, because Kafka is published as a Maven artifact with its dependencies spelled
out, and whoever runs Java behind a proxy or a mirror has already told Maven about it. No registry
is named here; the settings of the machine decide.

Each version gets a directory of its own in a cache outside the tree. It is filled beside its place
and renamed into it, so a directory that exists is complete; a lock file lets the first of several
callers do the work while the others wait for it.

Running what was fetched is the business of ``consumers.local_kafka.brokers``.
"""

import fcntl
import functools
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from ledger.errors import SetupProblem

DEFAULT_VERSION: Final = "4.3.1"

_JAVA_NEEDED: Final = 17
"""Kafka's brokers are compiled for it since 4.0."""

_MAVEN_SECONDS: Final = 600
"""Half a minute is usual for a first download; a mirror that answers at all is done long before."""

_LOG4J_VERSION: Final = "2.25.4"
"""Kafka brings a logging interface and leaves the implementation to its distribution. This one
serves both: 4.x asks for log4j 2 by itself, 3.9 still names classes of log4j 1, which the bridge
supplies. It stands first in the project below, so that Maven takes every log4j jar from it."""

_PROJECT: Final = """\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>ledger</groupId>
  <artifactId>local-kafka</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>org.apache.logging.log4j</groupId>
      <artifactId>log4j-slf4j-impl</artifactId>
      <version>{log4j}</version>
    </dependency>
    <dependency>
      <groupId>org.apache.logging.log4j</groupId>
      <artifactId>log4j-1.2-api</artifactId>
      <version>{log4j}</version>
    </dependency>
    <dependency>
      <groupId>org.apache.kafka</groupId>
      <artifactId>kafka_2.13</artifactId>
      <version>{kafka}</version>
    </dependency>
  </dependencies>
</project>
"""


def fetch(version: str = DEFAULT_VERSION) -> Path:
    """The directory holding the jars of Kafka ``version``, resolved now if they are not cached.

    Blocks for as long as Maven needs; safe to call from several processes at once.
    """
    place = _place(version)
    if place.is_dir():
        return place
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with _only_one(place.parent / "kafka.lock"):
            if not place.is_dir():
                _fill(place, version)
    except OSError as error:
        raise SetupProblem(
            f"{place.parent}: Kafka's jars cannot be kept there ({error.strerror}); "
            "LEDGER_CACHE may name another directory"
        ) from error
    return place


def missing_tools(version: str = DEFAULT_VERSION) -> tuple[str, ...]:
    """What would have to be installed before Kafka ``version`` could run here; usually nothing."""
    missing = []
    try:
        java()
    except SetupProblem:
        missing.append("java")
    if not _place(version).is_dir() and shutil.which("mvn") is None:
        missing.append("mvn")
    return tuple(missing)


def java() -> str:
    """The Java to run Kafka with: that of JAVA_HOME, else the first on the path."""
    home = os.environ.get("JAVA_HOME")
    program = str(Path(home, "bin", "java")) if home else shutil.which("java")
    hint = f"Kafka needs Java {_JAVA_NEEDED} or newer (Debian: openjdk-17-jre-headless)"
    if program is None or not os.access(program, os.X_OK):
        raise SetupProblem(f"{program or 'java'}: not found; {hint}")
    release = _java_release(program)
    if release is None:
        raise SetupProblem(f"{program}: does not say its version; {hint}")
    if release < _JAVA_NEEDED:
        raise SetupProblem(f"{program}: is Java {release}; {hint}")
    return program


def cache_directory() -> Path:
    """Where downloads are kept between runs: outside the tree, and the user's to choose."""
    chosen = os.environ.get("LEDGER_CACHE")
    if chosen:
        return Path(chosen).absolute()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "ledger").absolute()


def _place(version: str) -> Path:
    # The version becomes part of a path and of an XML file, so it may be nothing but a version.
    if re.fullmatch(r"\d+\.\d+\.\d+", version, re.ASCII) is None:
        raise SetupProblem(f"{version!r}: not a version of Kafka, which has the form 4.3.1")
    return cache_directory() / f"kafka-{version}"


@contextmanager
def _only_one(lock: Path) -> Iterator[None]:
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _fill(place: Path, version: str) -> None:
    # Whoever holds the lock is alone, so what lies half filled was left by somebody who died.
    for remains in place.parent.glob("kafka-*.partial"):
        shutil.rmtree(remains, ignore_errors=True)
    partial = Path(tempfile.mkdtemp(dir=place.parent, prefix=f"{place.name}-", suffix=".partial"))
    try:
        # mkdtemp keeps others out; a cache may be shared between users.
        partial.chmod(0o755)
        _resolve(partial, version)
        partial.rename(place)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _resolve(directory: Path, version: str) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise SetupProblem("mvn: not found; Kafka's jars are resolved by Maven (Debian: maven)")
    with tempfile.TemporaryDirectory() as project:
        Path(project, "pom.xml").write_text(
            _PROJECT.format(log4j=_LOG4J_VERSION, kafka=version), encoding="utf-8"
        )
        command = [maven, "-B", "-q", "-C", "-Dstyle.color=never"]
        command += ["dependency:copy-dependencies", f"-DoutputDirectory={directory}"]
        try:
            done = subprocess.run(
                command,
                cwd=project,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_MAVEN_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise SetupProblem(
                f"kafka_2.13:{version}: Maven was still not done after {_MAVEN_SECONDS} s"
            ) from error
    if done.returncode != 0:
        raise SetupProblem(
            f"kafka_2.13:{version}: Maven could not resolve it: {_complaint(done.stdout)}"
        )
    if not any(directory.glob(f"kafka_2.13-{version}.jar")):
        raise SetupProblem(f"kafka_2.13:{version}: Maven reported success and left no broker jar")


def _complaint(output: str) -> str:
    """The first thing Maven complained of, without addresses: a mirror's may carry a password."""
    for line in output.splitlines():
        if line.startswith("[ERROR] "):
            bare = re.sub(r"\(?\w+://\S+", "…", line.removeprefix("[ERROR] "))
            return bare.split(" -> [Help", 1)[0].strip()[:600]
    return "it did not say why"


@functools.cache
def _java_release(program: str) -> int | None:
    try:
        said = subprocess.run(
            [program, "-version"], capture_output=True, text=True, timeout=60, check=False
        ).stderr
    except (OSError, subprocess.TimeoutExpired):
        return None
    # Until Java 8 the number that counts came second: 1.8.0.
    found = re.search(r'version "(?:1\.)?(\d+)', said)
    return int(found[1]) if found else None
