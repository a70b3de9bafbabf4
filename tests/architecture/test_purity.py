"""The pure rooms are pure: what they compute follows from what they are given, on any machine.

Import contracts stop the doors one thinks of. This stops the rest: a pure room imports from a short
list, calls none of the builtins that look outside or differ between runs, knows no float, keeps no
hidden state, waits for nothing, and never takes an order from a set. The findings say what to write
instead.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]

PURE_ROOMS = ("core", "decisions", "errors", "facts", "reducers", "units")

IMPORTS = {
    *("bisect", "collections", "collections.abc", "dataclasses", "enum", "fractions", "functools"),
    *("hashlib", "heapq", "immutables", "itertools", "json", "math", "operator", "re", "typing"),
}

INTEGER_MATHS = {"comb", "gcd", "isqrt", "lcm"}
"""What of ``math`` is exact. The rest answers in floats."""

NAMES = {
    "hash": "its value for text differs between processes: use hashlib, or sort",
    "id": "an address differs between runs: compare by value, name things by their keys",
    "open": "a pure room reads nothing: take the content as an argument",
    "print": "a pure room writes nothing: put it into the result",
    "input": "a pure room reads nothing: take the answer as an argument",
    "breakpoint": "a pure room stops for nobody",
    "eval": "code is not data",
    "exec": "code is not data",
    "compile": "code is not data",
    "__import__": "import at the top, from the allowed modules",
    "__builtins__": "it hides which builtin is meant",
    "globals": "state is a value that is handed over and returned",
    "locals": "state is a value that is handed over and returned",
    "vars": "name the fields",
    "float": "whole numbers, or fractions.Fraction",
    "complex": "whole numbers, or fractions.Fraction",
}

DIVISIONS = {"truediv", "itruediv", "__truediv__", "__rtruediv__", "__itruediv__"}

NO_DIVISION = "use //, divmod, cross-multiplication or Fraction(a, b): / makes floats"
NO_SET_ORDER = "a set has no order that lasts: iterate over sorted(...), and say by what"
NO_WAITING = "a pure room waits for nothing: the shell awaits and hands over what came"
NO_HIDDEN_STATE = "state is a value that is handed over and returned"

ORDER_TAKERS = {"dict", "enumerate", "filter", "iter", "list", "map", "next", "tuple", "zip"}
"""Builtins whose result follows the order of what they are given."""

SETS = {"set", "frozenset"}
SET_METHODS = {"difference", "intersection", "symmetric_difference", "union"}


def impurities(source: str) -> list[str]:
    """What is impure in the source of a module: the line, what stands there, what to do instead."""
    found = [
        (getattr(node, "lineno", 0), finding)
        for node in ast.walk(ast.parse(source))
        for finding in _of_node(node)
    ]
    return [f"line {line}: {finding}" for line, finding in sorted(found)]


def _of_node(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Import(names=names):
            yield from (_of_import(alias.name) for alias in names if not _may_import(alias.name))
        case ast.ImportFrom(module=module, names=names, level=level):
            yield from _of_import_from(module or "", names, relative=level > 0)
        case ast.Name(id=name, ctx=ast.Load()) if name in NAMES:
            yield f"{name}: {NAMES[name]}"
        case ast.Attribute(value=ast.Name(id="math"), attr=name) if name not in INTEGER_MATHS:
            yield f"math.{name}: only {', '.join(sorted(INTEGER_MATHS))} are exact"
        case ast.Attribute(attr=name) if name in DIVISIONS:
            yield f"{name}: {NO_DIVISION}"
        case ast.BinOp(op=ast.Div()) | ast.AugAssign(op=ast.Div()):
            yield f"/: {NO_DIVISION}"
        case ast.Constant(value=float() | complex() as number):
            yield f"{number}: whole numbers, or fractions.Fraction"
        case ast.AsyncFunctionDef() | ast.Await() | ast.AsyncFor() | ast.AsyncWith():
            yield f"async: {NO_WAITING}"
        case ast.comprehension(is_async=1):
            yield f"async: {NO_WAITING}"
        case ast.Global(names=names):
            yield f"global {', '.join(names)}: {NO_HIDDEN_STATE}"
        case ast.Nonlocal(names=names):
            yield f"nonlocal {', '.join(names)}: {NO_HIDDEN_STATE}"
        case _:
            pass
    if any(_is_set(iterated) for iterated in _iterated(node)):
        yield f"iterating over a set: {NO_SET_ORDER}"


def _of_import(module: str) -> str:
    return f"import of {module}: a pure room imports {', '.join(sorted(IMPORTS))} and pure rooms"


def _of_import_from(module: str, names: list[ast.alias], *, relative: bool) -> Iterator[str]:
    if relative:
        yield "relative import: write ledger.<room>.<module>"
        return
    for alias in names:
        if module == "ledger":
            if not _may_import(f"ledger.{alias.name}"):
                yield _of_import(f"ledger.{alias.name}")
        elif not _may_import(module):
            yield _of_import(module)
        elif module == "math" and alias.name not in INTEGER_MATHS:
            yield f"math.{alias.name}: only {', '.join(sorted(INTEGER_MATHS))} are exact"
        elif alias.name in DIVISIONS:
            yield f"{alias.name}: {NO_DIVISION}"


def _may_import(module: str) -> bool:
    ledger, _, rest = module.partition(".")
    return rest.partition(".")[0] in PURE_ROOMS if ledger == "ledger" else module in IMPORTS


def _iterated(node: ast.AST) -> list[ast.expr]:
    """The expressions whose order ``node`` takes over."""
    match node:
        case ast.For(iter=iterable) | ast.comprehension(iter=iterable):
            return [iterable]
        case ast.Starred(value=iterable) | ast.YieldFrom(value=iterable):
            return [iterable]
        case ast.Call(func=ast.Name(id=name), args=args) if name in ORDER_TAKERS:
            return args
        case ast.Call(func=ast.Attribute(attr="join" | "fromkeys" | "extend"), args=args):
            return args
        case _:
            return []


def _is_set(node: ast.expr) -> bool:
    match node:
        case ast.Set() | ast.SetComp():
            return True
        case ast.Call(func=ast.Name(id=name)):
            return name in SETS
        case ast.Call(func=ast.Attribute(value=value, attr=name)):
            return name in SET_METHODS and _is_set(value)
        case ast.BinOp(left=left, op=ast.BitOr() | ast.BitAnd() | ast.Sub() | ast.BitXor()):
            return _is_set(left) or _is_set(node.right)
        case ast.NamedExpr(value=value):
            return _is_set(value)
        case ast.IfExp(body=body, orelse=otherwise):
            return _is_set(body) or _is_set(otherwise)
        case _:
            return False


def modules_of(room: str) -> list[Path]:
    path = REPOSITORY / "ledger" / room
    return sorted(path.rglob("*.py")) if path.is_dir() else [path.with_suffix(".py")]


@pytest.mark.parametrize("room", PURE_ROOMS)
def test_a_pure_room_is_pure(room: str) -> None:
    modules = modules_of(room)

    found = [
        f"{module.relative_to(REPOSITORY)} {impurity}"
        for module in modules
        for impurity in impurities(module.read_text(encoding="utf-8"))
    ]

    assert modules, "the room is empty, or this test looks in the wrong place"
    assert not found, "\n" + "\n".join(found)


PLANTED = [
    ("import random", "import of random"),
    ("import importlib", "import of importlib"),
    ("import os.path", "import of os.path"),
    ("import collections.somewhere", "import of collections.somewhere"),
    ("from time import monotonic", "import of time"),
    ("from datetime import datetime", "import of datetime"),
    ("from ledger.log.append import append", "import of ledger.log.append"),
    ("import ledger.events.envelope", "import of ledger.events.envelope"),
    ("from ledger import views", "import of ledger.views"),
    ("from . import lot", "relative import"),
    ("import math\nroot = math.sqrt(2)", "math.sqrt"),
    ("from math import floor", "math.floor"),
    ("from operator import truediv", "truediv"),
    ("import operator\nhalf = operator.truediv(1, 2)", "truediv"),
    ("def f():\n    import secrets", "import of secrets"),
    ("if TYPE_CHECKING:\n    import uuid", "import of uuid"),
    *((f"value = {name}('x')", f"{name}:") for name in NAMES),
    ("key = id", "id:"),
    ("half = 1 / 2", "/:"),
    ("half = 1\nhalf /= 2", "/:"),
    ("half = 0.5", "0.5:"),
    ("many = 1e3", "1000.0:"),
    ("turn = 1j", "1j:"),
    ("def f(most: float): ...", "float:"),
    ("async def f(): ...", "async:"),
    ("async def f(x):\n    await x", "async:"),
    ("async def f(x):\n    async for y in x: ...", "async:"),
    ("async def f(x):\n    async with x: ...", "async:"),
    ("async def f(x):\n    return [y async for y in x]", "async:"),
    ("def f():\n    global seen", "global seen"),
    ("def f():\n    x = 1\n    def g():\n        nonlocal x", "nonlocal x"),
    ("for name in {'a', 'b'}: ...", "iterating over a set"),
    ("for name in set(names): ...", "iterating over a set"),
    ("for name in frozenset(names): ...", "iterating over a set"),
    ("for name in {n for n in names}: ...", "iterating over a set"),
    ("for name in set(a) - b: ...", "iterating over a set"),
    ("for name in a | {'b'}: ...", "iterating over a set"),
    ("for name in set(a).union(b): ...", "iterating over a set"),
    ("for name in (found := set(a)): ...", "iterating over a set"),
    ("for name in set(a) if a else b: ...", "iterating over a set"),
    ("names = [n for n in {'a', 'b'}]", "iterating over a set"),
    ("names = {n: 1 for n in set(a)}", "iterating over a set"),
    ("names = [*{'a', 'b'}]", "iterating over a set"),
    ("names = list({'a', 'b'})", "iterating over a set"),
    ("names = tuple(set(a))", "iterating over a set"),
    ("names = dict.fromkeys(set(a))", "iterating over a set"),
    ("name = next(iter(set(a)))", "iterating over a set"),
    ("text = ','.join({'a', 'b'})", "iterating over a set"),
    ("def f(a):\n    yield from set(a)", "iterating over a set"),
]


@pytest.mark.parametrize(("source", "finding"), PLANTED)
def test_a_planted_impurity_is_found_and_explained(source: str, finding: str) -> None:
    found = impurities(source)

    named = [text for text in found if text.partition(": ")[2].startswith(finding)]
    assert named, found
    assert all(len(text) > len(finding) + len("line 1: ") for text in named), "no advice"


INNOCENT = [
    "from collections.abc import Mapping",
    "from ledger.core.lot import Lot\nfrom ledger import units\nimport ledger.facts.event",
    "from math import gcd, isqrt",
    "import math\nroot = math.isqrt(2)",
    "quotient, rest = divmod(7, 2)\nhalf = 7 // 2\nhalf //= 2",
    "class Event:\n    id: str",
    "name = event.id\nhash_hex = digest.hash",
    "for name in sorted({'a', 'b'}): ...",
    "names = sorted(set(a) | set(b))",
    "known = 'a' in {'a', 'b'}\nmany = len(set(names))",
    "for name in names - others: ...",
    "path = 'a/b'",
]


@pytest.mark.parametrize("source", INNOCENT)
def test_what_is_pure_is_left_alone(source: str) -> None:
    assert impurities(source) == []
