"""``ledger explain`` of what was touched, is gone, waits, or was otherwise once: it says so."""

import asyncio
import json
from typing import Any

from ledger.log.database import connect
from tests.cli.test_explain import HISTORY, PODS, asked, ingested, line, settle
from tests.events_for_tests import cluster_line, policy_line, workload_line


def explained(url: str, *said: str) -> dict[str, Any]:
    """What machines are told."""
    answer = asked(url, *said, "--json")
    assert answer.exit_code in (0, 1), answer.stderr
    told: dict[str, Any] = json.loads(answer.stdout)
    return told


def touch(url: str, statement: str) -> None:
    """Change history, as only a superuser can who means to."""

    async def touched() -> None:
        connection = await connect(url, None)
        async with connection.transaction():
            await connection.execute("SET LOCAL session_replication_role = replica")
            assert await connection.execute(statement) == "UPDATE 1"
        await connection.close()

    asyncio.run(touched())


def test_what_somebody_put_into_a_record_is_shown_and_found_out(database_url: str) -> None:
    settle(database_url, HISTORY)
    touch(
        database_url,
        "UPDATE ledger.decisions SET record = convert_to("
        " '{\"approved_by\":\"mallory\",' || substr(convert_from(record, 'UTF8'), 2), 'UTF8')"
        " WHERE number = 1",
    )

    genuine = explained(database_url, "0", "--check")
    touched = explained(database_url, "1", "--check")
    said = asked(database_url, "1", "--check")

    assert genuine["checked"]["digest"]
    assert not touched["checked"]["digest"]
    assert touched["record"]["approved_by"] == "mallory"
    assert said.exit_code == 1
    assert "THE RECORD DOES NOT HAVE ITS DIGEST" in said.stdout


def test_columns_that_say_something_else_than_the_record_are_found_out(database_url: str) -> None:
    settle(database_url, HISTORY)
    touch(
        database_url,
        "UPDATE ledger.decisions SET result = result || '{\"replicas\": 9}' WHERE number = 0",
    )
    touch(
        database_url,
        "UPDATE ledger.decisions SET reasons = reasons || '{\"more\": 1}' WHERE number = 1",
    )

    answers = [explained(database_url, number, "--check") for number in ("0", "1", "2")]

    assert [one["checked"]["columns"] for one in answers] == [["result"], ["reasons"], []]
    assert asked(database_url, "0", "--check").exit_code == 1
    assert all(one["checked"]["digest"] for one in answers)


def cart(number: int, replicas: int) -> bytes:
    """A workload over clusters, and on the nodes of each."""
    told = json.loads(workload_line(number, replicas=replicas, weights={"c1": 1, "c2": 0}))
    told["data"] |= {"request": {"cpu": "100m", "memory": 1}, "deploy": {"strategy": "AUTO"}}
    return json.dumps(told).encode()


def removal(name: str = "cart") -> bytes:
    return line("workload.workload.removed", f"shop/{name}", namespace="shop", name=name)


NODE = line("cluster.node.upserted", "c1/n1", cluster="c1", name="n1", cpu="4", memory=100)
PLACED = [cluster_line(1), cluster_line(2), NODE, cart(1, 4)]
GONE = [*PLACED, removal()]


def test_what_is_given_up_is_the_last_result(database_url: str) -> None:
    settle(database_url, GONE)

    said = explained(database_url, "shop/cart@c1")

    assert said["sections"]["changed"][-1].startswith("against #1")
    assert said["last_result"]["number"] == 1
    assert said["sections"]["last_result"][0] == "#1 at position 3: 4 instances for a share of 4"


def test_what_is_given_up_late_is_the_last_result(database_url: str) -> None:
    settle(
        database_url, [*PLACED, policy_line(1, hold=True), removal(), policy_line(2, hold=False)]
    )

    said = explained(database_url, "shop/cart@c1")

    assert said["event"]["position"] == 6
    assert said["last_result"]["number"] == 1


def test_another_life_begins_without_a_last_result(database_url: str) -> None:
    settle(database_url, [*GONE, cart(2, 5)])

    said = explained(database_url, "shop/cart")

    assert said["last_result"] is None
    assert said["gone"] is None


