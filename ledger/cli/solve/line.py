"""One line in, one line out: a question put to the core, and its answer.

Nothing here reads or writes a stream, and nothing stops at a bad line: whatever is wrong with one
is its answer. A mistake of ours is answered too, as ``internal_error``, and handed over so that
the command can say it aloud; what was promised and broken must not look like a refusal.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from typing import Any, Final, TypeVar

from pydantic import ValidationError

from ledger.cli.solve import writing
from ledger.cli.solve.asking import Op, Question, Refused
from ledger.cli.solve.catalogue import Catalogue
from ledger.cli.solve.reading import WHITE, Unreadable, quoted, read
from ledger.cli.solve.wording import shortcomings
from ledger.errors import InvalidRequest


@dataclass(frozen=True, slots=True)
class Reply:
    """What is written for a line; ``failure`` is what went wrong on our side, if anything did."""

    text: bytes
    failure: Exception | None = None


def reply(raw: bytes, catalogue: Catalogue, *, for_people: bool = False) -> Reply | None:
    """The reply to a line, as JSON or as readable text; None if the line is blank."""
    if not raw.strip(WHITE):
        return None
    tell = _to_people if for_people else _to_programs
    try:
        asked = read(raw)
    except Unreadable as refused:
        return Reply(tell(refused.id, "", _error(refused.code, refused.message)))
    try:
        op = find(asked.op, catalogue)
        question = _judge(op.question, asked.input)
        answer = op.answer(question)
        said = {"told": op.explain(question)} if for_people else {"result": answer}
        return Reply(tell(asked.id, asked.op, said))
    except (InvalidRequest, Refused) as refused:
        return Reply(tell(asked.id, asked.op, _error(refused.code, refused.message)))
    except Exception as failure:  # noqa: BLE001 - the lines after this one want their answers
        message = f"the ledger failed at this question, which is a mistake of its own ({type(failure).__name__})"
        return Reply(tell(asked.id, asked.op, _error("internal_error", message)), failure)


def _error(code: str, message: str) -> dict[str, dict[str, str]]:
    return {"error": {"code": code, "message": message}}


def find(name: str, catalogue: Catalogue) -> Op[Any]:
    """The op of that name; raises ``Refused`` with what may have been meant."""
    op = catalogue.find(name)
    if op is None:
        raise Refused("unknown_op", f"there is no op {quoted(name)}; {_advice(name, catalogue)}")
    return op


@lru_cache(maxsize=256)
def _advice(name: str, catalogue: Catalogue) -> str:
    # What is very long is no typing mistake, and would take long to compare.
    near = get_close_matches(name, [op.name for op in catalogue.ops()]) if len(name) <= 60 else []
    return f"did you mean {' or '.join(near)}?" if near else "`ledger solve --list` shows them all"


Asked = TypeVar("Asked", bound=Question)


def _judge(model: type[Asked], given: Mapping[str, Any]) -> Asked:
    try:
        return model.model_validate(given)
    except ValidationError as error:
        raise Refused("invalid_request", shortcomings(error, given)) from None


def _to_programs(given_id: object, _op: str, said: Mapping[str, object]) -> bytes:
    return writing.line({"id": given_id, **said})


def _to_people(given_id: object, op: str, said: Mapping[str, Any]) -> bytes:
    name = given_id if isinstance(given_id, str) else writing.spelled(given_id)
    heading = "  ".join(part for part in (name, op) if part not in {"", "null"})
    if "error" in said:
        told = f"no answer, {said['error']['code']}: {said['error']['message']}"
    else:
        told = said["told"].rstrip("\n")
    text = f"{heading}\n{told}\n\n".lstrip("\n")
    return _OBEYED.sub(_visible, text).encode()


_OBEYED: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""What a terminal would obey instead of showing it, and what has no spelling in UTF-8."""


def _visible(character: re.Match[str]) -> str:
    return f"\\u{ord(character[0]):04x}"
