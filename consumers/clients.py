"""aiokafka clients as the ledger wants them, and what their refusals mean.

A consumer here never resets an offset and never commits one by itself: where to read is said by
the receipts in the log and by nobody else. A producer waits for every replica and repeats nothing.
"""

import asyncio
import ssl
import struct
import zlib
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from itertools import chain
from typing import Any, Final

import structlog
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, codec
from aiokafka.errors import (
    AuthenticationFailedError,
    ClusterAuthorizationFailedError,
    CorruptRecordException,
    GroupAuthorizationFailedError,
    KafkaError,
    TopicAuthorizationFailedError,
    TransactionalIdAuthorizationFailed,
    UnsupportedCodecError,
)

from consumers.settings import Settings
from ledger.errors import KafkaUnavailable, SetupProblem

log = structlog.get_logger()

FETCH_BYTES: Final = 4 * 1024 * 1024
"""What one partition hands over at a time: a full batch of middling events, decompressed later."""

FETCH_BYTES_ALTOGETHER: Final = 16 * 1024 * 1024
"""What a broker hands over at a time; with what is in work it bounds a consumer's memory."""

FETCH_WAIT_MS: Final = 50
"""How long a broker may wait for something to come. aiokafka asks a broker one thing at a time, and
while it has records of a partition in hand it asks for the others alone: a partition that is just
used up waits until the broker has stopped waiting for those that are quiet."""

METADATA_MS: Final = 15_000
"""How long a new topic or partition may stay unnoticed."""

STOP_SECONDS: Final = 10
"""A client that cannot leave in that time is left behind (aiokafka may wait for ever)."""

UNREADABLE: Final[tuple[type[Exception], ...]] = (
    CorruptRecordException,
    UnsupportedCodecError,
    ValueError,
    EOFError,
    OSError,
    struct.error,
    zlib.error,
    # Only where the extra that brings the other codecs is installed is there one to refuse.
    *((codec.cramjam.DecompressionError,) if codec.has_zstd() else ()),
)
"""What a client raises when it cannot make records of what Kafka gave it: damage, a compression it
does not know, and whatever a decoder calls what it cannot decode. The network is not among them:
whoever asks a client for records hears of its troubles as KafkaError alone."""

_DENIED: Final = (
    AuthenticationFailedError,
    ClusterAuthorizationFailedError,
    GroupAuthorizationFailedError,
    TopicAuthorizationFailedError,
    TransactionalIdAuthorizationFailed,
)


def connection(settings: Settings) -> dict[str, Any]:
    """How to reach the brokers, in aiokafka's words."""
    words: dict[str, Any] = {
        "bootstrap_servers": settings.kafka_bootstrap,
        "client_id": "ledger",
        "security_protocol": settings.kafka_security_protocol,
        "metadata_max_age_ms": METADATA_MS,
    }
    if settings.kafka_security_protocol in {"SSL", "SASL_SSL"}:
        words["ssl_context"] = _ssl(settings)
    if settings.kafka_security_protocol.startswith("SASL_"):
        if settings.kafka_sasl_user is None or settings.kafka_sasl_password is None:
            raise SetupProblem(
                f"LEDGER_KAFKA_SECURITY_PROTOCOL={settings.kafka_security_protocol}: needs"
                " LEDGER_KAFKA_SASL_USER and LEDGER_KAFKA_SASL_PASSWORD"
            )
        words["sasl_mechanism"] = settings.kafka_sasl_mechanism
        words["sasl_plain_username"] = settings.kafka_sasl_user
        words["sasl_plain_password"] = settings.kafka_sasl_password.get_secret_value()
    return words


def _ssl(settings: Settings) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=settings.kafka_ca_file)
        if settings.kafka_certificate_file is not None:
            context.load_cert_chain(settings.kafka_certificate_file, settings.kafka_key_file)
    except OSError as error:
        raise SetupProblem(f"the certificates for Kafka cannot be read: {error}") from error
    return context


