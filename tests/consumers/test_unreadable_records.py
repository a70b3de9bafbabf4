"""A record that the client cannot read halts its partition, whatever the client calls it."""

import gzip
import struct
import zlib
from collections.abc import Callable

import cramjam
import pytest
from aiokafka import codec
from aiokafka.errors import CorruptRecordException, UnsupportedCodecError

from consumers import clients
from tests.consumers.fakes import Books, Broker, consuming


@pytest.mark.parametrize(
    "error",
    [
        UnsupportedCodecError("Libraries for zstd compression codec not found"),
        CorruptRecordException("Invalid CRC"),
        gzip.BadGzipFile("Not a gzipped file"),
        EOFError("Compressed file ended"),
        zlib.error("invalid block type"),
        struct.error("unpack_from requires a buffer"),
        cramjam.DecompressionError("truncated frame"),
        UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_only_the_partition_of_a_record_nobody_can_read_halts(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    broker, books = Broker(2), Books()
    broker[0].write(20)
    broker[0].broken[7] = error
    broker[1].write(20)

    async with consuming(monkeypatch, broker, books) as running:
        await running.until(lambda totals: totals.halted == 1)
        broker[1].write(20)
        await running.until(lambda _totals: books.through(1) == 40)
        await running.end()

    ((number, reason, detail),) = books.halts
    assert (number, reason) == (0, "unreadable_record")
    assert "nothing can be read at 7" in detail
    assert type(error).__name__ in detail
    assert books.through(0) == 7


@pytest.mark.parametrize("installed", [True, False])
async def test_the_halt_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, *, installed: bool
) -> None:
    monkeypatch.setattr(codec, "has_zstd", lambda: installed)
    broker, books = Broker(1), Books()
    broker[0].write(1)
    broker[0].broken[0] = UnsupportedCodecError("Libraries for zstd compression codec not found")

    async with consuming(monkeypatch, broker, books) as running:
        await running.until(lambda totals: totals.halted == 1)

    ((_, _, detail),) = books.halts
    assert ("install the extra `compression`" in detail) is not installed


@pytest.mark.parametrize(
    ("decode", "body"),
    [
        (codec.gzip_decode, b"no gzip at all"),
        (codec.gzip_decode, b"\x1f\x8b\x08\x00"),
        (codec.gzip_decode, b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xff\xff\xff\xff"),
        (codec.snappy_decode, b"no snappy"),
        (codec.snappy_decode, b"\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00"),
        (codec.lz4_decode, b"no lz4"),
        (codec.zstd_decode, b"no zstd"),
    ],
)
async def test_what_decoders_raise_of_damaged_bodies_counts_as_unreadable(
    monkeypatch: pytest.MonkeyPatch, decode: Callable[[bytes], bytes], body: bytes
) -> None:
    broker, books = Broker(1), Books()
    broker[0].write(3)
    with pytest.raises(clients.UNREADABLE) as raised:
        decode(body)
    broker[0].broken[1] = raised.value

    async with consuming(monkeypatch, broker, books) as running:
        await running.until(lambda totals: totals.halted == 1)

    assert books.through(0) == 1
