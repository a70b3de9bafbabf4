"""``POST /v1/events``: CloudEvents over HTTP, into the same log by the same way as from Kafka.

A request is one batch and one transaction: what its answer calls appended is on disk. It is refused
whole, with nothing written, where nobody could say what its events are, where it names a fleet that
is not its sender's, or where the deciders would be too far behind with it. Otherwise each event is told what
became of it, and one that the contract does not accept is in quarantine, like any other's.

Asking again does no harm: whatever was taken the first time is a duplicate at the same position.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import fields
from http import HTTPStatus
from typing import Final

import orjson

from ledger.api.access import Caller
from ledger.api.activity import Served
from ledger.api.connections import Connections
from ledger.api.problems import Problem, again_after
from ledger.errors import InvalidEvent
from ledger.events import batch, over_http
from ledger.events.codec import Accepted, Rejected, accept, accept_line
from ledger.log.desk import Desk
from ledger.log.messages import Coordinates, Message
from ledger.log.outcomes import Outcome
from ledger.units import LEDGER_FLEET, FleetName

LONGEST_BATCH: Final = 5000
"""Events in a request: the lock of a fleet is held for a tenth of a second."""

MOST_UNDECIDED: Final = 20_000
"""How far a fleet's deciders may be behind before its events have to wait outside."""

LONGEST_WAIT: Final = 30
"""The most seconds after which somebody is asked to come again."""

SLICE: Final = 32
"""Events judged between two turns of the event loop: under a millisecond."""

UNREADABLE: Final = frozenset({"not_json", "not_utf8", "too_deep"})
"""What a lone body can be that nobody could make an event of."""

_FIELDS: Final = tuple(one.name for one in fields(Outcome))

RawHeaders = Sequence[tuple[bytes, bytes]]


class Events:
    """Takes requests with events."""

    def __init__(
        self, desks: Connections[Desk], served: Served, *, most_undecided: int = MOST_UNDECIDED
    ) -> None:
        self._desks = desks
        self._served = served
        self._most_undecided = most_undecided
        self._coming: Counter[FleetName] = Counter()
        """Events that are being taken now."""

    async def take(
        self, caller: Caller, content_type: str, headers: RawHeaders, body: bytes
    ) -> bytes:
        """The answer to a request, as JSON."""
        messages = await _judged(caller, content_type, headers, body)
        _refuse_other_fleets(caller, messages)
        wanted = Counter(
            message.verdict.fleet for message in messages if isinstance(message.verdict, Accepted)
        )
        async with self._desks.one() as desk, self._room(desk, wanted):
            told = await desk.take(messages)
        for outcome in told:
            self._served.events[outcome.outcome] += 1
        items = [
            {name: value for name in _FIELDS if (value := getattr(outcome, name)) is not None}
            for outcome in told
        ]
        return orjson.dumps({"items": items})

    @asynccontextmanager
    async def _room(self, desk: Desk, wanted: Mapping[FleetName, int]) -> AsyncIterator[None]:
        """For so many events of each fleet, while they are taken."""
        others = {name: self._coming[name] for name in wanted}
        self._coming.update(wanted)
        try:
            self._refuse_backlog(await desk.undecided(wanted), others, wanted)
            yield
        finally:
            self._coming.subtract(wanted)
            for name in wanted:
                if not self._coming[name]:
                    del self._coming[name]

    def _refuse_backlog(
        self,
        undecided: Mapping[FleetName, int],
        others: Mapping[FleetName, int],
        wanted: Mapping[FleetName, int],
    ) -> None:
        """A batch is refused where there is no room for all of it.

        One that is larger than all the room there is has to come in too: when nothing else waits.
        """
        for name in sorted(wanted):
            waiting = undecided.get(name, 0) + others[name]
            if waiting and waiting + wanted[name] > self._most_undecided:
                raise Problem(
                    HTTPStatus.TOO_MANY_REQUESTS,
                    "backlog",
                    f"fleet {name}: {waiting} events wait to be decided,"
                    f" and {wanted[name]} more are above {self._most_undecided}",
                    again_after(min(LONGEST_WAIT, 1 + waiting // max(1, self._most_undecided))),
                )


async def _judged(
    caller: Caller, content_type: str, headers: RawHeaders, body: bytes
) -> list[Message]:
    families = caller.families
    match over_http.form(content_type, (name.decode("latin-1") for name, _ in headers)):
        case "single":
            verdict = accept_line(body, families=families)
            _refuse_unreadable(verdict)
            return [Message(_at(0), verdict, None, body, (), caller.name)]
        case "binary":
            attributes = over_http.attributes(headers)
            verdict = accept(body, headers=attributes, families=families)
            _refuse_unreadable(verdict)
            return [Message(_at(0), verdict, None, body, tuple(attributes), caller.name)]
        case "batch":
            return await _judged_each(caller, _items(body))
        case None:
            raise Problem(
                HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
                "unsupported_mode",
                f"events come as {over_http.SINGLE}, as {over_http.BATCH}, or with ce- headers,"
                " in UTF-8",
            )


async def _judged_each(caller: Caller, items: list[bytes]) -> list[Message]:
    families = caller.families
    messages: list[Message] = []
    for start in range(0, len(items), SLICE):
        for place, item in enumerate(items[start : start + SLICE], start):
            verdict = accept_line(item, families=families)
            messages.append(Message(_at(place), verdict, None, item, (), caller.name))
        await asyncio.sleep(0)
    return messages


def _items(body: bytes) -> list[bytes]:
    try:
        items = batch.items(body)
    except InvalidEvent as refused:
        raise Problem(HTTPStatus.BAD_REQUEST, refused.reason, refused.detail) from None
    if not items:
        raise Problem(HTTPStatus.BAD_REQUEST, "empty_batch", "there is no event in it")
    if len(items) > LONGEST_BATCH:
        raise Problem(
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
            "batch_too_long",
            f"{len(items)} events; a batch has at most {LONGEST_BATCH}",
        )
    return items


def _refuse_unreadable(verdict: Accepted | Rejected) -> None:
    """Of a batch what one item is goes to quarantine; a lone body that is nothing goes back."""
    if isinstance(verdict, Rejected):
        if verdict.reason in UNREADABLE:
            raise Problem(HTTPStatus.BAD_REQUEST, verdict.reason, verdict.detail)
        if verdict.reason == "too_large":
            raise Problem(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, verdict.reason, verdict.detail)


def _refuse_other_fleets(caller: Caller, messages: Sequence[Message]) -> None:
    for place, message in enumerate(messages):
        fleet = message.verdict.fleet
        if fleet is not None and fleet != LEDGER_FLEET and not caller.may_see(fleet):
            raise Problem(
                HTTPStatus.FORBIDDEN,
                "wrong_fleet",
                f"event {place}: {caller.name} may not speak for fleet {fleet}",
            )


def _at(place: int) -> Coordinates:
    return Coordinates("http", None, None, place)
