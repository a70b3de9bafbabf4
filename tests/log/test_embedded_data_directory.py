"""Whose a directory is, and what may be done to it, without a server."""

import asyncio
import json
import os
import stat
from pathlib import Path

import pytest

from ledger.errors import SetupProblem
from ledger.log.embedded import account, data_directory, server
from ledger.log.embedded.data_directory import Marker

FRESH = Marker(1, "18", initialised=False, port=None, socket_directory=None)


def silent(line: str) -> None:
    """Nobody listens."""


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("made", [[], ["lock"], ["lock", "ledger.json.new"], ["lost+found"]])
def test_a_directory_without_contents_of_anybodys_is_free(tmp_path: Path, made: list[str]) -> None:
    for name in made:
        (tmp_path / name).touch()

    assert data_directory.at(tmp_path).marker() is None


def test_a_directory_that_does_not_exist_is_free(tmp_path: Path) -> None:
    assert data_directory.at(tmp_path / "a" / "b").marker() is None
    assert not (tmp_path / "a").exists()


def test_somebody_elses_directory_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("42")

    with pytest.raises(SetupProblem, match=f"{tmp_path}: is not a data directory of ours.*thesis"):
        data_directory.at(tmp_path).marker()

    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "{}", '{"format": "other"}', '{"format": "ledger data directory"}']
)
def test_a_foreign_ledger_json_makes_no_directory_ours(tmp_path: Path, text: str) -> None:
    (tmp_path / "ledger.json").write_text(text)

    with pytest.raises(SetupProblem, match=str(tmp_path)):
        data_directory.at(tmp_path).marker()


def test_a_later_layout_is_refused_by_its_number(tmp_path: Path) -> None:
    directory = data_directory.at(tmp_path)
    directory.mark(FRESH)
    content = json.loads((tmp_path / "ledger.json").read_text())
    (tmp_path / "ledger.json").write_text(json.dumps(content | {"layout": 2}))

    with pytest.raises(SetupProblem, match="has layout 2, and this ledger knows layout 1"):
        directory.marker()


