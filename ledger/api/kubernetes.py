"""What is read of a cluster's API server: three kinds of lists, and nothing is ever written.

Only ``list`` is asked for, so that is all that a service account has to be allowed. A ReplicaSet is read for
every burst of its pods; pods where some of them must have gone unheard of; a StatefulSet now and then for its first
ordinal. Each is asked for in a thread, by the standard library, over a connection that is kept for the next.

A list without a resource version is as new as what the API server has written: whatever was created or
deleted before it was asked for is seen in it, or gone.
"""

import asyncio
import http.client
import json
import os
import re
import ssl
from collections import deque
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any, Final
from urllib.parse import quote, urlencode, urlsplit

import orjson
import structlog

from ledger.admission.review import TEMPLATE_HASH, Json
from ledger.api.access import CLUSTER
from ledger.api.braking import NoList
from ledger.errors import SetupProblem

SECONDS: Final = 2.0
"""How long a list may take: a pod waits for it."""

ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""Where Kubernetes puts what a process inside a cluster needs to ask its API server."""

THREADS: Final = 8
"""Lists of one cluster at a time."""

IDLE_SECONDS: Final = 30.0
"""For how long a connection is kept that nobody needs; API servers and what stands before them keep them longer."""

_TOKEN: Final = re.compile(rb"[\x21-\x7e]+")

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Server:
    """Where an API server is, and as whom it is asked."""

    url: str
    ca: Path | None
    token: Path | None
    """Read each time: it is replaced while it is in use."""


class Kubernetes:
    """Lists of one cluster."""

    def __init__(self, server: Server) -> None:
        parts = urlsplit(server.url)
        if parts.scheme not in ("http", "https") or parts.hostname is None:
            raise SetupProblem(f"{server.url}: it begins with http:// or https:// and names a host")
        self._host, self._port = parts.hostname, parts.port
        self._path = parts.path.rstrip("/")
        self._token = server.token
        self._context = None
        if parts.scheme == "https":
            try:
                self._context = ssl.create_default_context(cafile=server.ca)
            except OSError as error:
                raise SetupProblem(f"{server.ca}: {error}") from error
        # Of its own: one that nobody waits for any more is still at it, and keeps nobody else waiting.
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="lists")
        self._idle: deque[tuple[float, http.client.HTTPConnection]] = deque()
        """Connections that nobody uses now, and since when: the last in is the first out."""
        self._closed = False

    async def pods(self, namespace: str, template_hash: str) -> Sequence[Json]:
        """The pods of a template."""
        wanted = {"labelSelector": f"{TEMPLATE_HASH}={template_hash}"}
        return await self._list(f"/api/v1/namespaces/{_part(namespace)}/pods", wanted)

    async def replicaset(self, namespace: str, name: str) -> Json | None:
        """A ReplicaSet."""
        return await self._named("replicasets", namespace, name)

    async def statefulset(self, namespace: str, name: str) -> Json | None:
        """A StatefulSet."""
        return await self._named("statefulsets", namespace, name)

    def close(self) -> None:
        """Let the connections go that are kept; one that is in use goes behind its answer."""
        self._closed = True
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._let_go(0.0)

    async def _named(self, noun: str, namespace: str, name: str) -> Json | None:
        wanted = {"fieldSelector": f"metadata.name={name}"}
        path = f"/apis/apps/v1/namespaces/{_part(namespace)}/{noun}"
        found = await self._list(path, wanted)
        return found[0] if found else None

    async def _list(self, path: str, wanted: Mapping[str, str]) -> list[Json]:
        async with asyncio.timeout(SECONDS):
            return await asyncio.get_running_loop().run_in_executor(
                self._threads, self._asked, f"{self._path}{path}?{urlencode(wanted)}"
            )

    def _asked(self, path: str) -> list[Json]:
        headers = {"Accept": "application/json"}
        if self._token is not None:
            headers["Authorization"] = f"Bearer {_held(self._token)}"
        status, reason, said = self._got(path, headers)
        if status != 200:
            raise NoList(f"{path}: {status} {reason}", status)
        try:
            items = orjson.loads(said)["items"]
        except (ValueError, KeyError, TypeError) as error:
            raise NoList(f"{path}: it is no list: {error!r}", status) from error
        # Go has no empty lists but those that are null.
        items = [] if items is None else items
        if not isinstance(items, list):
            raise NoList(f"{path}: it is no list", status)
        return [one for one in items if isinstance(one, dict)]

    def _got(self, path: str, headers: Mapping[str, str]) -> tuple[int, str, bytes]:
        """What is answered, over a connection that was kept, or over a new one where that was closed meanwhile."""
        kept = self._kept()
        if kept is not None:
            try:
                return self._exchanged(kept, path, headers)
            except TimeoutError:
                raise
            except OSError:
                log.debug("connection_closed_meanwhile", server=self._host)
        return self._exchanged(self._opened(), path, headers)

    def _kept(self) -> http.client.HTTPConnection | None:
        """The connection that was used last, if that was not long ago."""
        with suppress(IndexError):
            since, connection = self._idle.pop()
            if monotonic() - since < IDLE_SECONDS:
                return connection
            connection.close()
        return None

    def _opened(self) -> http.client.HTTPConnection:
        if self._context is None:
            return http.client.HTTPConnection(self._host, self._port, timeout=SECONDS)
        return http.client.HTTPSConnection(
            self._host, self._port, timeout=SECONDS, context=self._context
        )

    def _exchanged(
        self, connection: http.client.HTTPConnection, path: str, headers: Mapping[str, str]
    ) -> tuple[int, str, bytes]:
        try:
            connection.request("GET", path, headers=dict(headers))
            response = connection.getresponse()
            said = response.read()
        except http.client.HTTPException as error:
            connection.close()
            raise OSError(f"{path}: {error!r}") from error
        except OSError:
            connection.close()
            raise
        if not response.will_close:
            self._idle.append((monotonic(), connection))
        # Those that lie below are never taken as long as this one is free again in time.
        self._let_go(0.0 if self._closed else IDLE_SECONDS)
        return response.status, response.reason, said

    def _let_go(self, seconds: float) -> None:
        """Close connections that nobody needed for so long."""
        with suppress(IndexError):
            while self._idle[0][0] + seconds <= monotonic():
                self._idle.popleft()[1].close()


def read(path: Path) -> dict[str, Kubernetes]:
    """The clusters that a file names; SetupProblem where it says anything else."""
    try:
        said = json.loads(path.read_bytes())
    except OSError as error:
        raise SetupProblem(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise SetupProblem(f"{path}: it is no JSON: {error}") from error
    if not isinstance(said, dict) or not said:
        raise SetupProblem(f"{path}: an object with at least one cluster belongs here")
    found = {}
    for cluster, entry in said.items():
        if not CLUSTER.fullmatch(cluster) or not isinstance(entry, dict):
            raise SetupProblem(
                f"{path}: {cluster}: the name of a cluster and an object belong here"
            )
        found[cluster] = Kubernetes(_server(entry, f"{path}: {cluster}"))
    return found


def _server(entry: dict[str, Any], where: str) -> Server:
    if entry == {"in_cluster": True}:
        host = os.environ.get("KUBERNETES_SERVICE_HOST")
        port = os.environ.get("KUBERNETES_SERVICE_PORT", "443")
        if host is None:
            raise SetupProblem(f"{where}: this process is in no cluster")
        shown = f"[{host}]" if ":" in host else host
        return Server(f"https://{shown}:{port}", ACCOUNT / "ca.crt", ACCOUNT / "token")
    if unknown := set(entry) - {"server", "ca", "token"}:
        raise SetupProblem(f"{where}: nobody knows {', '.join(sorted(unknown))}")
    if not isinstance(entry.get("server"), str):
        raise SetupProblem(f"{where}: server is an address, or in_cluster is true")
    files = [entry.get("ca"), entry.get("token")]
    if not all(one is None or isinstance(one, str) for one in files):
        raise SetupProblem(f"{where}: ca and token are files")
    ca, token = (None if one is None else Path(one) for one in files)
    return Server(entry["server"], ca, token)


def _held(token: Path) -> str:
    """What a file of a token says."""
    said = token.read_bytes().strip()
    if not _TOKEN.fullmatch(said):
        raise OSError(f"{token}: it holds no token")
    return said.decode()


def _part(name: str) -> str:
    return quote(name, safe="")
