"""Signed notes to Kafka: every one that the signer signs, keyed by its origin.

This is a place where the signer publishes (``ledger.log.publishing``), so it runs in the signer's process,
beside the key and with the signer's own way into Kafka: what was signed leaves by no way that the
database's administrators could close. `ledger publish` has no part in it.

A message is the note itself, byte for byte: whoever reads it checks the signatures, and needs nothing else
of us. The topic says of each origin what was signed, in order; a note that witnesses vouched for later
comes once more with their signatures. How far a topic has come is remembered in a file of the signer's,
after the brokers have acknowledged: a signer that dies in between sends some notes again.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Final

from consumers.publisher import Outgoing, Parcel, Post
from consumers.settings import Settings
from ledger.log.messages import Headers
from ledger.log.publishing import Newest, Published, Reached
from ledger.log.signed import Memory, Signed, memory

TOPIC: Final = "notes"

HEADERS: Final[Headers] = (("content-type", b"text/plain; charset=UTF-8"),)


class NotesTopic:
    """The topic, as a place."""

    def __init__(self, settings: Settings, remembered: Memory) -> None:
        """``remembered`` holds the size and the digest of the last note of each origin."""
        self._post = Post(settings)
        self._topic = f"{settings.kafka_topic_prefix}{TOPIC}"
        self._remembered = remembered

    @property
    def name(self) -> str:
        """The topic's."""
        return f"topic {self._topic}"

    def reached(self, origin: str) -> Reached | None:
        """As the brokers acknowledged it."""
        last = self._remembered.last(origin)
        return None if last is None else Reached(last.size, last.root)

    def signed(self) -> Mapping[str, Newest]:
        """By what was acknowledged; of the notes themselves only digests are kept."""
        return dict.fromkeys(self._remembered.origins(), Newest(frozenset(), None))

    async def publish(self, notes: Sequence[Published]) -> None:
        """Send notes in order, and remember those that the brokers have."""
        while notes:
            taken = await self._post.hand_on(self._topic, [_parcel(one) for one in notes])
            self._remembered.remember(
                {one.origin: Signed(one.size, one.digest) for one in notes[:taken]}
            )
            notes = notes[taken:]

    async def close(self) -> None:
        """Give the producer up."""
        await self._post.close()


@asynccontextmanager
async def notes_topic(settings: Settings, remembered: Path) -> AsyncIterator[NotesTopic]:
    """The topic, for as long as the block runs; ``remembered`` is the file of how far it has come."""
    async with AsyncExitStack() as open_:
        place = NotesTopic(settings, open_.enter_context(memory(remembered)))
        open_.push_async_callback(place.close)
        yield place


def _parcel(one: Published) -> Parcel:
    message = Outgoing(one.origin.encode(), one.note, HEADERS)
    # A note is some hundred bytes; a topic that does not take that takes nothing.
    return Parcel(f"{one.origin} {one.size}", message, message)