def test_what_was_removed_says_by_which_event(database_url: str) -> None:
    settle(database_url, GONE)

    said = asked(database_url, "shop/cart")
    told = explained(database_url, "shop/cart")
    before = explained(database_url, "shop/cart", "--at", "3")

    assert "\nGONE: event 4 removed shop/cart\n" in said.stdout
    assert told["gone"]["position"] == 4
    assert before["gone"] is None


def test_what_is_removed_by_an_event_that_waits_is_not_gone_yet(database_url: str) -> None:
    settle(database_url, PLACED)
    asyncio.run(ingested(database_url, [removal()]))

    assert explained(database_url, "shop/cart")["gone"] is None


def test_nothing_is_where_a_removed_workload_was(database_url: str) -> None:
    settle(database_url, GONE)

    gone = explained(database_url, "shop/cart", "--why-not", "c1")["why_not"]
    there = explained(database_url, "shop/cart", "--why-not", "c1", "--at", "3")["why_not"]
    node = explained(database_url, "shop/cart", "--why-not", "c1/n1", "--at", "3")["why_not"]
    by_number = explained(database_url, "0", "--why-not", "c1")["why_not"]

    assert gone["verdict"] == by_number["verdict"] == "it_was"
    assert gone["lines"] == (
        ["it was: #0 put 4 replicas on c1, and nothing of it is in force there now: it is gone"]
    )
    assert (there["verdict"], there["decision"]) == ("it_is", "test/1/0")
    assert node["lines"] == ["it is: #1 has 4 of its instances on c1/n1"]


def test_what_was_in_force_then_is_told(database_url: str) -> None:
    settle(database_url, [*PLACED, cart(2, 6)])

    then = explained(database_url, "shop/cart", "--at", "3")
    said = asked(database_url, "shop/cart", "--at", "3")
    now = explained(database_url, "shop/cart")

    assert [place["held"] for place in then["places"]] == [4, 4]
    assert [place["held"] for place in now["places"]] == [6, 6]
    assert "\nTHEN\n" in said.stdout
    assert "now" not in then["sections"]


def test_a_position_that_is_not_decided_and_a_decision_from_later_are_refused(
    database_url: str,
) -> None:
    settle(database_url, GONE)

    behind = asked(database_url, "shop/cart", "--at", "99")
    later = asked(database_url, "2", "--at", "3")

    assert behind.exit_code == later.exit_code == 64
    assert "invalid_moment: --at 99: test is decided through position 4" in behind.stderr
    assert "invalid_moment: --at: position 3 is before decision 2" in later.stderr
    assert explained(database_url, "2", "--at", "4")["number"] == 2


def test_a_newer_wish_that_waits_is_pending(database_url: str) -> None:
    settle(database_url, PLACED)
    answered = explained(database_url, "shop/cart")
    settle(database_url, [policy_line(1, hold=True), cart(2, 6)])
    held = explained(database_url, "shop/cart")
    then = explained(database_url, "shop/cart", "--at", "3")
    asyncio.run(ingested(database_url, [cart(3, 7)]))
    behind = explained(database_url, "shop/cart")

    assert answered["newer_wish"] is then["newer_wish"] is None
    assert (held["newer_wish"]["waiting"], held["newer_wish"]["event"]["position"]) == ("hold", 5)
    (waits,) = held["sections"]["pending"]
    assert waits == (
        "event 5 tells it anew (replicas 6 in place of 4), and a policy holds all decisions since"
        " event 4"
    )
    assert behind["newer_wish"]["waiting"] == "undecided"
    (line,) = behind["sections"]["pending"]
    assert line.startswith(
        "event 6 tells it anew (replicas 7 in place of 4), and is not decided yet: 1 event waits"
    )


def test_a_wish_from_before_the_hold_does_not_wait(database_url: str) -> None:
    moves = [policy_line(1, hold=True), policy_line(2, hold=False), cart(2, 4)]
    settle(database_url, [*PLACED, *moves, policy_line(3, hold=True)])

    assert explained(database_url, "shop/cart")["newer_wish"] is None


def test_who_was_weighed_and_got_nothing_lost(database_url: str) -> None:
    wide = workload_line(1, replicas=3, weights={"c1": 1, "c2": 0, "c3": 100})
    settle(database_url, [*(cluster_line(number) for number in (1, 2, 3)), wide])

    said = explained(database_url, "shop/cart")["sections"]["losers"]

    assert "c2: got none: its weight, or its room, is 0 (no_weight)" in said
    assert any(line.startswith("c1: ") for line in said)


