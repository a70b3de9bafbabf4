"""A real Kafka in a few seconds, which can be killed and finds everything again.

A cluster is a directory. ``start`` lays it out the first time and picks up what lies there later:
the same data, the same ports, the same cluster id. Each broker is one Java process (KRaft, no
ZooKeeper) that listens on the loopback address only, writes its log to a file, and is addressed
by its process id and nothing broader.

A cluster belongs to no event loop: it may be started in one and used in another, as a fixture of
a test session needs. The thread that calls ``start`` is what it belongs to. Where ``setpriv``
can do it (any Linux with util-linux) the kernel ends the brokers together with that thread, however
the thread ends, so a test run that crashes leaves none behind; elsewhere only ``stop_all`` does.

``kill -9`` of a broker loses nothing that was acknowledged: the operating system holds the pages
and survives the process. Losing the machine is another matter, and nothing here defends against
it; that is what several brokers on several machines are for.

The jars come from ``consumers.local_kafka.jars``, topics from ``consumers.local_kafka.topics``.
"""

import asyncio
import functools
import json
import random
import shutil
import signal
import socket
import subprocess
import time
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final, NewType

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError

from consumers.local_kafka import jars
from ledger.errors import SetupProblem

BrokerId = NewType("BrokerId", int)
"""Kafka's node.id; the brokers of a cluster are numbered from 1."""

_HOST: Final = "127.0.0.1"

_PORTS: Final = range(20_000, 32_000)
"""Below the range from which the kernel serves outgoing connections. A port up there could be
given to some client while its broker is down, and the broker would not come back."""

_READY_SECONDS: Final = 120
"""Three seconds are usual; a busy machine starting several at once gets its time."""

_STOP_SECONDS: Final = 20
"""After that the broker is killed, which costs a recovery on the next start and no data."""

_HEAP: Final = "-Xmx384m"

_LAYOUT: Final = "cluster.json"

_LOGGING: Final = """\
status = error
appender.file.type = RollingFile
appender.file.name = file
appender.file.fileName = broker.log
appender.file.filePattern = broker.%i.log
appender.file.policies.type = SizeBasedTriggeringPolicy
appender.file.policies.size = 10MB
appender.file.strategy.type = DefaultRolloverStrategy
appender.file.strategy.max = 3
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d{ISO8601} %p %c{1}: %m%n
rootLogger.level = warn
rootLogger.appenderRef.file.ref = file
logger.lifecycle.name = kafka.server.KafkaRaftServer
logger.lifecycle.level = info
"""


@dataclass(slots=True)
class _Broker:
    """One broker: where it lives, and the process while there is one."""

    number: BrokerId
    directory: Path
    port: int
    controller_port: int
    process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        return f"{_HOST}:{self.port}"


