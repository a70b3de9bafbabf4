"""What is held on a node is free no more; what is given back is free again, for whoever waits."""

from dataclasses import replace

from immutables import Map

from ledger.facts.cluster import NodeUpserted
from ledger.facts.refusal import Refusal
from ledger.reducers.book import (
    MOST_CORES,
    NO_HOLDING,
    NOTHING_HELD,
    Change,
    Holding,
    Offer,
    changed,
    free,
    grew,
    shared,
    shared_of,
)
from ledger.reducers.retries import end_refusal, list_refusal
from ledger.reducers.rooms import with_holdings
from ledger.reducers.world import OpenRefusal, Question, World
from ledger.units import Bytes, DecisionNumber, Subject
from tests.histories import History, cluster_up, node_up

NODE = Subject("m1/n1")
ONE = Holding(
    cpu=1500, memory=4, storage=7, pods=1, pieces=(("0", 100), ("1", 50)), numa=(), volumes=()
)


def world_of(*, cores: bool = False) -> World:
    log = History()
    node = node_up(
        "m1",
        "n1",
        cpu=3000,
        cores={"0": 100, "1": 100, "2": 100} if cores else None,
        memory=10,
        storage=10,
        pods=3,
    )
    log.add_all(cluster_up("m1"), node)
    return log.world


def offered(world: World) -> Offer:
    node = world.objects.fact("node", NODE)
    assert isinstance(node, NodeUpserted)
    return free(node, world.book.get(NODE, NOTHING_HELD))


def test_what_is_held_adds_up_and_goes_without_a_trace() -> None:
    book = changed(Map(), [Change(NODE, ONE, 1), Change(NODE, ONE, 1)])
    assert book[NODE].memory == 8
    assert book[NODE].pieces == Map({"0": 200, "1": 100})
    assert changed(book, [Change(NODE, ONE, -1), Change(NODE, ONE, -1)]) == Map()
    assert changed(Map(), [Change(NODE, NO_HOLDING, 1)]) == Map()


def test_free_is_declared_less_held_and_may_be_below_zero() -> None:
    node = node_up("m1", "n1", cpu=2500, memory=6, storage=10, pods=1)
    held = changed(Map(), [Change(NODE, ONE, 1), Change(NODE, ONE, 1)])[NODE]
    offer = free(node, held)
    assert (offer.cpu, offer.memory, offer.storage, offer.pods) == (-500, -2, -4, -1)
    assert offer.cores == (("0", -100), ("1", 0)), "half a core is none"
    assert free(node, NOTHING_HELD).cores == (), "whole cores are counted, not listed"
    assert free(node, NOTHING_HELD).whole == 2


def test_no_more_cores_are_named_than_a_node_could_name() -> None:
    node = node_up("m1", "n1", cpu=50_000_000_000, memory=6)
    held = changed(Map(), [Change(NODE, ONE, 1)])[NODE]
    offer = free(node, held)
    assert len(offer.cores) == MOST_CORES
    assert shared_of(offer) == shared(node, held), "whoever is bound to none may want more of them"
    assert not grew(free(node, NOTHING_HELD), offer)
    assert grew(offer, free(node, NOTHING_HELD))


def test_any_amount_above_what_it_was_is_growth() -> None:
    node = node_up("m1", "n1", cpu=2000, memory=6, pods=4)
    held = changed(Map(), [Change(NODE, replace_cpu(0), 1)])[NODE]
    less, all_ = free(node, held), free(node, NOTHING_HELD)
    assert grew(less, all_)
    assert not grew(all_, less)
    assert not grew(all_, all_)
    assert grew(None, less)
    assert not grew(less, None)
    more_memory_fewer_pods = free(replace(node, memory=Bytes(7), pods=3), NOTHING_HELD)
    assert grew(all_, more_memory_fewer_pods)


def replace_cpu(cpu: int) -> Holding:
    return ONE._replace(cpu=cpu)


def test_holdings_change_what_a_node_offers() -> None:
    world = world_of(cores=True)
    before = offered(world)
    world = with_holdings(world, [Change(NODE, ONE, 1)])
    after = offered(world)
    assert (before.cpu, after.cpu) == (3000, 1500)
    assert after.cores == (("0", 0), ("1", 50), ("2", 100))
    world = with_holdings(world, [Change(NODE, ONE, -1)])
    assert offered(world) == before
    assert with_holdings(world, []) is world


def test_who_waits_for_nodes_of_a_cluster_is_told_when_something_is_given_back() -> None:
    question = Question("deployment", Subject("ns/a@m1"))
    refusal = OpenRefusal(
        DecisionNumber(0), Refusal("deployment", "insufficient_capacity", "nodes")
    )
    hook = ("nodes", "m1")
    world = with_holdings(world_of(), [Change(NODE, ONE, 1)])
    world = list_refusal(world, question, refusal, hook)
    assert question not in with_holdings(world, [Change(NODE, ONE, 1)]).retries.marked
    told = with_holdings(world, [Change(NODE, ONE, -1)])
    assert set(told.retries.marked) == {question}
    over = end_refusal(told, question, hook)
    assert (over.refusals, over.retries.listed, over.retries.marked) == (Map(), Map(), Map())
    assert end_refusal(over, question, hook) is over
