"""Where metrics are served: an HTTP port of the process itself, if it was given one.

Prometheus text at ``/metrics``, on the loopback address unless told otherwise. The server is a thread,
so that it answers while the process is busy. Only what a process was given to collect is served:
nothing of the interpreter or the machine.
"""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol, cast

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector as Registered

from ledger.cli.aside import aside
from ledger.cli.metrics.options import LOOPBACK
from ledger.errors import SetupProblem


class Collector(Protocol):
    """What is asked at each scrape."""

    def collect(self) -> Iterator[Family]:
        """The metrics as they are now."""


@contextmanager
def serving(port: int | None, address: str, *collectors: Collector) -> Iterator[None]:
    """Serve what is collected for as long as the block runs; nothing where there is no port."""
    if port is None:
        yield
        return
    registry = CollectorRegistry(auto_describe=False)
    for collector in collectors:
        registry.register(cast(Registered, collector))  # It asks for no more than ``collect``.
    try:
        server, thread = start_http_server(port, address, registry)
    except OSError as error:
        raise SetupProblem(f"metrics on {address}:{port}: {error.strerror or error}") from error
    try:
        if port == 0:
            shown = f"[{address}]" if ":" in address else address
            aside.print(
                f"metrics: http://{shown}:{server.server_port}/metrics",
                markup=False,
                soft_wrap=True,
            )
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def free_port() -> int:
    """A port of the loopback address that nobody listens on just now."""
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        port: int = probe.getsockname()[1]
        return port
