"""A read that failed is not tried again for some seconds, nor is any other that would fail like it."""

import pytest

from ledger.api.braking import SECONDS, Brake, Named, NoList

WEB = Named("m1", "ReplicaSet", "shop", "web-7")
BESIDE = WEB._replace(name="cart-7")
SET = WEB._replace(kind="StatefulSet")
ELSEWHERE = WEB._replace(namespace="bank")
FAR = WEB._replace(cluster="m2")


@pytest.mark.parametrize(
    ("error", "held"),
    [
        (NoList("404 Not Found", 404), {WEB}),
        (NoList("500 Internal Server Error", 500), {WEB}),
        (NoList("it is no list", 200), {WEB}),
        (NoList("403 Forbidden", 403), {WEB, BESIDE}),
        (NoList("401 Unauthorized", 401), {WEB, BESIDE, SET, ELSEWHERE}),
        (NoList("429 Too Many Requests", 429), {WEB, BESIDE, SET, ELSEWHERE}),
        (NoList("503 Service Unavailable", 503), {WEB, BESIDE, SET, ELSEWHERE}),
        (ConnectionRefusedError(), {WEB, BESIDE, SET, ELSEWHERE}),
        (TimeoutError(), {WEB, BESIDE, SET, ELSEWHERE}),
    ],
)
def test_how_many_are_held_depends_on_why_one_failed(error: OSError, held: set[Named]) -> None:
    brake = Brake()

    assert brake.pull(WEB, error, 7.0)

    everybody = [WEB, BESIDE, SET, ELSEWHERE, FAR]
    assert {one for one in everybody if brake.holds(one, 7.0 + SECONDS / 2)} == held
    assert not any(brake.holds(one, 7.0 + SECONDS) for one in everybody)


def test_who_shares_a_failure_makes_it_no_longer_and_no_news() -> None:
    brake = Brake()
    assert brake.pull(WEB, ConnectionRefusedError(), 7.0)

    assert not brake.pull(BESIDE, ConnectionRefusedError(), 8.0)

    assert not brake.holds(BESIDE, 7.0 + SECONDS)
    assert brake.pull(BESIDE, ConnectionRefusedError(), 7.0 + SECONDS)


def test_what_is_over_is_forgotten() -> None:
    brake = Brake()
    for number in range(100):
        brake.pull(
            WEB._replace(name=f"web-{number}"), NoList("404 Not Found", 404), SECONDS * number
        )

    assert len(brake._until) == 1
