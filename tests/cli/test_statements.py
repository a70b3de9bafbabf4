"""A text is parted into statements at those semicolons that are part of nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.cli.statements import Parted, parted

TRICKY = st.text(alphabet="ae'\"$;\\-/* \n", max_size=8)
TAGS = st.sampled_from(["", "a", "e1", "ä"])


def _dollars(told: tuple[str, str]) -> str:
    tag, inner = told
    return f"${tag}${inner.replace('$', '')}${tag}$"


def _escaped(inner: str) -> str:
    return "E'" + inner.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _comment(inner: str) -> str:
    return "/*" + inner.replace("*", "").replace("/", "") + "*/"


PIECES = st.one_of(
    st.sampled_from(
        ["a", "e", "1.5", "+", "$1", "a$b$c", "(", ")", "/", "*", "-", "::", "\\", "ä"]
    ),
    TRICKY.map(lambda inner: "'" + inner.replace("'", "''") + "'"),
    TRICKY.map(lambda inner: '"' + inner.replace('"', '""') + '"'),
    TRICKY.map(_escaped),
    st.tuples(TAGS, TRICKY).map(_dollars),
    TRICKY.map(lambda inner: "--" + inner.replace("\n", "") + "\n,"),
    st.lists(TRICKY.map(_comment), max_size=2).map(lambda inner: f"/* {' '.join(inner)} */"),
)
STATEMENTS = st.lists(PIECES, max_size=6).map(lambda pieces: " ".join(["SELECT", *pieces]))


@given(
    st.lists(STATEMENTS, max_size=5),
    st.sampled_from([";", ";\n", " ; ", ";;", "; -- ;'\n", ";/* ;' /* \" */ */"]),
)
def test_what_was_joined_is_parted_again(statements: list[str], joint: str) -> None:
    joined = "".join(statement + joint for statement in statements)

    assert parted(joined) == (tuple(statements), "")
    assert parted(joined + "SELECT 1") == (tuple(statements), "SELECT 1")


@given(st.lists(STATEMENTS, max_size=4))
def test_it_makes_no_difference_that_lines_come_one_by_one(statements: list[str]) -> None:
    found: list[str] = []
    rest = ""
    for line in ";\n".join([*statements, ""]).splitlines(keepends=True):
        more, rest = parted(rest + line)
        found += more

    assert (found, rest) == (statements, "")


@given(st.text(alphabet="aE'\"$;\\-/* \n\r"))
def test_what_was_parted_is_parted_no_further(text: str) -> None:
    statements, rest = parted(text)

    assert parted("".join(f"{said}\n;" for said in statements) + rest) == (statements, rest)


@pytest.mark.parametrize(
    ("text", "statements", "rest"),
    [
        ("SELECT 1; SELECT 2;", ("SELECT 1", "SELECT 2"), ""),
        ("SELECT 1; -- one\nSELECT 2;", ("SELECT 1", "SELECT 2"), ""),
        ("SELECT 'a;\nb' AS x;", ("SELECT 'a;\nb' AS x",), ""),
        ("SELECT 'a;", (), "SELECT 'a;"),
        ("SELECT 'it''s;", (), "SELECT 'it''s;"),
        ("SELECT 'a\\'; SELECT 2;", ("SELECT 'a\\'", "SELECT 2"), ""),
        ("SELECT e'a\\';b'; SELECT 2;", ("SELECT e'a\\';b'", "SELECT 2"), ""),
        ("SELECT E'a'\n'\\';b';", ("SELECT E'a'\n'\\';b'",), ""),
        ("SELECT E'a\\';", (), "SELECT E'a\\';"),
        ("SELECT type'a\\'; b;", ("SELECT type'a\\'", "b"), ""),
        ('SELECT "a;""b";', ('SELECT "a;""b"',), ""),
        ("SELECT $$a;$b$;$$;", ("SELECT $$a;$b$;$$",), ""),
        ("SELECT $b$a;$$;", (), "SELECT $b$a;$$;"),
        ("SELECT a$$; b$$;", ("SELECT a$$", "b$$"), ""),
        ("SELECT $1; $2;", ("SELECT $1", "$2"), ""),
        ("/* a; /* b; */ c; */ SELECT 1;", ("SELECT 1",), ""),
        ("SELECT 1 /* a; /* b; */ c;", (), "SELECT 1 /* a; /* b; */ c;"),
        ("/* begun;", (), "/* begun;"),
        (" -- ;\n ;; /* ; */ ", (), ""),
        ("", (), ""),
    ],
)
def test_a_semicolon_inside_of_something_ends_nothing(
    text: str, statements: tuple[str, ...], rest: str
) -> None:
    assert parted(text) == Parted(statements, rest)
