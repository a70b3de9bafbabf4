"""Database URLs as people write them, and what is shown of them."""

import asyncpg
import pytest

from ledger.errors import LogUnavailable, SetupProblem
from ledger.log.database import parse, refusals_named


def test_a_drivers_name_makes_no_difference() -> None:
    assert parse("postgresql+asyncpg://u@h:1/d") == parse("postgresql://u@h:1/d")
    assert parse("postgres://u@h:1/d") == parse("postgresql://u@h:1/d")


def test_the_password_is_never_shown() -> None:
    place = parse("postgresql://somebody:s3cret@host:5432/ledger?host=/run")

    assert place.shown == "postgresql://somebody@host:5432/ledger?host=/run"
    assert "s3cret" not in repr(place)
    assert place.dsn == "postgresql://somebody:s3cret@host:5432/ledger?host=/run"


def test_another_database_of_the_same_server() -> None:
    assert parse("postgresql://u:p@h:1/one?a=b").named("two").dsn == "postgresql://u:p@h:1/two?a=b"


@pytest.mark.parametrize("url", ["", "ledger", "mysql://h/d", "postgresql://h:port/d"])
def test_what_is_no_database_url_is_said_so_without_repeating_it(url: str) -> None:
    with pytest.raises(SetupProblem, match="database URL") as refused:
        parse(url)

    assert "h/d" not in str(refused.value)


@pytest.mark.parametrize(
    "said",
    [
        asyncpg.AdminShutdownError("terminating connection due to administrator command"),
        asyncpg.InterfaceError("the underlying connection is closed"),
        asyncpg.InternalClientError("cannot switch to state 15; another operation is in progress"),
        asyncpg.ReadOnlySQLTransactionError("cannot execute INSERT in a read-only transaction"),
        asyncpg.InvalidCachedStatementError("cached statement plan is invalid"),
        ConnectionResetError(),
        TimeoutError(),
    ],
    ids=lambda said: type(said).__name__,
)
def test_a_connection_that_broke_is_a_log_that_is_away(said: Exception) -> None:
    with pytest.raises(LogUnavailable, match="the database"), refusals_named():
        raise said


@pytest.mark.parametrize(
    "said",
    [
        asyncpg.InternalClientError(
            "cannot switch to state 12; another operation (2) is in progress"
        ),
        asyncpg.InterfaceError("cannot perform operation: another operation is in progress"),
        asyncpg.InterfaceError("cannot perform operation: connection is closed"),
        asyncpg.InterfaceError("the underlying connection is closed"),
    ],
)
def test_the_state_a_driver_was_in_is_nobodys_business(said: Exception) -> None:
    with (
        pytest.raises(LogUnavailable, match=r"^the database: the connection was lost$"),
        refusals_named(),
    ):
        raise said


def test_what_a_driver_says_of_a_question_is_told() -> None:
    with pytest.raises(LogUnavailable, match="expects 1 argument"), refusals_named():
        raise asyncpg.InterfaceError("the server expects 1 argument for this query, 0 were passed")