def test_a_file_is_no_directory(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(SetupProblem, match=f"{tmp_path / 'file'}: is not a directory"):
        data_directory.at(tmp_path / "file").marker()


def test_what_is_marked_is_read_back(tmp_path: Path) -> None:
    directory = data_directory.at(tmp_path)
    marker = Marker(1, "16", initialised=True, port=40123, socket_directory="/tmp/ledger-x")

    directory.mark(marker)

    assert directory.marker() == marker


def test_marking_the_same_again_writes_nothing(tmp_path: Path) -> None:
    directory = data_directory.at(tmp_path)
    directory.mark(FRESH)
    written = (tmp_path / "ledger.json").stat().st_ino

    directory.mark(FRESH)

    assert (tmp_path / "ledger.json").stat().st_ino == written


def test_the_password_is_for_its_owner_only_and_new_each_time(tmp_path: Path) -> None:
    directory = data_directory.at(tmp_path)
    # What a crash left behind has not got to be closed.
    (tmp_path / "password.new").touch(mode=0o666)

    first = directory.new_password()
    second = directory.new_password()

    assert first != second
    assert directory.password() == second
    assert mode_of(tmp_path / "password") == 0o600
    assert (tmp_path / "password").stat().st_uid == os.geteuid()


def test_a_missing_password_is_said_with_its_path(tmp_path: Path) -> None:
    with pytest.raises(SetupProblem, match=f"{tmp_path / 'password'}: is missing"):
        data_directory.at(tmp_path).password()


def test_no_mode_of_an_existing_directory_is_changed(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home").chmod(0o700)

    data_directory.at(tmp_path / "home" / "a" / "b").create()
    data_directory.at(tmp_path / "home").create()

    assert mode_of(tmp_path / "home") == 0o700
    assert mode_of(tmp_path / "home" / "a" / "b") == (0o755 if os.geteuid() == 0 else 0o700)


async def test_the_lock_is_held_by_one_at_a_time_in_one_process_too(tmp_path: Path) -> None:
    directory = data_directory.at(tmp_path)
    inside = 0

    async def enter() -> None:
        nonlocal inside
        async with directory.exclusively(silent):
            inside += 1
            assert inside == 1
            await asyncio.sleep(0)
            inside -= 1

    await asyncio.gather(*(enter() for _ in range(5)))


async def test_whoever_inherited_the_starters_lock_keeps_the_next_one_waiting(
    tmp_path: Path,
) -> None:
    directory = data_directory.at(tmp_path)
    async with directory.exclusively(silent) as held:
        inherited = os.dup(held)

    async def enter() -> None:
        async with directory.exclusively(silent):
            pass

    waiting = asyncio.create_task(enter())
    entered_at_once, _ = await asyncio.wait({waiting}, timeout=0.1)
    os.close(inherited)
    await waiting

    assert not entered_at_once


async def test_whoever_inherited_the_servers_lock_keeps_it(tmp_path: Path) -> None:
    directory = data_directory.at(tmp_path)
    assert not directory.server_lives()

    taken = await directory.lock_for_server()
    assert taken is not None
    inherited = os.dup(taken)
    os.close(taken)

    assert directory.server_lives()
    os.close(inherited)
    assert not directory.server_lives()


def test_a_socket_whose_name_is_too_long_gets_a_private_place_that_is_kept(tmp_path: Path) -> None:
    deep = tmp_path / ("x" * 60) / ("y" * 60)
    deep.mkdir(parents=True)
    directory = data_directory.at(deep)
    user = account.Account("me", os.geteuid(), os.getegid(), assumed=False)

    short = directory.socket_directory(user, 40123, FRESH)
    again = Marker(1, "18", initialised=True, port=40123, socket_directory=str(short))
    directory.mark(again)

    assert len(os.fsencode(short / ".s.PGSQL.40123")) <= 107
    assert mode_of(short) == 0o700
    assert directory.socket_directory(user, 40123, again) == short
    directory.discard_socket_directory(again)
    assert not short.exists()
    assert directory.marker() == Marker(
        1, "18", initialised=True, port=40123, socket_directory=None
    )


def test_a_recorded_socket_directory_others_can_enter_is_not_used(tmp_path: Path) -> None:
    deep = tmp_path / ("x" * 60) / ("y" * 60)
    deep.mkdir(parents=True)
    opened = tmp_path / "o"
    opened.mkdir()
    opened.chmod(0o755)
    directory = data_directory.at(deep)
    user = account.Account("me", os.geteuid(), os.getegid(), assumed=False)
    marker = Marker(1, "18", initialised=True, port=1, socket_directory=str(opened))

    chosen = directory.socket_directory(user, 1, marker)

    assert chosen != opened
    chosen.rmdir()


def test_only_what_was_added_to_the_logs_is_read(tmp_path: Path) -> None:
    directory = data_directory.at(tmp_path)
    directory.log.mkdir()
    (directory.log / "postgresql-Mon.log").write_text("old\n")
    (directory.log / "postgresql-Tue.log").write_text("last week, and long\n")
    before = directory.log_sizes()

    with (directory.log / "postgresql-Mon.log").open("a") as log:
        log.write("new\n")
    (directory.log / "postgresql-Tue.log").write_text("emptied\n")
    (directory.log / "start.log").write_text("first\n")

    assert directory.log_since(before) == "first\nnew\nemptied\n"


def test_a_full_disk_is_named_by_its_mount_and_its_room(tmp_path: Path) -> None:
    said = data_directory.disk_full(tmp_path / "not" / "yet")

    assert said.startswith(f"{tmp_path / 'not' / 'yet'}: the filesystem mounted at /")
    assert "MiB are free" in said
    assert "a new server takes about 60" in said


def test_where_a_database_is_already_a_full_disk_speaks_of_no_new_one(tmp_path: Path) -> None:
    (tmp_path / "postgres").mkdir()

    said = data_directory.disk_full(tmp_path)

    assert "MiB are free. Free some space there" in said


def test_the_default_directory_is_chosen_by_environment_then_user(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("LEDGER_DATA", "/somewhere")
    assert server.default_data_directory() == Path("/somewhere")

    monkeypatch.delenv("LEDGER_DATA")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert server.default_data_directory() == Path("/var/lib/ledger")

    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setenv("HOME", "/users/somebody")
    monkeypatch.setenv("XDG_DATA_HOME", "/elsewhere")
    assert server.default_data_directory() == Path("/elsewhere/ledger")

    monkeypatch.setenv("XDG_DATA_HOME", "relative")
    assert server.default_data_directory() == Path("/users/somebody/.local/share/ledger")


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"listen_addresses": "*"}, "setting listen_addresses: is set by the ledger itself"),
        ({"a=b": "c"}, "is not the name of a PostgreSQL setting"),
        ({"port": "http"}, "setting port=http: is not a port"),
        ({"port": "0"}, "setting port=0: is not a port"),
    ],
)
async def test_settings_that_cannot_be_are_refused_before_anything_is_made(
    tmp_path: Path, settings: dict[str, str], complaint: str
) -> None:
    with pytest.raises(SetupProblem, match=complaint):
        await server.start(tmp_path / "data", settings=settings)

    assert not (tmp_path / "data").exists()
