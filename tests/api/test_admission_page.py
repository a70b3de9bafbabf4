"""docs/admission.md and the files of docs/kubernetes say what the service is: examples are sent, names are looked up."""

import json
import re
from base64 import b64decode
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.core import TyperGroup
from typer.main import get_command

from ledger.admission import review
from ledger.admission.answering import WARNINGS
from ledger.api import access, kubernetes
from ledger.api.admission import LONGEST_SECONDS, SPARE_SECONDS, TELLING
from ledger.api.admitting import OWNER_SECONDS
from ledger.cli import http_service
from ledger.cli.commands import every_command
from ledger.errors import SetupProblem
from ledger.log import lines
from ledger.log.database import connect
from tests.api.admitting import FLEET, hooked

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "admission.md").read_text(encoding="utf-8")

EXAMPLE = re.compile(r"```http\n(.*?)```\n\n```json (\d+)\n(.*?)```", re.DOTALL)


def block(name: str) -> Any:
    """The JSON of the one block of that name."""
    (found,) = re.findall(rf"```json {name}\n(.*?)```", PAGE, re.DOTALL)
    return json.loads(found)


def manifests(name: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((DOCS / "kubernetes" / name).read_text(encoding="utf-8")))


def one_of(kind: str, name: str = "service.yaml") -> dict[str, Any]:
    (found,) = [one for one in manifests(name) if one["kind"] == kind]
    return found


async def test_each_example_is_answered_as_the_page_says(database_url: str) -> None:
    envelope = {"specversion": "1.0", "source": "/docs", "fleet": FLEET}
    events = [envelope | {"id": str(number)} | one for number, one in enumerate(block("events"))]
    writer = await connect(database_url, "ledger_writer")
    try:
        await lines.ingest(writer, [json.dumps(one).encode() + b"\n" for one in events])
    finally:
        await writer.close()
    examples = EXAMPLE.findall(PAGE)
    assert len(examples) == PAGE.count("```http")
    patches = []
    async with hooked(database_url) as webhook:
        for request, status, wanted in examples:
            head, _, body = request.partition("\n\n")
            path, _, query = head.split()[1].partition("?")

            answer = await webhook.ask(path, body.encode(), query=query)

            said = answer.json
            if "patch" in said["response"]:
                patches.append(json.loads(b64decode(said["response"]["patch"])))
                said["response"]["patch"] = "..."
            assert (answer.status, said) == (int(status), json.loads(wanted))
    assert patches == [block("patch")]


def test_the_page_says_how_long_somebody_waits() -> None:
    assert SPARE_SECONDS == 0.5
    assert "half a second before the API server gives up" in PAGE
    assert f"{LONGEST_SECONDS:g} seconds count at most" in PAGE
    assert f"The log has {SPARE_SECONDS * TELLING:g} of the half second" in PAGE
    assert f"waits up to {OWNER_SECONDS * 1000:g} ms" in PAGE
    assert max(len(f"ledger: {text}") for text in WARNINGS.values()) <= 120
    assert "at most 120 characters" in PAGE


def test_the_files_of_the_page_can_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file.json"
    path.write_text(json.dumps(block("access")))
    read = access.read(path)
    assert read.anybody is not None
    named = block("kubernetes")
    del named["west-1"]["ca"]
    path.write_text(json.dumps(named))
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setattr(kubernetes, "ACCOUNT", tmp_path)
    with pytest.raises(SetupProblem, match=r"ca\.crt"):
        kubernetes.read(path)