class Cluster:
    """The brokers of one directory; ``bootstrap`` is what a client wants to know of them."""

    def __init__(self, java: str, libraries: Path, brokers: tuple[_Broker, ...]) -> None:
        """For ``start`` of this module, which lays out what is handed over here."""
        self._java = java
        self._libraries = libraries
        self._brokers = {broker.number: broker for broker in brokers}
        self.bootstrap: str = ",".join(broker.address for broker in brokers)

    @property
    def nodes(self) -> tuple[BrokerId, ...]:
        """Every broker, running or not."""
        return tuple(self._brokers)

    def pid(self, node: BrokerId) -> int | None:
        """The process of a broker, or nothing if it is not running."""
        process = self._brokers[node].process
        return process.pid if process is not None and process.poll() is None else None

    async def start(self, node: BrokerId) -> None:
        """Start a broker that is down, on its data and its port; return when it answers."""
        if self.pid(node) is None:
            self._launch(self._brokers[node])
        await self._answers(self._brokers[node], sees=frozenset({node}))

    async def stop(self, node: BrokerId) -> None:
        """Ask a broker to hand over its partitions and go; return when it is gone."""
        process = self._brokers[node].process
        if process is not None and process.poll() is None:
            process.send_signal(signal.SIGTERM)
            if not await _gone(process, _STOP_SECONDS):
                process.kill()
        await self.kill(node)

    async def kill(self, node: BrokerId) -> None:
        """End a broker in the middle of whatever it does; return when it is gone."""
        broker = self._brokers[node]
        if broker.process is not None:
            broker.process.kill()
            await _gone(broker.process, _STOP_SECONDS)
            broker.process = None

    async def stop_all(self) -> None:
        """Stop every broker; their directory can be started again."""
        try:
            # Together: the last controllers to go find no majority that would let them leave in
            # good order, so those are waited for once and not once each.
            await asyncio.gather(*(self.stop(node) for node in self.nodes))
        finally:
            self.kill_all()

    def kill_all(self) -> None:
        """End every broker at once, also where no event loop runs any more."""
        for broker in self._brokers.values():
            if broker.process is not None:
                broker.process.kill()
                broker.process.wait()
                broker.process = None

    async def _start_all(self) -> None:
        for broker in self._brokers.values():
            self._launch(broker)
        everyone = frozenset(self._brokers)
        for broker in self._brokers.values():
            await self._answers(broker, sees=everyone)

    def _launch(self, broker: _Broker) -> None:
        _refuse_taken_port(broker.port)
        _refuse_taken_port(broker.controller_port)
        # Kafka unpacks its compression libraries there, and a killed broker cannot clear them away.
        temporary = broker.directory / "tmp"
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir()
        command = [*_dying_with_us(), self._java, _HEAP, *_java_options(self._libraries)]
        command += ["-XX:+ExitOnOutOfMemoryError", f"-Djava.io.tmpdir={temporary}"]
        command += ["kafka.Kafka", "server.properties"]
        with (broker.directory / "console.log").open("wb") as console:
            broker.process = subprocess.Popen(
                command,
                cwd=broker.directory,
                stdin=subprocess.DEVNULL,
                stdout=console,
                stderr=subprocess.STDOUT,
                # Ctrl-C at a terminal is for us, who may still have messages to hand over.
                start_new_session=True,
            )

    async def _answers(self, broker: _Broker, *, sees: frozenset[BrokerId]) -> None:
        """Return once ``broker`` serves requests and knows all of ``sees`` as alive."""
        deadline = time.monotonic() + _READY_SECONDS
        while not sees <= await _known_to(broker):
            if broker.process is None or broker.process.poll() is not None:
                raise SetupProblem(f"{broker.address}: the broker died\n{_tail(broker.directory)}")
            if time.monotonic() > deadline:
                raise SetupProblem(
                    f"{broker.address}: the broker was not ready after {_READY_SECONDS} s\n"
                    f"{_tail(broker.directory)}"
                )
            await asyncio.sleep(0.05)


async def start(
    directory: Path,
    *,
    brokers: int = 1,
    version: str = jars.DEFAULT_VERSION,
    settings: Mapping[str, str] = MappingProxyType({}),
) -> Cluster:
    """Start the cluster that lives in ``directory``, new or as it was left; ready when returned.

    ``settings`` are server properties; they win over ours and hold for this run only.
    """
    assert brokers > 0
    java = jars.java()
    libraries = await asyncio.to_thread(jars.fetch, version)
    cluster_id, nodes = _lay_out(directory, brokers)
    for node in nodes:
        _configure(node, nodes, settings)
    await asyncio.gather(
        *(asyncio.to_thread(_format, node, cluster_id, java, libraries) for node in nodes)
    )
    cluster = Cluster(java, libraries, nodes)
    try:
        await cluster._start_all()  # noqa: SLF001 - the same module, and no one else's business
    except BaseException:
        cluster.kill_all()
        raise
    return cluster


