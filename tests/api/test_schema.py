"""Whatever the OpenAPI document allows, and some of what it does not, is answered as it says.

Asked is a service of a fleet that has something to show, by somebody who may do everything there, while its
log is decided: so each operation is also met where it does what it is for.
"""

import asyncio
import json
import re
import sys
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

from ledger.cli import http_service
from ledger.engine.decider import decide
from ledger.log import lines
from ledger.log.database import connected
from tests.api.admitting import CLUSTER, FLEET, deployment, pod, replicaset, review, told
from tests.api.serving import Service, serving, write_access
from tests.engine.deciding import decide_all
from tests.events_for_tests import cluster_line, policy_line, workload_line

EXAMPLES = 8
"""Of each kind for each operation; the seed is fixed, so that a run can be repeated."""

TOKENS: Final = {
    "every-token": {
        "name": "everything",
        "roles": ["admission", "ingest", "operate", "read"],
        "fleets": [FLEET],
        "cluster": CLUSTER,
    },
    "ingest-token": {"name": "agent", "roles": ["ingest"]},
}

OTHERWISE: Final = {
    ("delete", "/v1/jobs/{job}"): 204,
    ("post", "/v1/quarantine/{position}/discard"): 204,
    ("post", "/v1/fleets/{fleet}/jobs"): 202,
}
"""What is answered where it is done, if that is not 200."""

Json = dict[str, Any]


async def seed(url: str) -> None:
    """Clusters, divided workloads, and a Deployment whose pods are split."""
    async with connected(url, "ledger_writer") as connection:
        await lines.ingest(
            connection,
            [
                *(cluster_line(number, fleet=FLEET) for number in (1, 2)),
                *(
                    workload_line(
                        number, replicas=3, fleet=FLEET, name=f"w{number}", weights={"c1": 1}
                    )
                    for number in range(3)
                ),
                deployment("web", 6, "3"),
                replicaset("web", "7", 6),
            ],
        )
    await decide_all(url)


@asynccontextmanager
async def decided(url: str) -> AsyncIterator[None]:
    """Whatever comes while the block runs is decided at once."""
    stop = asyncio.Event()
    deciding = asyncio.create_task(decide(url, holder="tests", until_idle=False, stop=stop))
    try:
        yield
    finally:
        stop.set()
        await deciding


async def set_aside(service: Service) -> list[int]:
    """Messages in quarantine, by their positions, that could be let in."""
    sent = [policy_line(number, fleet=FLEET) for number in range(2)]
    said = await service.send(sent)
    assert {item["reason"] for item in said.json["items"]} == {"wrong_topic"}
    waiting = await service.ask("GET", "/v1/quarantine", token="every-token")
    return [row["position"] for row in waiting.json["items"]]


async def job(service: Service) -> str:
    path = f"/v1/fleets/{FLEET}/jobs"
    started = await service.ask("POST", path, b'{"kind": "replay"}', token="every-token")
    found: str = started.json["id"]
    return found


def pointed(document: Json, positions: list[int], started: str) -> Json:
    """The document, with what there is here to ask about."""
    names = {"fleet": [FLEET, "elsewhere"], "cluster": [CLUSTER, "elsewhere"], "number": range(9)}
    paths = document["paths"]
    for operations in paths.values():
        for operation in operations.values():
            for parameter in operation.get("parameters", ()):
                known = names.get(parameter["name"])
                if parameter["in"] == "path" and known is not None:
                    parameter["schema"] = {**parameter["schema"], "enum": list(known)}
                    parameter["example"] = known[0]
    for path, example in (
        ("/v1/quarantine/{position}/release", positions[0]),
        ("/v1/quarantine/{position}/discard", positions[1]),
        ("/v1/jobs/{job}", started),
    ):
        for operation in paths[path].values():
            operation["parameters"][0]["example"] = example
    for path, values in (("explain", {"what": "shop/w1"}), ("diff", {"from": "1", "to": "4"})):
        for parameter in paths[f"/v1/fleets/{{fleet}}/{path}"]["get"]["parameters"]:
            if parameter["name"] in values:
                parameter["example"] = values[parameter["name"]]
    bodies: dict[str, Json] = {
        "/v1/quarantine/{position}/release": {"why": "it is ours"},
        "/v1/quarantine/{position}/discard": {"why": "it is not"},
        "/v1/fleets/{fleet}/jobs": {"kind": "replay"},
        **{path: review(pod()) for path in paths if path.startswith("/admission/")},
    }
    for path, body in bodies.items():
        paths[path]["post"]["requestBody"]["content"]["application/json"]["example"] = body
    event = json.loads(
        told("cluster.cluster.upserted", "c3", {"name": "c3", "region": "r", "zone": "z"})
    )
    content = paths["/v1/events"]["post"]["requestBody"]["content"]
    content["application/cloudevents+json"]["example"] = event
    content["application/cloudevents-batch+json"]["example"] = [event]
    return document


def answered(report: Path, document: Json) -> dict[tuple[str, str], set[int]]:
    """With what each operation was answered."""
    found: dict[tuple[str, str], set[int]] = defaultdict(set)
    operations = [(method, path) for path, some in document["paths"].items() for method in some]
    for entry in json.loads(report.read_text())["log"]["entries"]:
        asked = entry["request"]
        path = re.sub("^[a-z]+://[^/]+", "", asked["url"]).partition("?")[0]
        for method, template in operations:
            pattern = re.sub(r"\{[a-z]+\}", "[^/]+", template)
            if asked["method"].lower() == method and re.fullmatch(pattern, path):
                found[method, template].add(entry["response"]["status"])
    return found


def asked_of(document: Json) -> Iterator[tuple[str, str]]:
    """Every operation that is asked for."""
    for path, operations in document["paths"].items():
        if not path.endswith("-stream"):
            yield from ((method, path) for method in operations)


async def test_no_request_ends_in_a_server_error_or_breaks_the_document(
    database_url: str, tmp_path: Path
) -> None:
    path, report = tmp_path / "openapi.json", tmp_path / "report.har"
    write_access(tmp_path / "access.json", TOKENS)
    await seed(database_url)
    async with serving(database_url, tmp_path) as service, decided(database_url):
        positions = await set_aside(service)
        document = pointed(json.loads(http_service.document()), positions, await job(service))
        path.write_text(json.dumps(document))
        asking = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "schemathesis.cli", "run", str(path)),
            *("--url", f"http://{service.host}:{service.port}"),
            *("--header", "Authorization: Bearer every-token"),
            *("--max-examples", str(EXAMPLES), "--seed", "1", "--generation-database", "none"),
            *("--exclude-path-regex", "decisions-stream"),  # it does not end
            *("--phases", "examples,coverage,fuzzing", "--no-color"),
            *("--checks", "not_a_server_error,status_code_conformance,content_type_conformance"),
            *("--checks", "response_headers_conformance,response_schema_conformance"),
            *("--report", "har", "--report-har-path", str(report)),
            cwd=tmp_path,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        said, _ = await asking.communicate()

    assert asking.returncode == 0, said.decode()
    met = answered(report, document)
    done = {one: OTHERWISE.get(one, 200) for one in asked_of(document)}
    assert {one: met[one] for one, status in done.items() if status not in met[one]} == {}
