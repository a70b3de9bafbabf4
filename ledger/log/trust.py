"""Whom a reader trusts: the logs and witnesses of a policy file, and how many of them it takes.

A C2SP tlog-policy: a line for each log, witness and group of those named before it, and for whose word is enough.

    log ledger.example/shop/1/events+...          its key; its name is the log's origin
    witness w1 witness.example/w1+...             a name for this file, and its key
    group most 2 w1 w2 w3                         all, any, or a number
    quorum most                                   a witness, a group, or none

A checkpoint is believed if one of the logs signed it and the quorum cosigned it.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

from ledger.errors import InvalidRequest
from ledger.log.checkpoints import whole_number
from ledger.log.notes import COSIGNATURE, ED25519, Key, parse_key

NONE: Final = "none"


@dataclass(frozen=True, slots=True)
class Group:
    """Some witnesses or groups, of whom so many must have cosigned."""

    least: int
    members: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Trust:
    """What a policy file says."""

    logs: tuple[Key, ...]
    witnesses: Mapping[str, Key]
    groups: Mapping[str, Group]
    quorum: str

    @property
    def keys(self) -> tuple[Key, ...]:
        """Every key that a note may be opened with."""
        return (*self.logs, *self.witnesses.values())

    def suffices(self, cosigners: Collection[Key]) -> bool:
        """Whether those who cosigned are enough."""
        return self.quorum == NONE or self._has(self.quorum, cosigners)

    def _has(self, name: str, cosigners: Collection[Key]) -> bool:
        group = self.groups.get(name)
        if group is None:
            return self.witnesses[name] in cosigners
        return sum(self._has(member, cosigners) for member in group.members) >= group.least


def only(*logs: Key) -> Trust:
    """Trust in these logs, whoever else has seen them."""
    return Trust(logs, {}, {}, NONE)


def parse_policy(data: bytes) -> Trust:
    """Read a policy file; ``InvalidRequest`` names the line that is wrong."""
    if any((byte < 0x20 and byte not in b"\t\n") or byte == 0x7F for byte in data):
        raise InvalidRequest("invalid_policy", "a control character")
    # Bytes beyond ASCII are what they are: names are compared, never read.
    lines = data.decode("latin-1").split("\n")
    logs: list[Key] = []
    witnesses: dict[str, Key] = {}
    groups: dict[str, Group] = {}
    quorum: str | None = None
    grouped: set[str] = set()
    for number, line in enumerate(lines, start=1):
        words = line.replace("\t", " ").split(" ")
        match [word for word in words if word]:
            case []:
                continue
            case [first, *_] if first.startswith("#"):
                continue
            case ["log", key] | ["log", key, _]:
                logs.append(_key(key, ED25519, logs, number))
            case ["witness", name, key] | ["witness", name, key, _]:
                _require_new(name, witnesses, groups, number)
                witnesses[name] = _key(key, COSIGNATURE, witnesses.values(), number)
            case ["group", name, least, *members] if members:
                _require_new(name, witnesses, groups, number)
                for member in members:
                    if member not in witnesses and member not in groups:
                        raise _wrong(number, f"{member!r} is not known before it")
                    if member in grouped:
                        raise _wrong(number, f"{member!r} would count twice")
                    grouped.add(member)
                groups[name] = Group(_least(least, len(members), number), tuple(members))
            case ["quorum", name] if quorum is None:
                if name != NONE and name not in witnesses and name not in groups:
                    raise _wrong(number, f"{name!r} is not known before it")
                quorum = name
            case words:
                raise _wrong(number, f"{' '.join(words)[:80]!r} says nothing")
    if quorum is None:
        raise InvalidRequest("invalid_policy", "no line says whose word is enough")
    return Trust(tuple(logs), witnesses, groups, quorum)


def _key(text: str, type_: int, others: Collection[Key], line: int) -> Key:
    try:
        key = parse_key(text)
    except InvalidRequest as error:
        raise _wrong(line, error.message) from error
    if key.type != type_:
        raise _wrong(line, f"{key.name} is a key for something else")
    if any(key.public == other.public for other in others):
        raise _wrong(line, f"{key.name}: the same key again")
    return key


def _least(text: str, members: int, line: int) -> int:
    least = {"all": members, "any": 1}.get(text, whole_number(text))
    if least is None or not 1 <= least <= members:
        raise _wrong(line, f"{text!r} of {members}")
    return least


def _require_new(
    name: str, witnesses: Mapping[str, Key], groups: Mapping[str, Group], line: int
) -> None:
    if name == NONE or name in witnesses or name in groups:
        raise _wrong(line, f"{name!r} has a meaning already")


def _wrong(line: int, why: str) -> InvalidRequest:
    return InvalidRequest("invalid_policy", f"line {line}: {why}")
