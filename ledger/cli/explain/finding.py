"""Which decision is meant by what somebody typed: it is found by what it looks like.

``42`` or ``#42``            the decision of that number
``fleet/1/42``               the same by its name outside the database
``namespace/name``           a workload or a job
``namespace/name@cluster``   its deployment on the nodes of a cluster
``cluster/namespace/pod``    a pod, by what was placed where it is; its cluster may be left out
``name``                     a volume, or the workload, job or pod of that name if there is one only

Of a subject the newest decision that placed something is meant, or else the newest refusal. A name
that means several things is refused with all of them, one that means nothing with those that are
spelled nearly so.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from difflib import get_close_matches
from typing import Final, Literal, NamedTuple

from ledger.cli.explain import pods, undecided
from ledger.cli.explain.derivation import VOLUME_TOLD, WORKLOAD_TOLD, workload_of
from ledger.cli.explain.pods import Pod
from ledger.cli.explain.undecided import Undecided
from ledger.errors import InvalidRequest
from ledger.facts.admission import Admission
from ledger.facts.division import Division
from ledger.facts.refusal import Refusal
from ledger.log.database import Connection
from ledger.log.decision_names import why_not_there
from ledger.views import derivations
from ledger.views.derivations import NEWEST, Recorded

Kind = Literal[
    "decision",
    "workload",
    "deployment",
    "capacity_class",
    "admission",
    "job",
    "pod",
    "volume",
    "incident",
    "proposal",
]
"""What a name may be the name of."""

PLACING: Final[Mapping[str, tuple[str, ...]]] = {
    "workload": ("division",),
    "deployment": ("deployment",),
    "job": ("allocation", "eviction"),
    "volume": ("disk_placement",),
    "capacity_class": ("capacity_class",),
    "admission": ("admission",),
    "incident": ("incident",),
    "proposal": ("proposal",),
}
"""The kinds of decisions that give something a place, or say something of its own; most telling first."""

REFUSING: Final[Mapping[str, tuple[str, ...]]] = {
    "workload": ("refusal/division",),
    "deployment": ("refusal/deployment",),
    "job": ("refusal/allocation",),
    "volume": ("refusal/disk_placement",),
    "proposal": ("refusal/proposal",),
}

NEAR_NAMES: Final = 6
"""Names that somebody may have meant: more than these is a list to search, and no help."""

LONGEST_LIST: Final = 20

_NUMBER: Final = re.compile(r"#?([0-9]{1,18})")
_NAME_OF_ONE: Final = re.compile(r"(.+)/([0-9]{1,9})/([0-9]{1,18})")


class Meant(NamedTuple):
    """A decision, and what it was found by."""

    recorded: Recorded
    subject: str | None
    """None where the decision itself was named."""
    pod: Pod | None = None

    @property
    def told(self) -> str:
        """What it is and how to name it, for whoever has to choose."""
        if self.pod is not None:
            return f"pod {self.pod.cluster}/{self.pod.namespace}/{self.pod.name}"
        outcome = self.recorded.decision.outcome
        kind: str = outcome.wanted if isinstance(outcome, Refusal) else outcome.kind
        if isinstance(outcome, Admission):
            kind = "admission"
        thing = next((thing for thing in PLACING if kind in PLACING[thing]), kind)
        return f"{thing} {self.subject}"


async def fleet_of(connection: Connection, wanted: str | None, what: str = "") -> str:
    """The fleet that is meant: the one that is named, or the only one."""
    fleets = await derivations.fleets(connection)
    named = _NAME_OF_ONE.fullmatch(what)
    if wanted is not None:
        if wanted not in fleets:
            raise InvalidRequest("unknown_fleet", f"{wanted}: {_near(wanted, fleets, 'fleets')}")
        if named is not None and named[1] != wanted and named[1] in fleets:
            raise InvalidRequest(
                "unknown_decision", f"{what} names a decision of fleet {named[1]}, not of {wanted}"
            )
        return wanted
    if named is not None and named[1] in fleets:
        return named[1]
    if len(fleets) == 1:
        return fleets[0]
    if not fleets:
        raise InvalidRequest("unknown_fleet", "no fleet is open yet")
    if named is not None:
        raise _of_no_fleet(what, named[1])
    raise InvalidRequest("ambiguous", f"there are several fleets, say --fleet: {_list(fleets)}")


async def position_at(
    connection: Connection, fleet: str, at: str | None, *, called: str = "--at"
) -> int | None:
    """The position that a moment means, however it is ``called``; None where it says nothing."""
    if at is None:
        return None
    through, _ = await derivations.decided_through(connection, fleet)
    if re.fullmatch(r"[0-9]{1,18}", at):
        if int(at) > through:
            raise InvalidRequest(
                "invalid_moment", f"{called} {at}: {fleet} is decided through position {through}"
            )
        return int(at)
    try:
        moment = datetime.fromisoformat(at)
    except ValueError:
        raise InvalidRequest("invalid_moment", f"{called} {at}: no position and no time") from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    # Fleet time never runs backwards with position, so the place is found by halving.
    first, behind = 0, through + 1
    while first < behind:
        middle = (first + behind) // 2
        there = await derivations.recorded_at(connection, fleet, middle)
        if there is None or there <= moment:  # What was archived is older than what is here.
            first = middle + 1
        else:
            behind = middle
    if first == 0:
        raise InvalidRequest("invalid_moment", f"{called} {at}: the log of {fleet} begins later")
    return first - 1


async def find(
    connection: Connection, fleet: str, what: str, kind: Kind | None, *, at: int = NEWEST
) -> Meant | Undecided:
    """The decision that is meant, or why there is none about what is."""
    if not what.strip():
        raise InvalidRequest("unknown_subject", "an empty name is the name of nothing")
    number = _NUMBER.fullmatch(what)
    named = _NAME_OF_ONE.fullmatch(what)
    if kind in (None, "decision") and (number or (named and named[1] == fleet)):
        wanted = int(number[1] if number else named[3] if named else 0)
        life = int(named[2]) if named and not number else None
        found_one = await _numbered(connection, fleet, wanted, life)
        if found_one.decision.position > at:
            raise InvalidRequest(
                "invalid_moment",
                f"--at: position {at} is before decision {wanted}, which was made at position"
                f" {found_one.decision.position}",
            )
        return Meant(found_one, None)
    if kind == "decision":
        if named is not None:
            raise _of_no_fleet(what, named[1])
        raise InvalidRequest("unknown_subject", f"{what}: no number and no name of a decision")
    found = await _about(connection, fleet, what, kind, at)
    if found and (kind is not None or "/" in what):
        return found[0]
    others = [
        *await _called(connection, fleet, what, kind, at),
        *await _pods(connection, fleet, what, kind, at),
    ]
    if len(found) + len(others) == 1:
        return [*found, *others][0]
    if found or others:
        several = [one.told for one in [*found, *others]]
        raise InvalidRequest(
            "ambiguous", f"{what} may be any of these, say --kind or all of it: {_list(several)}"
        )
    as_others = await _things(connection, fleet, what, at)
    if kind is not None and as_others:
        raise InvalidRequest(
            "unknown_subject",
            f"{what}: nothing was decided about it as {_a(kind)}; there are decisions about it as"
            f" {_list([_a(thing) for thing in as_others])}",
        )
    told = await undecided.find(connection, fleet, what, _told_as(kind), at=at)
    if told is not None:
        return told
    first = await derivations.first_position(connection, fleet, what)
    if first is not None and first > at:
        raise InvalidRequest(
            "unknown_subject",
            f"{what}: nothing was decided about it through position {at}; the first decision about it"
            f" was made at position {first}",
        )
    if at != NEWEST and kind in (None, "pod"):
        later = await pods.first_seen(connection, fleet, what)
        if later is not None and later > at:
            raise InvalidRequest(
                "unknown_subject",
                f"{what}: no event through position {at} speaks of it; the first that does is at"
                f" position {later}",
            )
    # A pod may be spelled as a decision's name is, so that one is looked for before.
    if named is not None and kind is None:
        raise _of_no_fleet(what, named[1])
    known = await derivations.subjects(connection, fleet)
    raise InvalidRequest(
        "unknown_subject", f"{what}: nothing was decided about it; {_near(what, known, 'names')}"
    )


async def parts(connection: Connection, fleet: str, subject: str, *, at: int) -> list[str]:
    """The subjects that are about the same workload: it, and its share on each cluster."""
    workload = workload_of(subject)
    clusters: set[str] = set()
    divided = await derivations.newest(connection, fleet, workload, ["division"], at=at)
    if divided is not None and isinstance(divided.decision.outcome, Division):
        clusters.update(share.cluster for share in divided.decision.outcome.shares)
        clusters.update(cluster for cluster, _ in divided.decision.outcome.left)
    wish = await derivations.last_said(connection, fleet, [workload], [WORKLOAD_TOLD], at=at)
    if wish is not None and wish.data.get("cluster"):
        clusters.add(wish.data["cluster"])
    return [workload, *(f"{workload}@{cluster}" for cluster in sorted(clusters))]


async def _numbered(connection: Connection, fleet: str, number: int, life: int | None) -> Recorded:
    """The decision of a number, made in the life that its name says, if it says one."""
    found = await derivations.decision(connection, fleet, number)
    if life is not None:
        made_in = None if found is None else found.decision.incarnation
        newest = await derivations.incarnation(connection, fleet)
        why = why_not_there(fleet, life, number, made_in=made_in, newest=newest)
        if why is not None:
            raise InvalidRequest("unknown_decision", why)
    if found is None:
        raise InvalidRequest("unknown_decision", f"fleet {fleet} has no decision {number}")
    return found


async def _things(connection: Connection, fleet: str, subject: str, at: int) -> list[str]:
    """What a subject is the name of, going by what was decided about exactly it through a position."""
    kinds = set(await derivations.kinds(connection, fleet, subject, at=at))
    return [
        thing
        for thing in PLACING
        if not kinds.isdisjoint((*PLACING[thing], *REFUSING.get(thing, ())))
    ]


def _a(thing: str) -> str:
    """A thing with its article."""
    name = thing.replace("_", " ")
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


def _told_as(kind: Kind | None) -> tuple[str, ...]:
    """The types of the events that tell of a thing."""
    if kind is None:
        return WORKLOAD_TOLD, VOLUME_TOLD
    return (VOLUME_TOLD,) if kind == "volume" else (WORKLOAD_TOLD,)


async def _about(
    connection: Connection, fleet: str, subject: str, kind: Kind | None, at: int
) -> list[Meant]:
    """What is known of exactly this subject, or of the parts of a workload; one for each thing."""
    kinds = set(await derivations.kinds(connection, fleet, subject))
    for thing in PLACING:
        if kind not in (None, thing):
            continue
        for wanted in (PLACING[thing], REFUSING.get(thing, ())):
            if kinds.isdisjoint(wanted):
                continue
            found = await derivations.newest(connection, fleet, subject, wanted, at=at)
            if found is not None:
                return [Meant(found, subject)]
    if "/" not in subject or "@" in subject:
        return []
    told: list[Meant] = []
    for part in (await parts(connection, fleet, subject, at=at))[1:]:
        told += await _about(connection, fleet, part, kind, at)
    if len(told) > 1:
        several = [str(one.subject) for one in told]
        raise InvalidRequest("ambiguous", f"{subject} is on several clusters: {_list(several)}")
    return told


async def _called(
    connection: Connection, fleet: str, name: str, kind: Kind | None, at: int
) -> list[Meant]:
    """The workloads and jobs that have this name in whatever namespace."""
    if "/" in name:
        return []
    known = await derivations.subjects(connection, fleet)
    wanted = sorted({workload_of(one) for one in known if workload_of(one).endswith(f"/{name}")})
    found: list[Meant] = []
    for subject in wanted[:LONGEST_LIST]:
        found += await _about(connection, fleet, subject, kind, at)
    return found


async def _pods(
    connection: Connection, fleet: str, what: str, kind: Kind | None, at: int
) -> list[Meant]:
    """The pods that are meant, each with the decision that tells most of where it is."""
    if kind not in (None, "pod"):
        return []
    found = []
    for pod in await pods.find(connection, fleet, what, at=at):
        recorded = await pods.decided(connection, fleet, pod, at=at)
        if recorded is None:
            raise InvalidRequest(
                "unknown_subject",
                f"{what}: {'; '.join(pods.told(pod, [], as_of_now=False))}; nothing was decided about"
                " it",
            )
        found.append(Meant(recorded, recorded.decision.subject, pod))
    return found


def _of_no_fleet(what: str, fleet: str) -> InvalidRequest:
    """The refusal of a decision's name whose fleet is not there; who asks may not know the others."""
    return InvalidRequest("unknown_fleet", f"{what}: no fleet {fleet} is open here")


def _near(what: str, known: Sequence[str], name: str) -> str:
    """Names that are spelled nearly so, or a few of those there are."""
    last = what.rpartition("/")[2]
    near = get_close_matches(what, known, NEAR_NAMES, 0.5)
    near += [one for one in known if last and last in one and one not in near]
    if near:
        return f"perhaps {_list(near[:NEAR_NAMES])}"
    if not known:
        return f"there are no {name} at all"
    return f"there are {name} such as {_list(known[:NEAR_NAMES])}"


def _list(names: Sequence[str]) -> str:
    told = ", ".join(names[:LONGEST_LIST])
    return f"{told} and {len(names) - LONGEST_LIST} more" if len(names) > LONGEST_LIST else told
