"""What nodes declare and hold.

A row a node: what it declares, what decisions in force placed there, what pods hold there beyond
that. ``ledger_api.conservation`` holds these sums against what the decisions record.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Final, Protocol

import orjson

from ledger.views.table import Gone, Put, Row, Table, Write

NODE_BOOKS: Final = Table(
    "node_books",
    ("fleet", "cluster", "node", "declared", "placed", "seen", "tasks", "over_committed"),
    key=3,
)


class Page(Protocol):
    """What is shown of a node."""

    @property
    def cluster(self) -> str:
        """Where it is."""

    @property
    def node(self) -> str:
        """What it is called there."""

    @property
    def declared(self) -> Mapping[str, int] | None:
        """What it has, by amount; None where nobody knows it."""

    @property
    def placed(self) -> Mapping[str, int]:
        """What decisions in force placed there."""

    @property
    def seen(self) -> Mapping[str, int]:
        """What pods hold there beyond that."""

    @property
    def tasks(self) -> Mapping[str, int]:
        """What of that tasks of jobs hold."""

    @property
    def over_committed(self) -> bool:
        """Whether it is known that it declares less than it holds."""

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to be shown."""


def put_pages(fleet: int, pages: Sequence[Page]) -> list[Write]:
    """These pages in the place of what was said of their nodes before."""
    table, columns, key = NODE_BOOKS
    empty = [(fleet, page.cluster, page.node) for page in pages if page.is_empty]
    return [
        Put(table, columns, key, page_rows(fleet, pages)),
        Gone(table, columns[:key], empty),
    ]


def page_rows(fleet: int, pages: Sequence[Page]) -> list[Row]:
    """A row a node of which there is anything to be shown."""
    return [
        (
            fleet,
            page.cluster,
            page.node,
            None if page.declared is None else _json(page.declared),
            _json(page.placed),
            _json(page.seen),
            _json(page.tasks),
            page.over_committed,
        )
        for page in pages
        if not page.is_empty
    ]


def _json(amounts: Mapping[str, int]) -> str:
    try:
        return orjson.dumps(amounts).decode()
    except orjson.JSONEncodeError:
        # Sums may be larger than any one amount, and than what the quick writer takes.
        return json.dumps(amounts)
