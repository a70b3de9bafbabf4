"""``ledger sql``: one query or many, as a table, CSV, JSON, Arrow or Parquet, with every number exact."""

import json
import sys
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet
from typer.testing import CliRunner, Result

from ledger.cli import arrow_files
from ledger.cli.commands import as_asked
from ledger.errors import SetupProblem
from ledger.views.query import Answer

VALUES = (
    "SELECT 9223372036854775807::bigint AS whole, 1e60::numeric + 0.25 AS exact,"
    " timestamptz '2026-01-05 12:00:00.123456Z' AS moment, true AS yes, '\\x00ff'::bytea AS bytes,"
    " 'shop/cart'::text AS name, NULL::bigint AS nothing, '{\"a\": [1]}'::jsonb AS told"
)


def sql(url: str, *words: str, said: str | None = None, code: int = 0) -> Result:
    answer = CliRunner().invoke(
        as_asked(["sql"]), ["sql", "--database-url", url, *words], input=said
    )
    assert answer.exit_code == code, answer.output
    return answer


def test_every_form_keeps_what_a_value_is(database_url: str, tmp_path: Path) -> None:
    exact = Decimal(f"1{0:060}.25")
    (line,) = sql(database_url, VALUES, "--json").stdout.splitlines()
    told = json.loads(line)
    assert told["whole"] == 2**63 - 1
    assert Decimal(told["exact"]) == exact
    assert (told["yes"], told["nothing"], told["bytes"]) == (True, None, "\\x00ff")

    header, row = sql(database_url, VALUES, "--csv").stdout.splitlines()
    assert header == "whole,exact,moment,yes,bytes,name,nothing,told"
    assert row.startswith(f"9223372036854775807,{exact},2026-01-05 12:00:00.123456+00:00,True,")

    assert "9223372036854775807" in sql(database_url, VALUES).stdout

    for form, read in (("parquet", parquet.read_table), ("arrow", _read_arrow)):
        file = tmp_path / f"answer.{form}"
        said = sql(database_url, VALUES, f"--{form}", str(file)).stderr
        assert "1 row written" in said
        (kept,) = read(file).to_pylist()
        assert kept == {
            "whole": 2**63 - 1,
            "exact": exact,
            "moment": datetime(2026, 1, 5, 12, 0, 0, 123456, tzinfo=UTC),
            "yes": True,
            "bytes": b"\x00\xff",
            "name": "shop/cart",
            "nothing": None,
            "told": '{"a": [1]}',
        }


ODD = (
    "SELECT ARRAY['nan', 'infinity', '-infinity', 1.5]::float8[] AS floats, 'nan'::numeric AS number,"
    " ARRAY['infinity', '-infinity', '0044-03-15 BC 12:00Z', '10000-01-01 00:00Z',"
    " '1999-12-31 23:59:59.5Z']::timestamptz[] AS moments, 'infinity'::timestamp AS local,"
    " ARRAY['infinity', '0001-01-01', '0001-12-31 BC', '9999-12-31', '10000-02-29']::date[] AS days,"
    " interval '1 month 2 days -3 hours' AS span, ARRAY[interval '1 year', NULL] AS spans, '24:00'::time AS midnight,"
    ' E\'{"a":\\n[1.10, 1e400, "\\\\n"]}\'::json AS told, ARRAY[\'{"b": null}\']::jsonb[] AS many'
)


def test_what_no_number_or_moment_of_python_is_stays_what_it_is(database_url: str) -> None:
    (line,) = sql(database_url, ODD, "--json").stdout.splitlines()

    def none_such(said: str) -> None:
        raise AssertionError(f"{said} is no JSON")

    told = json.loads(line, parse_constant=none_such, parse_float=Decimal)
    assert told == {
        "floats": ["NaN", "Infinity", "-Infinity", Decimal("1.5")],
        "number": "NaN",
        "moments": [
            "infinity",
            "-infinity",
            "0044-03-15 12:00:00+00:00 BC",
            "10000-01-01 00:00:00+00:00",
            "1999-12-31 23:59:59.500000+00:00",
        ],
        "local": "infinity",
        "days": ["infinity", "0001-01-01", "0001-12-31 BC", "9999-12-31", "10000-02-29"],
        "span": "1 mon 2 days -03:00:00",
        "spans": ["1 year", None],
        "midnight": "24:00:00",
        "told": {"a": [Decimal("1.10"), Decimal("1e400"), "\n"]},
        "many": [{"b": None}],
    }


def test_endless_moments_and_days_are_text_in_files(database_url: str, tmp_path: Path) -> None:
    file = tmp_path / "answer"
    sql(
        database_url,
        "SELECT 'infinity'::timestamptz AS moment, '-infinity'::date AS day",
        *("--parquet", str(file)),
    )

    assert parquet.read_table(file).to_pylist() == [{"moment": "infinity", "day": "-infinity"}]