@pytest.mark.parametrize(
    ("kind", "path", "resources"),
    [
        ("MutatingWebhookConfiguration", "mutate", [(["CREATE"], "", "pods")]),
        (
            "ValidatingWebhookConfiguration",
            "validate",
            [
                (["CREATE"], "", "pods"),
                (["CREATE", "UPDATE"], "apps", "statefulsets", "statefulsets/scale"),
            ],
        ),
    ],
)
def test_the_api_server_is_told_to_ask_what_is_answered(
    kind: str, path: str, resources: list[tuple[Any, ...]]
) -> None:
    (hook,) = one_of(kind, "webhooks.yaml")["webhooks"]
    asked = hook["clientConfig"]["service"]
    service, document = one_of("Service"), json.loads(http_service.document())

    assert asked["path"] == f"/admission/v1/{path}"
    assert set(document["paths"][asked["path"]]) == {"post"}
    assert asked["name"] == service["metadata"]["name"]
    assert asked["namespace"] == service["metadata"]["namespace"]
    assert asked["port"] == service["spec"]["ports"][0]["port"]
    assert hook["admissionReviewVersions"] == [review.API_VERSION.rpartition("/")[2]]
    assert [
        (rule["operations"], *rule["apiGroups"], *rule["resources"]) for rule in hook["rules"]
    ] == resources
    assert hook["failurePolicy"] == "Ignore"
    assert hook["sideEffects"] in {"None", "NoneOnDryRun"}
    assert 1 <= hook["timeoutSeconds"] <= 3
    excluded = hook["namespaceSelector"]["matchExpressions"][1]
    assert asked["namespace"] in excluded["values"]
    assert "kube-system" in excluded["values"]
    for condition in hook.get("matchConditions", ()):
        assert condition["name"]
    if path == "mutate":
        words = " ".join(one["expression"] for one in hook["matchConditions"])
        assert all(f"'{owner}'" in words for owner in review.OWNERS)
        assert f"'{review.GROUP}/'" in words
        assert review.MIRROR in words


def test_the_service_account_may_list_what_is_listed_and_nothing_else() -> None:
    rules = one_of("ClusterRole")["rules"]

    assert {(*rule["apiGroups"], noun) for rule in rules for noun in rule["resources"]} == {
        ("", "pods"),
        ("apps", "replicasets"),
        ("apps", "statefulsets"),
    }
    assert {verb for rule in rules for verb in rule["verbs"]} == {"list"}


def test_the_deployment_starts_a_service_that_there_is(tmp_path: Path) -> None:
    spec = one_of("Deployment")["spec"]["template"]["spec"]
    (container,) = spec["containers"]
    group = get_command(every_command())
    assert isinstance(group, TyperGroup)
    serve = group.commands["serve"]
    known = {option for one in serve.params for option in one.opts}
    command, *given = container["args"]
    options = dict(one.split("=", 1) for one in given)

    assert command == "serve"
    assert set(options) <= known
    ports = {one["name"]: one["containerPort"] for one in container["ports"]}
    assert ports == {"https": int(options["--port"]), "metrics": int(options["--metrics-port"])}
    assert one_of("Service")["spec"]["ports"][0]["targetPort"] == "https"
    assert container["readinessProbe"]["httpGet"]["path"] == "/readyz"
    assert container["livenessProbe"]["httpGet"]["path"] == "/livez"
    assert container["securityContext"]["readOnlyRootFilesystem"]
    mounts = {one["name"]: one["mountPath"] for one in container["volumeMounts"]}
    (scratch,) = [one["name"] for one in spec["volumes"] if "emptyDir" in one]
    assert mounts[scratch] == "/tmp"
    assert f"`ledger serve --most-undecided {options['--most-undecided']}`" in PAGE
    opened = [
        port["port"]
        for rule in one_of("NetworkPolicy")["spec"]["ingress"]
        for port in rule["ports"]
    ]
    assert sorted(opened) == sorted(ports)
    assert Path(options["--access"]).parent == Path(mounts["settings"])
    assert Path(options["--tls-key"]).parent == Path(mounts["tls"])
    path = tmp_path / "access.json"
    path.write_text(one_of("Secret")["stringData"]["access.json"])
    read = access.read(path)
    assert read.anybody is not None
    named = json.loads(one_of("Secret")["stringData"]["kubernetes.json"])
    assert list(named) == [read.anybody.cluster]


def test_the_certificate_is_for_the_name_that_is_asked() -> None:
    certificates = {one["metadata"]["name"]: one for one in manifests("certificate.yaml")}
    service = one_of("Service")["metadata"]
    volumes = one_of("Deployment")["spec"]["template"]["spec"]["volumes"]
    (tls,) = [one["secret"]["secretName"] for one in volumes if one["name"] == "tls"]

    leaf = certificates["ledger-tls"]["spec"]
    assert leaf["dnsNames"] == [f"{service['name']}.{service['namespace']}.svc"]
    assert leaf["secretName"] == tls
    hook = one_of("MutatingWebhookConfiguration", "webhooks.yaml")
    injected = hook["metadata"]["annotations"]["cert-manager.io/inject-ca-from"]
    assert injected == f"{service['namespace']}/ledger-tls"
