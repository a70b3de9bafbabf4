"""Applying a JSON patch to the object it is for, before anybody else does.

Kubernetes fails the request of a user whose patch does not apply, whatever the webhook's failure policy
says. So no patch leaves that was not tried on the very object it was asked for. Only ``add`` is known
(RFC 6902): nothing else is ever sent. The standard lets it take the place of what is there; what a pod's
owner wrote into its specification is never replaced, so below ``/spec`` that is no patch of ours.
"""

from collections.abc import Sequence
from typing import Any, Final

from ledger.errors import LedgerError

SPEC: Final = "/spec/"


class Inapplicable(LedgerError):
    """An operation whose parent is not there, or that is none of ours."""


def apply(document: Any, operations: Sequence[Any]) -> None:
    """Change ``document`` as the operations say; it is spoiled where one of them cannot be done."""
    for operation in operations:
        if not isinstance(operation, dict) or operation.get("op") != "add":
            raise Inapplicable(f"{operation}: only add is ever sent")
        path = operation.get("path")
        if not isinstance(path, str) or not path.startswith("/") or "value" not in operation:
            raise Inapplicable(f"{operation}: a path and a value belong there")
        *above, last = (_step(step) for step in path[1:].split("/"))
        parent = document
        for step in above:
            parent = _below(parent, step, path)
        _add(parent, last, operation["value"], path)


def _add(parent: Any, last: str, value: Any, path: str) -> None:
    match parent:
        case dict():
            if path.startswith(SPEC) and parent.get(last) is not None:
                raise Inapplicable(f"{path}: something else is there")
            parent[last] = value
        case list() if last == "-":
            parent.append(value)
        case list():
            place = _place(last, len(parent), path)
            parent.insert(place, value)
        case _:
            raise Inapplicable(f"{path}: its parent is not there")


def _below(parent: Any, step: str, path: str) -> Any:
    if isinstance(parent, dict) and step in parent:
        return parent[step]
    if isinstance(parent, list):
        return parent[_place(step, len(parent) - 1, path)]
    raise Inapplicable(f"{path}: {step} is not there")


def _place(step: str, most: int, path: str) -> int:
    if not (step.isascii() and step.isdigit()) or (len(step) > 1 and step[0] == "0"):
        raise Inapplicable(f"{path}: {step} is no place in a list")
    place = int(step)
    if place > most:
        raise Inapplicable(f"{path}: there is no place {place}")
    return place


def _step(written: str) -> str:
    return written.replace("~1", "/").replace("~0", "~")