def group_consumer(settings: Settings) -> AIOKafkaConsumer:
    """A member of the group, not started and not subscribed."""
    return AIOKafkaConsumer(
        **connection(settings),
        group_id=settings.kafka_group,
        enable_auto_commit=False,
        auto_offset_reset="none",
        isolation_level="read_committed",
        max_partition_fetch_bytes=FETCH_BYTES,
        fetch_max_bytes=FETCH_BYTES_ALTOGETHER,
        fetch_max_wait_ms=FETCH_WAIT_MS,
        session_timeout_ms=settings.kafka_session_ms,
        heartbeat_interval_ms=settings.kafka_session_ms // 4,
    )


def witness(settings: Settings) -> AIOKafkaConsumer:
    """A consumer outside the group, to ask what there is to read."""
    return AIOKafkaConsumer(
        **connection(settings),
        group_id=None,
        auto_offset_reset="none",
        isolation_level="read_committed",
        request_timeout_ms=10_000,
    )


def group_reader(settings: Settings) -> AIOKafkaConsumer:
    """A client that may ask what the group was told, and never joins it."""
    return AIOKafkaConsumer(
        **connection(settings),
        group_id=settings.kafka_group,
        enable_auto_commit=False,
        auto_offset_reset="none",
        request_timeout_ms=10_000,
    )


def producer(settings: Settings) -> AIOKafkaProducer:
    """A producer whose messages are on every replica, once, in order, when it says so."""
    return AIOKafkaProducer(
        **connection(settings),
        acks="all",
        enable_idempotence=True,
        linger_ms=5,
    )


def told_of(error: Exception) -> str:
    """Why records cannot be read, and what would help where anything would."""
    told = f"{type(error).__name__}: {str(error).removeprefix(f'{type(error).__name__}: ')}"
    if isinstance(error, UnsupportedCodecError) and not codec.has_zstd():
        return f"{told}; install the extra `compression` of this package, which brings it"
    return told


@asynccontextmanager
async def running(
    client: AIOKafkaConsumer | AIOKafkaProducer,
) -> AsyncIterator[None]:
    """Start a client and stop it, or leave it behind where it does not stop."""
    try:
        with denials_named():
            await client.start()
        yield
    finally:
        try:
            async with asyncio.timeout(STOP_SECONDS):
                await client.stop()
        except (KafkaError, TimeoutError) as error:
            log.warning("client_left_behind", why=repr(error))


async def forget_unacknowledged(producer: AIOKafkaProducer) -> None:
    """Let a producer drop what no broker has acknowledged, so that it can be stopped.

    An idempotent one tries for ever while a partition has no leader or too few replicas, and
    stopping it waits for that. Nothing public ends it.
    """
    sender = producer._sender  # noqa: SLF001 - only stop() ends it, and that waits for every answer
    messages = producer._message_accumulator  # noqa: SLF001 - a producer tells nobody what it has not sent
    with suppress(TimeoutError):
        async with asyncio.timeout(STOP_SECONDS):
            await sender.close()
    # Its own way to fail them all leaves exceptions behind: one that nobody can look at, and one for
    # each batch that waits to be sent again, which it seeks among those under way. Whoever waited
    # for one of them has stopped waiting.
    under_way = messages._pending_batches  # noqa: SLF001 - what was sent and not acknowledged has no other name
    waiting = messages._batches.values()  # noqa: SLF001 - nor has what was not sent yet
    under_way.update(chain.from_iterable(waiting))
    for batch in tuple(under_way):
        batch.done_noack()


@contextmanager
def denials_named() -> Iterator[None]:
    """Turn what Kafka says about us into errors that tell what to do next."""
    try:
        yield
    except _DENIED as error:
        raise SetupProblem(f"Kafka does not let us: {type(error).__name__}: {error}") from error
    except KafkaError as error:
        raise KafkaUnavailable(f"Kafka: {type(error).__name__}: {error}") from error
