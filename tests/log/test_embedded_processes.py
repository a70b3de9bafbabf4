"""Reading postmaster.pid, and telling our processes from strangers."""

import os
from pathlib import Path

from ledger.log.embedded import processes
from ledger.log.embedded.account import Account, name_of

COMPLETE = "4711\n/data/postgres\n1772359872\n40123\n/data/socket\n127.0.0.1\n    79891     29900\nready   \n"


async def test_what_we_start_is_not_ended_by_whoever_ends_us_at_a_terminal() -> None:
    """Ctrl-C there is for the group of processes that it is for, and its children are ours to end."""
    user = os.getuid()
    me = Account(name_of(user), user, os.getgid(), assumed=False)

    told = await me.run(["/bin/sh", "-c", "cut -d ' ' -f 5,6 /proc/self/stat"])

    group, session = map(int, told.written.split())
    assert group != os.getpgrp()
    assert session != os.getsid(0)


def test_a_complete_file_names_process_port_socket_and_state() -> None:
    postmaster = processes.parse(COMPLETE)

    assert postmaster == processes.Postmaster(
        4711, 40123, "/data/socket", "127.0.0.1", "ready", single_user=False
    )
    assert postmaster.on_loopback


def test_a_file_still_being_written_is_read_as_far_as_it_goes() -> None:
    lines = COMPLETE.splitlines(keepends=True)

    states = [processes.parse("".join(lines[:count])) for count in range(len(lines) + 1)]

    assert states[0] is None
    assert [state.state for state in states[1:] if state] == [""] * 7 + ["ready"]
    assert all(state.pid == 4711 for state in states[1:] if state)


def test_a_first_line_without_its_end_is_not_read() -> None:
    # Half of 4711 would be somebody else's number.
    assert processes.parse("47") is None


def test_a_file_that_holds_something_else_is_not_read() -> None:
    assert processes.parse("not a number\n") is None
    assert processes.parse("4711\n/data\n1\nnot a port\n") is None


def test_a_server_for_one_user_marks_itself_by_a_negative_number() -> None:
    postmaster = processes.parse("-4711\n/data/postgres\n1772359872\n0\n\n")

    assert postmaster is not None
    assert postmaster.pid == 4711
    assert postmaster.single_user
    assert not postmaster.on_loopback


def test_a_server_that_listens_elsewhere_is_not_on_loopback() -> None:
    elsewhere = processes.parse(COMPLETE.replace("127.0.0.1", "10.0.0.1"))
    nowhere = processes.parse(COMPLETE.replace("127.0.0.1", ""))

    assert elsewhere is not None
    assert nowhere is not None
    assert not elsewhere.on_loopback
    assert not nowhere.on_loopback


def test_a_living_process_that_is_no_postgres_does_not_belong(tmp_path: Path) -> None:
    (tmp_path / "postmaster.pid").write_text(f"{os.getpid()}\n{tmp_path}\n")

    assert not processes.belongs(os.getpid(), tmp_path)
    assert processes.running(tmp_path) is None
    assert processes.recorded(tmp_path) is not None


def test_a_number_nobody_has_does_not_belong(tmp_path: Path) -> None:
    assert not processes.belongs(processes.NOBODYS_NUMBER, tmp_path)


def test_disowning_changes_the_number_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "postmaster.pid").write_text(COMPLETE)

    processes.disown(tmp_path / "postmaster.pid")
    processes.disown(tmp_path / "postmaster.pid")

    text = (tmp_path / "postmaster.pid").read_text()
    assert text == COMPLETE.replace("4711", str(processes.NOBODYS_NUMBER))


def test_nobodys_number_is_beyond_what_the_kernel_gives() -> None:
    assert int(Path("/proc/sys/kernel/pid_max").read_text()) < processes.NOBODYS_NUMBER


def test_disowning_where_nothing_is_does_nothing(tmp_path: Path) -> None:
    processes.disown(tmp_path / "postmaster.pid")

    assert list(tmp_path.iterdir()) == []


def test_two_directories_have_two_cluster_names() -> None:
    assert processes.cluster_name(Path("/a")) != processes.cluster_name(Path("/b"))


def test_a_command_line_that_names_the_directory_is_ours(tmp_path: Path) -> None:
    ours = b"/opt/postgres\0-D\0" + os.fsencode(tmp_path) + b"\0-c\0port=1\0"
    beside = b"/opt/postgres\0-D\0" + os.fsencode(tmp_path) + b"2\0"

    assert processes.is_titled(ours, tmp_path)
    assert not processes.is_titled(beside, tmp_path)


def test_a_title_that_names_the_cluster_is_ours(tmp_path: Path) -> None:
    name = processes.cluster_name(tmp_path).encode()

    assert processes.is_titled(b"postgres: " + name + b": checkpointer ", tmp_path)
    assert not processes.is_titled(b"postgres: main: checkpointer ", tmp_path)