def test_a_decision_of_a_life_that_has_not_begun_was_never_made(database_url: str) -> None:
    settle(database_url, HISTORY)

    there, missing, none = (asked(database_url, f"test/{name}") for name in ("2/0", "2/99", "0/0"))

    assert there.exit_code == missing.exit_code == none.exit_code == 64
    assert "test is in life 1; no decision of life 2 was made" in there.stderr
    assert "test is in life 1; no decision of life 2 was made" in missing.stderr
    assert "test is in life 1; no decision of life 0 was made" in none.stderr


def test_what_was_decided_about_otherwise_says_as_what(database_url: str) -> None:
    settle(database_url, PLACED)

    volume = asked(database_url, "shop/cart", "--kind", "volume")
    admission = asked(database_url, "shop/cart", "--kind", "admission")

    assert volume.exit_code == admission.exit_code == 64
    assert (
        "unknown_subject: shop/cart: nothing was decided about it as a volume; there are decisions"
        " about it as a workload" in volume.stderr
    )
    assert "about it as an admission" in admission.stderr


def test_what_was_decided_about_later_says_when(database_url: str) -> None:
    settle(database_url, PLACED)

    early = asked(database_url, "shop/cart", "--at", "0")

    assert early.exit_code == 64
    assert (
        "shop/cart: nothing was decided about it through position 0; the first decision about it was"
        " made at position 3" in early.stderr
    )


def test_a_pod_that_was_told_of_later_is_not_taken_for_another(database_url: str) -> None:
    settle(database_url, [cluster_line(1), cart(1, 2), *PODS])

    for name in ("c1/shop/cart-77-abcde", "shop/cart-77-abcde", "cart-77-abcde"):
        early = asked(database_url, name, "--at", "1")

        assert early.exit_code == 64
        assert early.stderr.replace("\n", " ") == (
            f"ledger: unknown_subject: {name}: no event through position 1 speaks of it; the first that does"
            " is at position 3 "
        )


def test_an_empty_name_is_refused_as_one(database_url: str) -> None:
    settle(database_url, PLACED)

    assert "an empty name is the name of nothing" in asked(database_url, "").stderr


def test_a_time_behind_the_log_is_that_of_its_last_event(database_url: str) -> None:
    settle(database_url, PLACED)

    last = explained(database_url, "shop/cart", "--at", "3")

    assert explained(database_url, "shop/cart", "--at", "2030-01-01") == last


TAKEN = [
    cluster_line(1),
    line("cluster.node.upserted", "c1/n1", cluster="c1", name="n1", cpu="4", memory=100),
    cart(1, 2),
    cluster_line(3),
    line("cluster.cluster.removed", "c1", name="c1"),
    cluster_line(4),
]
"""An event takes all that a decision had placed, and no decision follows."""


def test_where_an_event_took_everything_it_is_said_that_nothing_is_there(database_url: str) -> None:
    settle(database_url, TAKEN)
    nothing = "nothing: event 4 took the last of it, ledger.cluster.cluster.removed.v1 c1"

    now = explained(database_url, "shop/cart@c1")
    then = explained(database_url, "shop/cart@c1", "--at", "4")
    before = explained(database_url, "shop/cart@c1", "--at", "3")

    assert now["places"] == then["places"] == []
    assert now["sections"]["now"] == then["sections"]["then"] == [nothing]
    assert len(before["sections"]["then"]) == 2
    assert f"NOW\n  {nothing[:60]}" in asked(database_url, "shop/cart@c1").stdout


def test_where_a_decision_left_nothing_it_is_named(database_url: str) -> None:
    settle(database_url, [*TAKEN[:3], cart(2, 0)])

    told = explained(database_url, "shop/cart@c1")

    assert told["sections"]["now"] == [f"nothing: #{told['number']} left nothing in force"]


def test_what_never_had_a_place_is_not_said_to_have_lost_it(database_url: str) -> None:
    settle(database_url, [cart(1, 2)])

    told = explained(database_url, "shop/cart")

    assert told["places"] == []
    assert not [one for one in told["sections"]["now"] if one.startswith("nothing")]


def test_a_decision_by_itself_says_nothing_of_what_is_there(database_url: str) -> None:
    settle(database_url, TAKEN)

    assert "now" not in explained(database_url, "1")["sections"]