def test_csv_tells_an_empty_text_from_nothing(database_url: str) -> None:
    asked = "SELECT NULL AS a, '' AS b, 'x,\"y\"' AS \"c,d\", 'nan'::float8 AS e"

    assert sql(database_url, asked, "--csv").stdout.splitlines() == [
        'a,b,"c,d",e',
        ',"","x,""y""",NaN',
    ]


def test_in_a_table_bytes_are_shown_by_their_beginning(database_url: str) -> None:
    asked = "SELECT sha256('x') AS digest, convert_to(repeat('{', 1234), 'UTF8') AS payload, 1 AS n"

    shown = sql(database_url, asked).stdout.splitlines()
    csv = sql(database_url, asked, "--csv").stdout
    told = json.loads(sql(database_url, asked, "--json").stdout)

    digest = "\\x2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"
    assert shown[1].split() == [digest, f"\\x{'7b' * 32}...", "(1234", "bytes)", "1"]
    assert f",\\x{'7b' * 1234},1" in csv
    assert (told["digest"], told["payload"]) == (digest, f"\\x{'7b' * 1234}")


NUMBERS = (
    "SELECT 20000::numeric AS a, 100000000000::numeric AS b, 1e-8::numeric AS c, 'nan'::numeric AS d,"
    " '-infinity'::numeric AS e, 1.50::numeric AS f, 0::numeric AS g, ARRAY[20000, NULL]::numeric[] AS h"
)


def test_numbers_are_written_out_in_all_forms(database_url: str) -> None:
    written = ["20000", "100000000000", "0.00000001", "NaN", "-Infinity", "1.50", "0"]

    (told,) = sql(database_url, NUMBERS, "--json").stdout.splitlines()
    _, row = sql(database_url, NUMBERS, "--csv").stdout.splitlines()
    _, shown, _ = sql(database_url, NUMBERS).stdout.splitlines()

    assert [*json.loads(told).values()] == [*written, ["20000", None]]
    assert row == ",".join([*written, '"[20000, None]"'])
    assert shown.split(maxsplit=7) == [*written, "[20000, None]"]


def test_two_columns_of_one_name_are_shown_but_put_in_no_object(
    database_url: str, tmp_path: Path
) -> None:
    asked = "SELECT 1 AS a, 2 AS a"

    for form in (["--json"], ["--parquet", str(tmp_path / "x")], ["--arrow", str(tmp_path / "x")]):
        assert "duplicate_column: a:" in sql(database_url, asked, *form, code=64).stderr
    assert sql(database_url, asked, "--csv").stdout.splitlines() == ["a,a", "1,2"]


def _read_arrow(file: Path) -> Any:
    with pa.OSFile(str(file), "rb") as source:
        return pa.ipc.open_file(source).read_all()


def test_a_number_too_large_for_a_decimal_is_text() -> None:
    largest, larger = Decimal("9" * 76), Decimal("9" * 77)
    for values, kept in (
        ([largest, None], [largest, None]),
        ([larger, Decimal(1)], [str(larger), "1"]),
        ([Decimal("NaN")], ["NaN"]),
        ([Decimal("1E+80"), Decimal("1E-8")], [f"1{0:080}", "0.00000001"]),
        ([Decimal("1E+5"), Decimal("0.001")], [Decimal(100_000), Decimal("0.001")]),
        ([], []),
    ):
        answer = Answer(("amount",), ("numeric",), [(value,) for value in values])
        assert arrow_files.table(answer).column("amount").to_pylist() == kept


def test_without_pyarrow_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(SetupProblem, match=r"pip install 'ledger-scheduling\[arrow\]'"):
        arrow_files.require(Path("file"))


def test_statements_are_asked_one_after_the_other(database_url: str) -> None:
    asked = "SELECT 1 AS one;\n\nSELECT 2\n  AS two;\n\\d schema_version\nSELECT 3 AS three"

    told = sql(database_url, "--csv", said=asked).stdout.splitlines()

    assert told[:4] == ["one", "1", "two", "2"]
    assert told[4] == "column,type,meaning"
    assert told[5].startswith("version,text,")
    assert told[6:] == ["three", "3"]


def test_a_semicolon_ends_a_statement_wherever_it_stands(database_url: str) -> None:
    asked = (
        "SELECT 1 AS a; SELECT 2 AS b; -- one\nSELECT 'x;\ny' AS c;\n/* \\q */ SELECT 3 AS d -- end"
    )

    told = sql(database_url, "--json", said=asked).stdout.splitlines()

    assert [json.loads(line) for line in told] == [{"a": 1}, {"b": 2}, {"c": "x;\ny"}, {"d": 3}]


