"""What a namespace's share comes to is worked out in SQL as the core works it out, now and at any position."""

from dataclasses import dataclass, field
from fractions import Fraction
from random import Random
from typing import Final, NamedTuple

import asyncpg
import pytest

from ledger.core.fairshare.orders import ShareOfTotal
from ledger.log import lines
from ledger.log.database import connect, connected
from ledger.views.past import (
    FAIR_SHARES,
    NAMESPACE_WEIGHTS,
    SHARED_TOTALS,
    Change,
    bring_up_to_date,
    turning,
)
from tests.engine.deciding import decide_all
from tests.events_for_tests import cluster_line, workload_line

POSITIONS: Final = 40
RESOURCES: Final = ("cpu", "memory", "storage")
QUEUES: Final = ("q", "r")
NAMESPACES: Final = ("a", "b", "c")
LARGE: Final = 10**16
"""Bytes; of three totals like this one the common whole is far beyond what a bigint holds."""


class Told(NamedTuple):
    """What a row of the view says beside whose it is."""

    weight: int
    requested: int
    allocated: int
    share: Fraction


@dataclass(slots=True)
class Standing:
    """How namespaces stand, straightforwardly."""

    totals: dict[str, int] = field(default_factory=lambda: dict.fromkeys(RESOURCES, 0))
    weights: dict[str, int] = field(default_factory=dict)
    rows: dict[tuple[str, str, str], tuple[int, int]] = field(default_factory=dict)
    """Requested and allocated, by queue, namespace and resource."""

    def view(self) -> dict[tuple[str, str, str], Told]:
        """What the view has to say of it, by the core's measure."""
        totals = tuple(self.totals[resource] for resource in RESOURCES)
        of_total = ShareOfTotal(totals, max(self.weights.values(), default=1))
        told = {}
        for (queue, namespace, resource), (requested, allocated) in self.rows.items():
            held = [self.rows.get((queue, namespace, one), (0, 0))[1] for one in RESOURCES]
            weight = self.weights.get(namespace, 1)
            share = of_total.share(held, weight)
            told[queue, namespace, resource] = Told(weight, requested, allocated, share)
        return told


def round_of(
    luck: Random, standing: Standing, position: int
) -> tuple[list[Change], list[Change], list[Change]]:
    """A round tells some of it anew: shares, weights and totals."""
    shares, weights, totals = [], [], []
    for resource in RESOURCES:
        if position == 0 or luck.random() < 0.3:
            standing.totals[resource] = luck.choice((0, 1, 7, 24_000, LARGE, LARGE - 1))
            totals.append(Change(position, (resource,), (standing.totals[resource],)))
    for namespace in NAMESPACES:
        if luck.random() < 0.2:
            weight = luck.randrange(1, 5)
            standing.weights[namespace] = weight
            weights.append(Change(position, (namespace,), None if weight == 1 else (weight,)))
    for queue in QUEUES:
        for namespace in NAMESPACES:
            for resource in RESOURCES:
                if luck.random() > 0.2:
                    continue
                key = (queue, namespace, resource)
                allocated = luck.randrange(standing.totals[resource] + 1)
                requested = allocated + luck.choice((0, 0, 500))
                says = (position, requested, requested, f"{requested}/1", allocated)
                if requested:
                    standing.rows[key] = requested, allocated
                    shares.append(Change(position, key, says))
                elif standing.rows.pop(key, None):
                    shares.append(Change(position, key, None))
    return shares, weights, totals


async def viewed(connection: asyncpg.Connection, source: str) -> dict[tuple[str, str, str], Told]:
    rows = await connection.fetch(
        "SELECT queue, namespace, resource, weight, requested, allocated, weighted_share"
        f" FROM ledger_api.{source} WHERE fleet = 'test'"
    )
    told = {}
    for queue, namespace, resource, weight, requested, allocated, share in rows:
        exact = Fraction(share)
        assert share == f"{exact.numerator}/{exact.denominator}", "it is in lowest terms"
        told[queue, namespace, resource] = Told(int(weight), int(requested), int(allocated), exact)
    return told


@pytest.mark.parametrize("seed", range(3))
async def test_shares_are_worked_out_as_the_core_does(database_url: str, seed: int) -> None:
    luck = Random(seed)
    standing, seen = Standing(), []
    connection = await connect(database_url, None)
    try:
        await connection.execute(
            "INSERT INTO ledger.fleets (number, name, clock) VALUES (1, 'test', 'event')"
        )
        for position in range(POSITIONS):
            shares, weights, totals = round_of(luck, standing, position)
            await bring_up_to_date(
                connection,
                1,
                [
                    turning(FAIR_SHARES, shares),
                    turning(NAMESPACE_WEIGHTS, weights),
                    turning(SHARED_TOTALS, totals),
                ],
            )
            seen.append(standing.view())
            assert await viewed(connection, "fair_shares") == seen[-1]
        await connection.execute(
            "INSERT INTO ledger.decided (fleet, through, decisions, epoch) VALUES (1, $1, 0, 1)",
            POSITIONS - 1,
        )

        assert any(told.share for told in seen[-1].values())
        assert any(told.weight > 1 for told in seen[-1].values())
        for position, wanted in enumerate(seen):
            assert await viewed(connection, f"fair_shares_as_of('test', {position})") == wanted
    finally:
        await connection.close()


async def test_where_no_round_was_played_nobody_has_a_share(database_url: str) -> None:
    async with connected(database_url, None) as connection:
        await lines.ingest(
            connection, [cluster_line(1), workload_line(1, replicas=1, weights={"c1": 1})]
        )
        await decide_all(database_url)

        assert await viewed(connection, "fair_shares") == {}
        assert await viewed(connection, "fair_shares_as_of('test', 0)") == {}
