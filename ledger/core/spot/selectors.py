"""Which nodes a pod's required node affinity selects, as the scheduler of Kubernetes reads it.

A selector is a list of terms, and one that matches is enough. Within a term everything has to
hold. A term without any requirement matches nothing, and neither does one that holds a malformed
requirement: a selector that cannot be read must not widen where a pod may run.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ledger.core.spot.numerals import whole_number
from ledger.errors import InvalidRequest

Json = dict[str, Any]
"""A JSON object as it was parsed."""

_NODE_NAME: Final = "metadata.name"


@dataclass(frozen=True, slots=True)
class Requirement:
    """One condition on one label, or on the name of a node."""

    key: str
    operator: str
    values: tuple[str, ...]

    def holds(self, value: str | None) -> bool:
        """Whether a node has it whose label has ``value``; None is a node without the label."""
        if not self.key:
            return False
        match self.operator:
            case "In":
                return value is not None and value in self.values
            case "NotIn":
                return bool(self.values) and (value is None or value not in self.values)
            case "Exists":
                return not self.values and value is not None
            case "DoesNotExist":
                return not self.values and value is None
            case "Gt" | "Lt":
                bound = self.bound
                number = None if value is None else whole_number(value, bits=64)
                if bound is None or number is None:
                    return False
                return number > bound if self.operator == "Gt" else number < bound
            case _:
                return False

    @property
    def bound(self) -> int | None:
        """What ``Gt`` and ``Lt`` compare with."""
        return whole_number(self.values[0], bits=64) if len(self.values) == 1 else None

    @property
    def names_a_node(self) -> bool:
        """Whether it is one of the few conditions that a field of a node can have."""
        return self.key == _NODE_NAME and self.operator in ("In", "NotIn") and len(self.values) == 1


@dataclass(frozen=True, slots=True)
class Term:
    """Requirements that have to hold together: on labels, and on fields of the node."""

    labels: tuple[Requirement, ...]
    fields: tuple[Requirement, ...]

    @property
    def is_empty(self) -> bool:
        """Whether it requires nothing, which selects nothing."""
        return not self.labels and not self.fields

    def matches(self, node: "Node") -> bool:
        """Whether ``node`` has everything that is required."""
        return (
            not self.is_empty
            and all(one.holds(node.labels.get(one.key)) for one in self.labels)
            and all(one.names_a_node and one.holds(node.name) for one in self.fields)
        )


@dataclass(frozen=True, slots=True)
class Node:
    """What a selector looks at."""

    name: str
    labels: Mapping[str, str]


def matching_term(terms: Sequence[Term], node: Node) -> int | None:
    """The place of the first term that ``node`` matches; without terms there is none."""
    return next((place for place, term in enumerate(terms) if term.matches(node)), None)


def read_terms(given: object, *, at: str) -> tuple[Term, ...]:
    """Read a list of node selector terms. Raises ``InvalidRequest`` where a type is wrong."""
    return tuple(_term(one, f"{at}/{place}") for place, one in enumerate(array(given, at)))


def _term(given: object, at: str) -> Term:
    term = mapping(given, at)
    labels = term.get("matchExpressions")
    fields = term.get("matchFields")
    return Term(
        labels=() if labels is None else _requirements(labels, f"{at}/matchExpressions"),
        fields=() if fields is None else _requirements(fields, f"{at}/matchFields"),
    )


def _requirements(given: object, at: str) -> tuple[Requirement, ...]:
    return tuple(_requirement(one, at) for one in array(given, at))


def _requirement(given: object, at: str) -> Requirement:
    requirement = mapping(given, at)
    values = requirement.get("values")
    return Requirement(
        key=_text(requirement.get("key"), at),
        operator=_text(requirement.get("operator"), at),
        values=() if values is None else tuple(_text(one, at) for one in array(values, at)),
    )


def mapping(given: object, at: str) -> Json:
    """``given``, which has to be a JSON object."""
    if not isinstance(given, dict):
        raise InvalidRequest("invalid_request", f"{at} is no object")
    return given


def array(given: object, at: str) -> list[Any]:
    """``given``, which has to be a JSON array."""
    if not isinstance(given, list):
        raise InvalidRequest("invalid_request", f"{at} is no array")
    return given


def _text(given: object, at: str) -> str:
    """A text; what is absent reads as an empty one, and is malformed by that."""
    if given is None:
        return ""
    if not isinstance(given, str):
        raise InvalidRequest("invalid_request", f"{at} holds {given!r} where a text is due")
    return given