def test_views_are_listed(database_url: str) -> None:
    told = sql(database_url, said="\\d\n").stdout

    assert "placements" in told
    assert "What is in force now, a place a row." in told


def test_a_mistake_is_told_and_ends_a_script(database_url: str) -> None:
    answer = sql(database_url, said="SELECT nonsense;\nSELECT 1 AS one;\n", code=64)

    assert "invalid_query" in answer.stderr
    assert "one" not in answer.stdout


@pytest.mark.parametrize("form", ["--parquet", "--arrow"])
def test_a_file_that_cannot_be_written_is_refused_before_anything_is_asked(
    form: str, database_url: str, tmp_path: Path
) -> None:
    nowhere = sql(database_url, "SELECT nonsense", form, str(tmp_path / "no" / "file"), code=78)
    taken = sql(database_url, "SELECT 1 AS one", form, "/proc/version", code=78)

    assert "there is no such directory" in nowhere.stderr
    assert "/proc/version: " in taken.stderr


@pytest.mark.parametrize(
    "asked",
    [
        "INSERT INTO placements VALUES (1)",
        "SELECT $1::text",
        "DECLARE c CURSOR FOR SELECT 1",
        "COMMIT AND CHAIN",
    ],
)
def test_whatever_postgres_says_of_a_question_is_a_refusal_by_name(
    asked: str, database_url: str
) -> None:
    assert "invalid_query" in sql(database_url, asked, code=64).stderr


def test_a_reader_writes_nothing(database_url: str) -> None:
    answer = sql(database_url, "CREATE TEMP TABLE mine AS SELECT 1", code=64)

    assert "read_only" in answer.stderr


def test_what_does_not_go_together_is_refused(database_url: str) -> None:
    sql(database_url, "SELECT 1", "--csv", "--json", code=64)
    sql(database_url, "--parquet", "file", code=64)


def test_readers_are_granted_and_listed(database_url: str) -> None:
    def readers(*words: str, code: int = 0) -> Result:
        answer = CliRunner().invoke(
            as_asked(["readers"]), ["readers", *words, "--database-url", database_url]
        )
        assert answer.exit_code == code, answer.output
        return answer

    before = [json.loads(line) for line in readers("list", "--json").stdout.splitlines()]
    assert [(one["reader"], one["fleet"]) for one in before] == [("ledger_reader", "*")]
    readers("revoke", "ledger_reader", "*")
    assert readers("list", "--json").stdout == ""
    assert "not_granted" in readers("revoke", "ledger_reader", "*", code=78).stderr
    said = readers("grant", "ledger_reader", "*").stderr
    assert "every fleet" in said
    assert "ledger_reader is no login" in said
    assert "ledger_reader" in readers("list").stdout
    for asked in ("grant", "revoke"):
        for fleet in ("*", "absent"):
            said = readers(asked, "nobody-of-that-name", fleet, code=78).stderr
            assert "unknown_role: nobody-of-that-name: " in said
        said = readers(asked, "ledger_reader", "absent", code=78).stderr
        assert "unknown_fleet: absent: " in said
    assert len(readers("list", "--json").stdout.splitlines()) == 1


def test_csv_ends_its_lines_as_copy_does(database_url: str) -> None:
    asked = "SELECT 1 AS a, E'two\\r\\nlines' AS b"

    told = sql(database_url, asked, "--csv").stdout_bytes

    assert told == b'a,b\n1,"two\r\nlines"\n'


def test_several_queries_are_answered_as_from_standard_input(database_url: str) -> None:
    asked = "SELECT 1 AS a; SELECT ';' AS b; -- and no more;\n"

    told = sql(database_url, asked, "--json").stdout

    assert told.splitlines() == ['{"a": 1}', '{"b": ";"}']
    for form in ([], ["--csv"], ["--json"]):
        assert sql(database_url, asked, *form).stdout == sql(database_url, *form, said=asked).stdout


def test_the_first_query_that_is_refused_ends_it(database_url: str) -> None:
    answer = sql(database_url, "SELECT 1 AS a; SELECT nothing; SELECT 2", "--csv", code=64)

    assert answer.stdout == "a\n1\n"
    assert answer.stderr.startswith("ledger: ")


def test_a_file_is_written_of_one_query(database_url: str, tmp_path: Path) -> None:
    file = tmp_path / "answer.arrow"

    answer = sql(database_url, "SELECT 1; SELECT 2", "--arrow", str(file), code=64)

    assert "one query" in answer.output
    assert not file.exists()


@pytest.mark.parametrize("nothing", ["", " ", ";", " -- nothing", "/* nothing */ ;"])
def test_nothing_is_no_query(database_url: str, nothing: str) -> None:
    answer = sql(database_url, nothing, code=64)

    assert "asks nothing" in answer.output
    assert answer.stdout == ""
