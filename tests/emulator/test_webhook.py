"""The games of the emulator at the real door: a few here, more by ``python -m tests.emulator.webhook``."""

import asyncio

from tests.emulator.games import drawn
from tests.emulator.webhook import LATE, UNHEARD, Running, off, off_late, running
from tests.postgres import Postgres


async def test_the_split_is_exact_through_reviews_patches_and_the_log(postgres: Postgres) -> None:
    def played(service: Running) -> list[int]:
        return [off(service, drawn(seed, most=12), LATE, f"late-{seed}")[0] for seed in range(4)]

    with running(postgres) as service:
        assert await asyncio.to_thread(played, service) == [0] * 4


async def test_so_it_is_where_workloads_and_replicasets_are_told_late_and_change(
    postgres: Postgres,
) -> None:
    def played(service: Running) -> list[dict[str, int]]:
        return [off_late(service, seed) for seed in range(4)]

    with running(postgres) as service:
        assert await asyncio.to_thread(played, service) == [{}] * 4


async def test_whoever_is_not_waited_for_keeps_no_slot_from_anybody(postgres: Postgres) -> None:
    def played(service: Running) -> list[tuple[int, int]]:
        return [off(service, drawn(seed, most=12), UNHEARD, f"hurried-{seed}") for seed in range(2)]

    with running(postgres) as service:
        found = await asyncio.to_thread(played, service)

    assert all(-left <= wrong <= 0 for wrong, left in found)
    assert any(left for _, left in found), "somebody was not waited for"