def _lay_out(directory: Path, brokers: int) -> tuple[str, tuple[_Broker, ...]]:
    """The cluster id and the brokers of ``directory``; chosen now if nothing is there yet."""
    directory = directory.absolute()
    layout = directory / _LAYOUT
    try:
        directory.mkdir(parents=True, exist_ok=True)
        if not layout.exists():
            if any(directory.iterdir()):
                raise SetupProblem(f"{directory}: holds other files; a cluster needs its own")
            _write_layout(layout, brokers)
        found = json.loads(layout.read_text(encoding="utf-8"))
        if len(found["brokers"]) != brokers:
            raise SetupProblem(
                f"{directory}: holds a cluster of {len(found['brokers'])} brokers, not {brokers}"
            )
        nodes = []
        for number, ports in enumerate(found["brokers"], start=1):
            home = directory / f"broker-{number}"
            home.mkdir(exist_ok=True)
            nodes.append(_Broker(BrokerId(number), home, ports["port"], ports["controller_port"]))
    except OSError as error:
        raise SetupProblem(f"{directory}: no cluster can be kept there: {error}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise SetupProblem(f"{layout}: does not read as the layout of a cluster") from error
    return found["cluster_id"], tuple(nodes)


def _write_layout(layout: Path, brokers: int) -> None:
    ports = _free_ports(2 * brokers)
    fresh = {
        # Kafka's spelling of a UUID. It must not begin with a dash, or it reads as an option.
        "cluster_id": urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=").replace("-", "_"),
        "brokers": [
            {"port": port, "controller_port": controller_port}
            for port, controller_port in zip(ports[::2], ports[1::2], strict=True)
        ],
    }
    # Renamed into place: whoever finds the file finds all of it.
    draft = layout.with_suffix(".draft")
    draft.write_text(json.dumps(fresh, indent=1) + "\n", encoding="utf-8")
    draft.rename(layout)


def _configure(node: _Broker, nodes: tuple[_Broker, ...], settings: Mapping[str, str]) -> None:
    # With three or more, any one may die and a majority still elects; with two a second voter
    # would only add a second way to stop, so there the first decides alone.
    voters = nodes if len(nodes) > 2 else nodes[:1]
    copies = str(min(3, len(nodes)))
    enough = str(min(2, len(nodes)))
    votes = node in voters
    plain = f"PLAINTEXT://{node.address}"
    properties = {
        "process.roles": "broker,controller" if votes else "broker",
        "node.id": str(node.number),
        "controller.quorum.voters": ",".join(
            f"{voter.number}@{_HOST}:{voter.controller_port}" for voter in voters
        ),
        "listeners": f"{plain},CONTROLLER://{_HOST}:{node.controller_port}" if votes else plain,
        "advertised.listeners": plain,
        "inter.broker.listener.name": "PLAINTEXT",
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        # Relative to the broker's directory, so that no path has to be spelled in this file.
        "log.dirs": "data",
        # A topic that springs up from a misspelled name is a bug nobody sees.
        "auto.create.topics.enable": "false",
        "group.initial.rebalance.delay.ms": "0",
        "group.min.session.timeout.ms": "1000",
        # A killed broker is let in again only when its old session has run out, nine seconds by
        # default. Alone it can lose nothing to a successor, so there the wait is shorter; several
        # on a busy machine must not take one another for dead.
        "broker.session.timeout.ms": "4000" if len(nodes) > 1 else "2000",
        "broker.heartbeat.interval.ms": "500" if len(nodes) > 1 else "250",
        # Creating and electing costs by the partition, and these are created on first use.
        "offsets.topic.num.partitions": "4",
        "offsets.topic.replication.factor": copies,
        "transaction.state.log.num.partitions": "4",
        "transaction.state.log.replication.factor": copies,
        "transaction.state.log.min.isr": enough,
        "share.coordinator.state.topic.num.partitions": "4",
        "share.coordinator.state.topic.replication.factor": copies,
        "share.coordinator.state.topic.min.isr": enough,
        # 128 MB by default, taken at start: a third of the heap for topics nobody compacts.
        "log.cleaner.dedupe.buffer.size": "8388608",
        **settings,
    }
    lines = "".join(f"{name}={_spelled(value)}\n" for name, value in properties.items())
    (node.directory / "server.properties").write_text(lines, encoding="ascii")
    (node.directory / "log4j2.properties").write_text(_LOGGING, encoding="ascii")


def _spelled(value: str) -> str:
    """A value as a Java properties file has it: ASCII, UTF-16 escapes for the rest."""
    units = value.encode("utf-16-be")
    codes = (int.from_bytes(units[at : at + 2]) for at in range(0, len(units), 2))
    return "".join(
        chr(code) if ord(" ") < code < 127 and code != ord("\\") else f"\\u{code:04x}"
        for code in codes
    )


def _format(node: _Broker, cluster_id: str, java: str, libraries: Path) -> None:
    # Written last by the tool: whoever died before it formats again.
    if (node.directory / "data" / "meta.properties").exists():
        return
    command = [java, "-Xmx128m", "-XX:TieredStopAtLevel=1", *_java_options(libraries)]
    command += ["kafka.tools.StorageTool", "format", "--ignore-formatted"]
    command += ["--cluster-id", cluster_id, "--config", "server.properties"]
    with (node.directory / "console.log").open("wb") as console:
        done = subprocess.run(
            command,
            cwd=node.directory,
            stdin=subprocess.DEVNULL,
            stdout=console,
            stderr=subprocess.STDOUT,
            check=False,
        )
    if done.returncode != 0:
        raise SetupProblem(
            f"{node.directory}: Kafka could not format its storage\n{_tail(node.directory)}"
        )


def _java_options(libraries: Path) -> list[str]:
    return [
        # Threads of the other collectors cost more on a small machine than their pauses save.
        "-XX:+UseSerialGC",
        "-XX:-UsePerfData",
        "-Dlog4j2.configurationFile=log4j2.properties",
        "-Djava.awt.headless=true",
        "-cp",
        f"{libraries}/*",
    ]


@functools.cache
def _dying_with_us() -> tuple[str, ...]:
    """What makes the kernel end a child when the thread that started it is gone."""
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        return ()
    # Busybox has a setpriv too, which cannot do this.
    said = subprocess.run([setpriv, "--help"], capture_output=True, text=True, check=False)
    return (setpriv, "--pdeathsig", "KILL", "--") if "--pdeathsig" in said.stdout else ()


def _free_ports(count: int) -> list[int]:
    found: list[int] = []
    # Luck keeps two clusters that start at the same moment apart; nothing here is ever replayed.
    for port in random.SystemRandom().sample(_PORTS, len(_PORTS)):
        if _is_free(port):
            found.append(port)
        if len(found) == count:
            return found
    raise SetupProblem(f"{_HOST}: no {count} free ports from {_PORTS.start} to {_PORTS.stop - 1}")


def _refuse_taken_port(port: int) -> None:
    if not _is_free(port):
        raise SetupProblem(
            f"{_HOST}:{port}: taken by another process; is this cluster running already?"
        )


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        # As Kafka does it: connections of a broker that just died do not keep its port.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((_HOST, port))
        except OSError:
            return False
    return True


async def _gone(process: subprocess.Popen[bytes], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while process.poll() is None:
        if time.monotonic() > deadline:
            return False
        await asyncio.sleep(0.02)
    return True


async def _known_to(broker: _Broker) -> frozenset[BrokerId]:
    """The brokers this one counts as alive; nobody, while it does not answer."""
    try:
        # Asked first because the client would log every refused connection as an error.
        _, writer = await asyncio.open_connection(_HOST, broker.port)
    except OSError:
        return frozenset()
    writer.close()
    admin = AIOKafkaAdminClient(bootstrap_servers=broker.address, request_timeout_ms=2_000)
    try:
        await admin.start()
        described = await admin.describe_cluster()
    except (KafkaError, TimeoutError):
        return frozenset()
    finally:
        await admin.close()
    return frozenset(BrokerId(known["node_id"]) for known in described["brokers"])


def _tail(directory: Path) -> str:
    """The end of what a broker wrote, console first: an early death is told only there."""
    lines: list[str] = []
    for name in ("console.log", "broker.log"):
        log = directory / name
        if log.exists():
            text = log.read_text(encoding="utf-8", errors="replace")
            told = [line for line in text.splitlines() if not line.startswith("\tat ")]
            lines += [f"  {name}: {line}" for line in told[-12:]]
    return "\n".join(lines) or f"  nothing was written in {directory}"
