"""The service as a process: who comes in, TLS, how it ends, and that its document is current."""

import json
import signal
import socket
import ssl
from pathlib import Path

import pytest
from cryptography import x509
from typer.testing import CliRunner

from ledger.api import access
from ledger.cli import http_service
from ledger.cli.commands import as_asked
from ledger.errors import SetupProblem
from tests.api import certificates
from tests.api.serving import TOKENS, Service, serving, write_access
from tests.events_for_tests import cluster_line
from tests.feeding import until

REPOSITORY = Path(__file__).parents[2]


def test_the_document_in_the_repository_is_what_the_service_would_say() -> None:
    kept = (REPOSITORY / "docs" / "openapi.json").read_text(encoding="utf-8")

    assert kept == http_service.document(), "write it again with: ledger serve --openapi"
    assert json.loads(kept)["openapi"].startswith("3.1")


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--database-url", "postgresql://nowhere/x"], "no token is the default"),
        (["--address", "0.0.0.0"], "loopback address only"),
        (["--address", "0.0.0.0", "--access", "a.json"], "in the clear"),
        (["--tls-key", "k.pem"], "a certificate and its key"),
    ],
)
def test_no_door_stands_open_by_default(options: list[str], why: str) -> None:
    ended = CliRunner().invoke(
        as_asked(["serve"]), ["serve", *options], env={"COLUMNS": "400", "LEDGER_DATABASE_URL": ""}
    )

    assert ended.exit_code != 0
    assert why in ended.output


@pytest.mark.parametrize(
    "entries",
    [
        [],
        {},
        [{"name": "a", "roles": ["read"]}],
        [{"name": "a", "roles": ["read"], "sha256": "secret"}],
        [{"name": "a", "roles": ["king"], "sha256": "0" * 64}],
        [{"name": "a", "roles": [["read"]], "sha256": "0" * 64}],
        [{"name": "a", "roles": ["ingest"], "sha256": "0" * 64, "cluster": "c1"}],
        [{"name": "a", "roles": ["read"], "sha256": "0" * 64, "fleet": "x"}],
        [{"name": "a", "roles": ["read"], "sha256": "0" * 64, "fleets": []}],
        [{"name": "a", "roles": ["read"], "certificate": "me"}],
    ],
)
def test_a_file_of_tokens_that_says_anything_else_is_refused(
    entries: object, tmp_path: Path
) -> None:
    path = tmp_path / "access.json"
    path.write_text(json.dumps(entries))

    with pytest.raises(SetupProblem):
        access.read(path)


def test_a_token_that_is_made_for_a_run_opens_everything_and_no_other_does() -> None:
    token, made = access.generated()
    other, _ = access.generated()

    caller = made.by_token(token.encode())
    assert caller is not None
    assert caller.roles == access.ROLES
    assert made.by_token(other.encode()) is None


async def shown(service: Service, context: ssl.SSLContext) -> int:
    """The serial number of the certificate a new connection is shown."""
    with (
        socket.create_connection((service.host, service.port)) as plain,
        context.wrap_socket(plain, server_hostname="127.0.0.1") as connection,
    ):
        der = connection.getpeercert(binary_form=True)
    assert der is not None
    return x509.load_der_x509_certificate(der).serial_number


async def test_certificates_are_replaced_while_it_runs_and_clients_may_have_theirs(
    database_url: str, tmp_path: Path
) -> None:
    signer = certificates.signer(tmp_path / "ca.pem")
    certificate, key = tmp_path / "tls.pem", tmp_path / "tls.key"
    first = signer.sign("ledger", certificate, key)
    signer.sign("agent-7", tmp_path / "agent.pem", tmp_path / "agent.key")
    signer.sign("stranger", tmp_path / "stranger.pem", tmp_path / "stranger.key")
    plain = ssl.create_default_context(cafile=str(signer.path))
    agent = ssl.create_default_context(cafile=str(signer.path))
    agent.load_cert_chain(tmp_path / "agent.pem", tmp_path / "agent.key")
    stranger = ssl.create_default_context(cafile=str(signer.path))
    stranger.load_cert_chain(tmp_path / "stranger.pem", tmp_path / "stranger.key")
    (tmp_path / "access.json").write_text(
        json.dumps([{"name": "agent", "certificate": "cn:agent-7", "roles": ["ingest", "read"]}])
    )
    clients = tmp_path / "clients.pem"
    clients.write_bytes(signer.path.read_bytes())
    other = certificates.signer(tmp_path / "other.pem", "other signer")
    other.sign("agent-7", tmp_path / "other-agent.pem", tmp_path / "other-agent.key")
    newcomer = ssl.create_default_context(cafile=str(signer.path))
    newcomer.load_cert_chain(tmp_path / "other-agent.pem", tmp_path / "other-agent.key")
    options = (
        *("--tls-certificate", str(certificate), "--tls-key", str(key)),
        *("--tls-client-ca", str(clients)),
    )
    async with serving(database_url, tmp_path, *options, context=plain) as service:
        assert await shown(service, plain) == first
        known = await service.ask("GET", "/v1/fleets", token=None, context=agent)
        unknown = await service.ask("GET", "/v1/fleets", token=None, context=stranger)
        nobody = await service.ask("GET", "/v1/fleets", token=None)
        with pytest.raises(OSError, match=r"(?i)unknown.ca|reset|broken|closed"):
            await service.ask("GET", "/v1/fleets", token=None, context=newcomer)
        clients.write_bytes(signer.path.read_bytes() + other.path.read_bytes())
        second = signer.sign("ledger", certificate, key)

        async def replaced() -> bool:
            return await shown(service, plain) == second

        await until(replaced)
        welcome = await service.ask("GET", "/v1/fleets", token=None, context=newcomer)

    assert welcome.status == 200
    assert (known.status, unknown.status, nobody.status) == (200, 401, 401)


async def test_it_says_that_it_ends_and_answers_meanwhile(
    database_url: str, tmp_path: Path
) -> None:
    async with serving(database_url, tmp_path, "--drain-seconds", "60") as service:
        ready = await service.ask("GET", "/readyz", token=None)
        service.end()

        async def told() -> bool:
            return (await service.ask("GET", "/readyz", token=None)).status == 503

        await until(told)
        unready = await service.ask("GET", "/readyz", token=None)
        alive = await service.ask("GET", "/livez", token=None)
        taken = await service.send([cluster_line(1)])
        service.end()
        ended = await service.process.wait()

    assert (ready.status, ready.json) == (200, {"status": "ok"})
    assert (unready.status, unready.json) == (503, {"status": "draining"})
    assert unready.headers["connection"] == "close"
    assert alive.status == 200
    assert taken.json["items"][0]["outcome"] == "appended"
    assert ended in (0, 130)


async def test_tokens_are_read_again_when_asked_to(database_url: str, tmp_path: Path) -> None:
    async with serving(database_url, tmp_path) as service:
        old = await service.ask("GET", "/v1/fleets", token="read-token")
        write_access(tmp_path / "access.json", {"new-token": TOKENS["read-token"]})
        service.process.send_signal(signal.SIGHUP)

        async def changed() -> bool:
            return (await service.ask("GET", "/v1/fleets", token="new-token")).status == 200

        await until(changed)
        gone = await service.ask("GET", "/v1/fleets", token="read-token")

    assert (old.status, gone.status) == (200, 401)
