"""Who may ask for what: tokens and client certificates, each with roles and fleets.

A file says so; there is no token that anybody else could know. It holds the SHA-256 of a token and
not the token: whoever reads the file can do nothing with it, and because tokens are long and random
nobody finds one by trying. All entries are compared, each in constant time, so that neither the time
nor the place of a match tells anything.
"""

import hmac
import json
import re
import secrets
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, Literal, get_args

from ledger.errors import SetupProblem
from ledger.events.contract import Family
from ledger.events.envelope import is_fleet_name

Role = Literal["admission", "ingest", "read", "operate"]

ROLES: Final[frozenset[Role]] = frozenset(get_args(Role))

REPORTED: Final[frozenset[Family]] = frozenset({"cluster", "workload", "quota", "disk"})
"""What clusters tell of themselves."""

DECIDED: Final[frozenset[Family]] = REPORTED | {"control"}
"""What people decide comes only from those who operate."""

_DIGEST: Final = re.compile(r"[0-9a-f]{64}")

CLUSTER: Final = re.compile(r"[^/@\x00-\x1f\x7f]{1,253}")


@dataclass(frozen=True, slots=True)
class Caller:
    """Somebody who was recognised."""

    name: str
    roles: frozenset[Role]
    fleets: frozenset[str] | None
    """None is every fleet."""
    cluster: str | None = None
    """The only one that it asks for admissions of; None is whichever it names."""

    def may_see(self, fleet: str) -> bool:
        """Whether a fleet is one of theirs."""
        return self.fleets is None or fleet in self.fleets

    @property
    def families(self) -> frozenset[Family]:
        """What events they may send are about."""
        if "operate" in self.roles:
            return DECIDED
        return REPORTED if "ingest" in self.roles else frozenset()


@dataclass(frozen=True, slots=True)
class Access:
    """Everybody who may come in, by the digest of a token or the name in a certificate."""

    tokens: tuple[tuple[bytes, Caller], ...]
    certificates: tuple[tuple[str, Caller], ...] = ()
    anybody: Caller | None = None
    """Who asks for admissions without saying who it is."""

    def by_token(self, token: bytes) -> Caller | None:
        """Whose token this is."""
        digest = sha256(token).digest()
        found: Caller | None = None
        for known, caller in self.tokens:
            if hmac.compare_digest(known, digest):
                found = caller
        return found

    def by_certificate(self, names: Collection[str]) -> Caller | None:
        """Whose certificate bears one of these names; TLS has proven that it is theirs."""
        for name, caller in self.certificates:
            if name in names:
                return caller
        return None


def generated() -> tuple[str, Access]:
    """A token that was never before, and the access that it alone gives: everything."""
    token = secrets.token_urlsafe(32)
    anybody = Caller("generated", ROLES, None)
    return token, Access(((sha256(token.encode()).digest(), anybody),))


def read(path: Path) -> Access:
    """What a file of tokens says; SetupProblem where it says anything else."""
    try:
        said = json.loads(path.read_bytes())
    except OSError as error:
        raise SetupProblem(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise SetupProblem(f"{path}: it is no JSON: {error}") from error
    if not isinstance(said, list) or not said:
        raise SetupProblem(f"{path}: a list with at least one entry belongs here")
    tokens: list[tuple[bytes, Caller]] = []
    certificates: list[tuple[str, Caller]] = []
    anybody: Caller | None = None
    for place, entry in enumerate(said):
        where = f"{path}: entry {place}"
        if not isinstance(entry, dict):
            raise SetupProblem(f"{where}: an object belongs here")
        _refuse_unknown(entry, where)
        caller = _caller(entry, where)
        if entry.get("anybody") is not None:
            anybody = _anybody(entry, caller, anybody, where)
            continue
        digest, name = entry.get("sha256"), entry.get("certificate")
        if (digest is None) == (name is None):
            raise SetupProblem(f"{where}: either sha256 or certificate says how it is recognised")
        if digest is not None:
            if not isinstance(digest, str) or not _DIGEST.fullmatch(digest):
                raise SetupProblem(f"{where}: sha256 is 64 hexadecimal digits, of the token")
            tokens.append((bytes.fromhex(digest), caller))
        else:
            if not isinstance(name, str) or not re.match("(cn|dns|uri):.", name):
                raise SetupProblem(f"{where}: certificate begins with cn:, dns: or uri:")
            certificates.append((name, caller))
    return Access(tuple(tokens), tuple(certificates), anybody)


def names_in(certificate: Any) -> frozenset[str]:
    """The names a client's certificate bears, in the form in which a file of tokens has them."""
    if not certificate:
        return frozenset()
    named = {
        f"cn:{value}"
        for part in certificate.get("subject", ())
        for kind, value in part
        if kind == "commonName"
    }
    kinds = {"DNS": "dns", "URI": "uri"}
    for kind, value in certificate.get("subjectAltName", ()):
        if kind in kinds:
            named.add(f"{kinds[kind]}:{value}")
    return frozenset(named)


def _refuse_unknown(entry: Iterable[str], where: str) -> None:
    known = {"name", "sha256", "certificate", "anybody", "roles", "fleets", "cluster"}
    if unknown := set(entry) - known:
        raise SetupProblem(f"{where}: nobody knows {', '.join(sorted(unknown))}")


def _caller(entry: dict[str, Any], where: str) -> Caller:
    name, roles, fleets = entry.get("name"), entry.get("roles"), entry.get("fleets")
    if not isinstance(name, str) or not name:
        raise SetupProblem(f"{where}: name is a text")
    if (
        not isinstance(roles, list)
        or not roles
        or not all(isinstance(one, str) and one in ROLES for one in roles)
    ):
        raise SetupProblem(f"{where}: roles are some of {', '.join(sorted(ROLES))}")
    if fleets is not None and not (
        isinstance(fleets, list)
        and fleets
        and all(isinstance(one, str) and is_fleet_name(one) for one in fleets)
    ):
        raise SetupProblem(f"{where}: fleets is a list of names; without it, it is every fleet")
    cluster = entry.get("cluster")
    if cluster is not None and not (isinstance(cluster, str) and CLUSTER.fullmatch(cluster)):
        raise SetupProblem(f"{where}: cluster is the name of one")
    if cluster is not None and "admission" not in roles:
        raise SetupProblem(
            f"{where}: cluster is for the role admission, and limits no other; fleets does"
        )
    return Caller(name, frozenset(roles), None if fleets is None else frozenset(fleets), cluster)


def _anybody(entry: dict[str, Any], caller: Caller, before: Caller | None, where: str) -> Caller:
    """Whom a request is taken to be from that says nothing: an API server that was given no token."""
    if entry["anybody"] is not True or {"sha256", "certificate"} & set(entry) or before is not None:
        raise SetupProblem(f"{where}: anybody is true, once, and has neither token nor certificate")
    if caller.roles != {"admission"} or caller.fleets is None or caller.cluster is None:
        raise SetupProblem(
            f"{where}: anybody has the role admission alone, for fleets and a cluster"
        )
    return caller
