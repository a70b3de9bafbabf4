"""A decision in one line: every kind says its answer, and what is left behind too."""

import pytest
from rich.text import Text

from ledger.cli.decision_lines import line
from ledger.facts.decision import Decision
from tests.scenarios.page import lived

STORIES = {
    "a share that moves": """
cluster m1
cluster m2
workload shop/web 3 m1=2 m2=1
gone m2
""",
    "instances on nodes": """
cluster m1
node m1/od memory=4 node.kubernetes.io/capacity=on-demand
node m1/spot memory=4 node.kubernetes.io/capacity=spot
workload shop/web 2 strategy=none cluster=m1 deploy=AUTO available=1 @memory=2
workload shop/web 5 strategy=none cluster=m1 deploy=AUTO available=1 @memory=2
workload shop/web 2 strategy=none cluster=m1 deploy=AUTO available=2 @memory=2
gone node m1/spot
""",
    "so many on each node": """
cluster m1
node m1/n1 memory=9
node m1/n2 memory=9
workload shop/web 1 strategy=none cluster=m1 deploy=FILL count=3 limit=2 @memory=1
workload shop/web 9 strategy=none cluster=m1 deploy=FILL count=3 limit=2 @memory=1
workload shop/api 1 strategy=none cluster=m1 deploy=EACH count=1 limit=2 @memory=1
""",
    "tasks in queues": """
policy round.max_events=1 round.max_milliseconds=0 fairshare.reclaim=true
cluster m1
node m1/n1 cpu=2
queue q
queue r
job b/rich 3 queue=q
job a/poor 1 queue=r
""",
    "replicas on disks": """
disk m1/n1/d1 100
disk m1/n2/d1 90
volume pv 1x10
gone disk m1/n1/d1
volume pq 1x60
gone volume pv
propose disks pq
disk m1/n3/d1 100
propose disks pq
""",
    "a contradiction": """
cluster m1
node m1/n1 memory=4
workload shop/web 2 strategy=none cluster=m1 deploy=AUTO @memory=2
node m1/n1 memory=3
""",
    "pods to be evicted": """
cluster m1
node m1/od node.kubernetes.io/capacity=on-demand
node m1/s1 node.kubernetes.io/capacity=spot
workload shop/db 1 strategy=none cluster=m1 kind=StatefulSet available=1
pod m1/shop/db-0 of=StatefulSet:db node=s1
approve 0
""",
}

TOLD = {
    "a share that moves": [
        "#0 @2 shop/web exact 3 → m1 0→2  m2 0→1",
        "#1 @3 shop/web exact 3 → m1 2→3  m2 1→0 moved 1",
    ],
    "instances on nodes": [
        "#0 @3 shop/web@m1 slots 2 → 1 on demand",
        "#1 @3 shop/web@m1 placed 2 of 2 → od 0→1  spot 0→1",
        "#2 @4 shop/web@m1 refused insufficient_resource (waits for nodes)",
        "#3 @5 shop/web@m1 slots 2 → 2 on demand all_on_demand",
        "#4 @5 shop/web@m1 keep 2 of 2",
        "#5 @5 shop/web@m1 proposed 1 move of repair: 1 m1/spot→m1/od",
        "#6 @6 shop/web@m1 replaced 2 of 2 → od 1→2  spot 1→0 moved 1",
    ],
    "so many on each node": [
        "#0 @3 shop/web@m1 placed 6 by FILL → n1 0→3  n2 0→3",
        "#1 @4 shop/web@m1 keep 6 by FILL",
        "#2 @5 shop/api@m1 placed 2 by EACH → n1 0→1  n2 0→1",
    ],
    "tasks in queues": [
        "#0 @5 b/rich allocate 2 of q → m1/n1 2, 1 wait",
        "#1 @5 b/rich refused queue_overused (waits for round)",
        "#2 @6 b/rich reclaim 1 evicted from m1/n1 1 for a/poor",
        "#3 @6 a/poor reclaim 1 of r → m1/n1 1",
        "#4 @6 b/rich refused evicted (waits for round)",
    ],
    "replicas on disks": [
        "#0 @2 pv placed 1 of 1 → pv-r1 m1/n1/d1",
        "#1 @3 pv replaced 1 of 1 → pv-r2 m1/n2/d1  pv-r1 lost moved 1",
        "#2 @4 pq placed 1 of 1 → pq-r1 m1/n2/d1",
        "#3 @5 pv released 0 of 0 → pv-r2 gone",
        "#4 @6 pq nothing_to_move 0 moves of disks",
        "#5 @8 pq proposed 1 move of disks: pq-r1 m1/n2/d1→m1/n3/d1",
    ],
    "a contradiction": [
        "#0 @2 shop/web@m1 placed 2 of 2 → n1 0→2",
        "#1 @3 m1/n1 over_committed contradicts the book on m1/n1: memory 1",
    ],
    "pods to be evicted": [
        "#0 @4 shop/db@m1 proposed 1 move of repair: db-0 m1/s1→evicted",
        "#1 @5 shop/db@m1 evicted 1 to be evicted: db-0",
    ],
}


def plain(decision: Decision, *, fleet: str = "") -> str:
    return Text.from_markup(line(decision, fleet=fleet)).plain


@pytest.mark.parametrize("story", STORIES)
def test_every_kind_says_its_answer(story: str) -> None:
    page = STORIES[story].strip() + "\n----\n"

    said = [plain(made) for step in lived(page).steps for made in step.decisions]

    assert said == TOLD[story]


def test_where_several_fleets_are_watched_the_fleet_and_the_kind_are_named() -> None:
    page = STORIES["a share that moves"].strip() + "\n----\n"
    (made,) = lived(page).steps[-1].decisions

    assert plain(made, fleet="north").startswith("north #1 @3 shop/web division exact 3 → ")
