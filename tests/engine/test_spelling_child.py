"""The child that spells a World: by however many it is done, the file holds what a snapshot is."""

import os
import resource
import signal
import tempfile
import zlib
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from time import monotonic, sleep

import pytest
from immutables import Map

from ledger.engine import spelling_child
from ledger.engine.spelling_child import LARGE, PIECE_BYTES, Written, end, fork, why_not
from ledger.reducers import snapshot
from ledger.reducers.world import World
from ledger.units import Subject
from tests.histories import History, cluster_up, divided, node_up, workload_up


@pytest.fixture(scope="module")
def small() -> World:
    log = History()
    log.add_all(cluster_up("m1"), node_up("m1", "n1"), workload_up("ns/a", 5, divided()))
    return log.world


@pytest.fixture(scope="module")
def large(small: World) -> World:
    """With a map of several pieces, in which one number is larger than most can write."""
    epochs = {Subject(f"ns/{number:060}"): number for number in range(LARGE)}
    epochs[Subject("ns/most")] = 1 << 70
    return replace(small, divisions=replace(small.divisions, epochs=Map(epochs)))


def spelled(world: World, spellers: int | None) -> tuple[Written, list[bytes]]:
    with tempfile.TemporaryFile(buffering=0) as file:
        child = fork(world, file.fileno(), spellers=spellers)
        _, status = os.waitpid(child, 0)
        assert status == 0
        written = Written.read(file)
        return written, list(written.parts(file))


@pytest.mark.parametrize("spellers", [1, 2, 3, None])
def test_the_file_holds_the_lines_of_the_snapshot_by_however_many_it_is_spelled(
    small: World, large: World, spellers: int | None
) -> None:
    for world in (small, large):
        whole = b"".join(snapshot.spell(world))

        written, pieces = spelled(world, spellers)

        assert b"".join(map(zlib.decompress, pieces)) == whole
        assert written.digest == sha256(whole).digest()
        assert written.size == len(whole)
        assert written.stored_bytes == sum(map(len, pieces))


def test_small_parts_share_a_piece_and_large_ones_have_several(small: World, large: World) -> None:
    _, pieces = spelled(small, 2)
    assert len(pieces) == 1

    written, pieces = spelled(large, 2)
    assert len(pieces) >= written.size // (2 * PIECE_BYTES)
    assert max(len(zlib.decompress(piece)) for piece in pieces) < 2 * PIECE_BYTES


def test_a_file_of_a_child_that_was_killed_is_refused(large: World) -> None:
    with tempfile.TemporaryFile(buffering=0) as file:
        child = fork(large, file.fileno(), spellers=2)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)

        with pytest.raises(OSError, match="wrote nothing"):
            Written.read(file)


def test_a_file_that_was_cut_off_is_refused(small: World) -> None:
    with tempfile.TemporaryFile(buffering=0) as file:
        os.waitpid(fork(small, file.fileno()), 0)
        file.truncate(file.seek(0, os.SEEK_END) - 1)

        with pytest.raises(OSError, match="did not come to its end"):
            Written.read(file)


def test_whoever_helps_ends_with_the_child_that_asked(large: World) -> None:
    with tempfile.TemporaryFile(buffering=0) as file:
        child = fork(large, file.fileno(), spellers=2)
        (helper,) = helpers_of(child)
        end(child)
        os.waitpid(child, 0)

    last = monotonic() + 30
    while is_running(helper):
        assert monotonic() < last, "it went on"
        sleep(0.01)


def test_without_its_helper_the_child_fails_and_says_so(large: World) -> None:
    last = monotonic() + 30
    while (said := said_without_its_helper(large)) == "ended with 0":
        assert monotonic() < last, "the helper was always done before it was found"
    assert said == "failed: a process that helped was ended by SIGKILL"


def said_without_its_helper(world: World) -> str:
    with tempfile.TemporaryFile(buffering=0) as file:
        child = fork(world, file.fileno(), spellers=2)
        (helper,) = helpers_of(child)
        os.kill(int(helper), signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        return why_not(file, status)


def test_on_a_full_disk_the_child_fails_and_says_so(large: World) -> None:
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        with tempfile.TemporaryFile(buffering=0) as file:
            resource.setrlimit(resource.RLIMIT_FSIZE, (PIECE_BYTES // 20, most))
            child = fork(large, file.fileno(), spellers=2)
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
            _, status = os.waitpid(child, 0)

            assert "File too large" in why_not(file, status)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)


@pytest.mark.parametrize(
    ("said", "processors"), [("max 100000", 4), ("100000 100000", 1), ("150000 100000", 1.5)]
)
def test_a_container_has_as_many_processors_as_it_says(
    said: str, processors: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spelling_child, "CONTAINER", tmp_path / "cpu.max")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2, 3})
    assert spelling_child.processors() == 4

    (tmp_path / "cpu.max").write_text(f"{said}\n")

    assert spelling_child.processors() == processors


def helpers_of(child: int) -> list[str]:
    """Once there are any."""
    last = monotonic() + 30
    while not (found := Path(f"/proc/{child}/task/{child}/children").read_text().split()):
        assert monotonic() < last, "nobody helps"
    return found


def is_running(process: str) -> bool:
    try:
        told = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False
    return told.rpartition(")")[2].split()[0] != "Z"
