"""An API server, as far as ``ledger serve`` reads one: it answers each list with one ReplicaSet.

It is as large as usual ones are, and is answered at once: what a benchmark shows is what asking costs.
"""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final

_NAMED: Final = re.compile(rb"metadata\.name%3D([a-z0-9-]+)-7 ")


@asynccontextmanager
async def listing(cluster: str, replicas: int) -> AsyncIterator[dict[str, object]]:
    """One on a port of its own, by what a file of API servers says of it."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                named = _NAMED.search(head)
                body = (
                    b'{"items":[]}' if named is None else _replicaset(named[1].decode(), replicas)
                )
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(body) + body)
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    try:
        port = server.sockets[0].getsockname()[1]
        yield {cluster: {"server": f"http://127.0.0.1:{port}"}}
    finally:
        server.close()


def _replicaset(deployment: str, replicas: int) -> bytes:
    metadata = {
        "namespace": "shop",
        "name": f"{deployment}-7",
        "uid": f"{deployment}-7",
        "resourceVersion": "1",
        "labels": {"app": deployment, "pod-template-hash": "7"},
        "annotations": {"deployment.kubernetes.io/desired-replicas": f"{replicas}"},
        "ownerReferences": [
            {"apiVersion": "apps/v1", "kind": "Deployment", "name": deployment, "controller": True}
        ],
        "managedFields": [{"manager": "controller", "fieldsV1": {"f:spec": "x" * 1_500}}],
    }
    template = {"spec": {"containers": [{"name": "web", "env": [{"value": "x" * 1_500}]}]}}
    spec = {"replicas": replicas, "template": template}
    return json.dumps({"kind": "List", "items": [{"metadata": metadata, "spec": spec}]}).encode()
