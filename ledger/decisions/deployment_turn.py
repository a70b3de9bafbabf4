"""A subject's turn for instances on the nodes of its cluster: what is asked of the core, part by part.

A turn has parts, in this order; each takes what the ones before it left over, and one that is
refused does not stop the next:

``fresh``       everything anew, if somebody wants that: all of it or nothing
``edit``        instances that want something else than they were confirmed with, or that a new
                selector excludes: in place where that fits, by node and number; the others move as
                one group, and if they cannot, the edit is undone and stays open
``lost``        numbers whose instance was lost: as a group, else one by one
``reclaiming``  instances on nodes about to be taken away: the same, and only then is the old place
                given up
``growth``      what the share has beyond what is held and what still waits: one group, or one for
                each capacity class

AUTO, GLOBAL and DRAINED place by their own rule throughout. FILL answers for lost numbers and growth
at once, by topping up its nodes again. EACH is an order that is placed once; what it lost is replaced
by the rule of AUTO, without a limit, and so are movers of both.

Where nodes are told apart by capacity class, the lowest numbers go to on-demand nodes only, the
others to spot nodes, and to any node if those will not do. The class is known by the label of the
policy; where no node of the cluster has it, nothing is split.

Who requests little, or nothing, has room for any number; as every instance is kept by itself, no
subject gets more than ``MOST_INSTANCES``. What there is too little of is told amount by amount
(``ledger.decisions.shortages``). What is recorded of a turn is said in ``ledger.decisions.deployment_record``.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final, Literal, NamedTuple

from ledger.core.placement.answer import Placement, Shortage
from ledger.core.placement.question import Policy, Request, Strategy
from ledger.decisions.asked_about import asked_about
from ledger.decisions.capacity_class import target_of
from ledger.decisions.nodes import Nodes, nodes_of
from ledger.decisions.numbers import Numbers
from ledger.decisions.room import wanted
from ledger.decisions.shortages import Lacking, Sought, lacking, losers
from ledger.errors import InvalidRequest
from ledger.facts.canonical import Plain
from ledger.facts.deployment import Asked, Instance, Part, Terms, Why
from ledger.facts.refusal import Refusal
from ledger.facts.workload import DeploySpec, WorkloadUpserted
from ledger.reducers.book import Held
from ledger.reducers.instances import Deployed, node_of, workload_of
from ledger.reducers.retries import WAITS_FOR_NODES, WAITS_FOR_WISH
from ledger.reducers.world import Causes, OpenRefusal, Question, World
from ledger.units import Bytes, NodeName, Subject

PLACED: Final = "placed"
"""The answer to a question that was served."""

NO_LIMIT: Final = 0

MOST_INSTANCES: Final = 150_000
"""Of a workload in a cluster: as many pods as a whole cluster of Kubernetes is made for."""

Branch = Literal["given_up", "fresh", "edited", "replaced", "reclaimed", "placed"]
"""What a turn did first."""


class Group(NamedTuple):
    """Numbers that are placed together, and over which nodes, in the order in which to try."""

    numbers: Numbers
    pools: tuple[str, ...]


class Refused(NamedTuple):
    """A part that could not be served."""

    part: Part
    reason: str
    waits_for: str
    wanted: int
    found: int
    among: str
    """Over which nodes."""
    sought: Sought | None = None
    """What for, where there is too little room."""
    lacking: Lacking = Lacking()
    """Why, unless the refusal is not recorded."""


class Served(NamedTuple):
    """A question that was served."""

    request: Request
    answer: Placement
    among: str


@dataclass(frozen=True, slots=True)
class Kept:
    """What a turn goes back to if something was tried in vain."""

    held: dict[NodeName, Held]
    instances: dict[int, Instance]
    waiting: dict[int, NodeName]
    whys: dict[int, Why]
    placed: Served | None


def split(
    world: World, workload: WorkloadUpserted, deploy: DeploySpec, share: int, nodes: Nodes
) -> int | None:
    """How many of the lowest numbers belong on on-demand nodes; None: nodes are not told apart."""
    if deploy.strategy in {"FILL", "EACH"}:
        return None
    found = target_of(world, workload, share).pods
    if found is None or not nodes.has_classes:
        return None
    return found


@dataclass(slots=True)
class Turn:
    """A subject's turn while it is taken."""

    before: World
    world: World
    subject: Subject
    causes: Causes
    was: Deployed
    """Before anybody gave up anything."""
    here: Deployed
    """Without what was given up."""
    workload: WorkloadUpserted | None = None
    deploy: DeploySpec | None = None
    nodes: Nodes | None = None
    target: int | None = None
    terms: Terms | None = None
    invalid: str | None = None
    instances: dict[int, Instance] = field(default_factory=dict)
    waiting: dict[int, NodeName] = field(default_factory=dict)
    counts: Counter[NodeName] = field(default_factory=Counter)
    ordered: bool = False
    whys: dict[int, Why] = field(default_factory=dict)
    did: list[Branch] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)
    fresh_refused: Refused | None = None
    asked: list[Asked] = field(default_factory=list)
    inputs: list[Plain] = field(default_factory=list)
    placed: Served | None = None
    """What was placed last."""

    def take(self) -> None:
        """Serve what is wanted, part by part."""
        here = self.here
        self.instances = {one.number: one for one in here.instances}
        self.waiting = {one.number: one.node for one in here.waiting}
        self.counts = Counter(one.node for one in here.instances)
        self.ordered = here.ordered
        if len(here.instances) < len(self.was.instances) or len(here.waiting) < len(
            self.was.waiting
        ):
            self.did.append("given_up")
        if not here.share:
            return
        workload = self.workload = self.world.workload(workload_of(self.subject))
        assert workload is not None, f"{self.subject} has a share and is not there"
        deploy = self.deploy = workload.deploy
        assert deploy is not None, f"{self.subject} has a share and is not to be deployed"
        nodes = self.nodes = nodes_of(self.world, here.cluster, workload, deploy)
        if nodes.one is None:
            self.invalid = _code(self.world, workload)
        storage = workload.request.storage if nodes.one is None else nodes.one.storage
        self.terms = Terms(workload.request, Bytes(storage), deploy.node_selector)
        self.target = split(self.world, workload, deploy, here.share, nodes)
        if "fresh" in self.causes and self._fresh():
            return
        growth = self._growth()
        on_demand = self._on_demand(growth)
        self._edit(on_demand)
        filled = deploy.strategy != "FILL" or self._fill("lost")
        if deploy.strategy != "FILL":
            self._lost(on_demand)
        self._reclaiming(on_demand)
        match deploy.strategy:
            case "FILL":
                if filled:
                    self._fill("growth")
            case "EACH":
                if self.ordered and self._place("growth", self._each(), "EACH"):
                    self.ordered = False
            case _:
                for group in self._groups(growth, on_demand):
                    self._place("growth", group, deploy.strategy)

    def _growth(self) -> Numbers:
        """The numbers of new instances: the lowest unused ones."""
        assert self.deploy is not None
        if self.deploy.strategy in {"FILL", "EACH"}:
            return Numbers()
        return self._unused(self.here.share - len(self.instances) - len(self.waiting))

    def _unused(self, wanted: int) -> Numbers:
        used = {*self.instances, *self.waiting}
        above = max(used, default=-1) + 1
        gaps = tuple(islice((one for one in range(above) if one not in used), max(0, wanted)))
        return Numbers(gaps, range(above, above + max(0, wanted - len(gaps))))

    def _on_demand(self, new: Numbers) -> int | None:
        """Below which number all belong on on-demand nodes; None: nodes are not told apart."""
        if self.target is None:
            return None
        known = sorted({*self.instances, *self.waiting, *new.named})
        if self.target > len(known):
            return new.tail.start + self.target - len(known)
        return known[self.target - 1] + 1 if self.target else 0

    def _groups(self, numbers: Numbers, on_demand: int | None) -> tuple[Group, ...]:
        """Numbers by capacity class, those for on-demand nodes first."""
        if on_demand is None:
            groups = [Group(numbers, ("all",))]
        else:
            groups = [
                Group(numbers.below(on_demand), ("od",)),
                Group(numbers.beyond(on_demand), ("spot", "all")),
            ]
        return tuple(group for group in groups if len(group.numbers))

    def _fresh(self) -> bool:
        """Place everything anew; if any of it cannot be, nothing has changed."""
        assert self.deploy is not None
        assert self.nodes is not None
        kept = self._keep()
        ordered = self.ordered
        for one in self.instances.values():
            self.nodes.give_back(one)
        self.instances, self.waiting, self.counts = {}, {}, Counter()
        served = True
        match self.deploy.strategy:
            case "FILL":
                served = self._fill("fresh")
            case "EACH":
                served = self._place("fresh", self._each(), "EACH")
                self.ordered = False
            case strategy:
                numbers = Numbers(tail=range(self.here.share))
                for group in self._groups(numbers, self._on_demand(numbers)):
                    served = served and self._place("fresh", group, strategy)
        if served:
            # Also of numbers that were given up before, which may have come back elsewhere.
            self.whys = dict.fromkeys((one.number for one in self.was.instances), "fresh")
            self.did.append("fresh")
            return True
        self._go_back(kept)
        self.ordered = ordered
        self.fresh_refused = self.refused.pop()
        return False

    def _edit(self, on_demand: int | None) -> None:
        """Change what instances were confirmed with, where they are or elsewhere."""
        terms, nodes = self.terms, self.nodes
        assert terms is not None
        assert nodes is not None
        open_ = [one for one in self.instances.values() if one.terms != terms]
        if not open_:
            return
        if self.invalid is not None:
            self._refuse("edit", self.invalid, WAITS_FOR_WISH, len(open_), 0)
            return
        kept = self._keep()
        movers: dict[int, Why] = {}
        for one in sorted(open_, key=lambda one: (one.node, one.number)):
            if one.terms.selector != terms.selector and not nodes.matches(one.node):
                movers[one.number] = "selector"
                self._give_back(one)
                continue
            if one.terms.request == terms.request:
                # Nothing is asked of the node, so a node that has too little by now is no matter.
                self._give_back(one)
                self._put(one._replace(terms=terms))
                continue
            there = nodes.reallocated(one, terms)
            self._note(one, there)
            self._give_back(one)
            if there is None:
                movers[one.number] = "no_room"
            else:
                self._put(there)
        for group in self._groups(Numbers(tuple(sorted(movers))), on_demand):
            if not self._place("edit", group, self._rule()):
                self._go_back(kept)
                return
        self.whys |= movers
        self.did.append("edited")

    def _lost(self, on_demand: int | None) -> None:
        """Find other places for the numbers whose instances were lost."""
        if self._one_by_one("lost", sorted(self.waiting), on_demand):
            self.did.append("replaced")

    def _reclaiming(self, on_demand: int | None) -> None:
        """Find other places for what is on nodes about to be taken away, then leave those."""
        reclaiming = self.world.rooms.reclaiming
        cluster = self.here.cluster
        leaving = sorted(
            one.number
            for one in self.instances.values()
            if node_of(cluster, one.node) in reclaiming
        )
        if self._one_by_one("reclaiming", leaving, on_demand):
            self.did.append("reclaimed")

    def _one_by_one(self, part: Part, numbers: Sequence[int], on_demand: int | None) -> bool:
        """Place numbers that have a place or had one: together, else each by itself."""
        if not numbers:
            return False
        why: Why = "lost" if part == "lost" else "reclaiming"
        kept = self._keep()
        together = self._groups(Numbers(tuple(numbers)), on_demand)
        if all(self._place(part, group, self._rule()) for group in together):
            self.whys |= dict.fromkeys(numbers, why)
            return True
        self._go_back(kept)
        first = self.refused.pop()
        if len(numbers) == 1:
            self.refused.append(first)
            return False
        placed: list[int] = []
        # Placing only takes room, so once a class has none for one it has none for the next.
        full: dict[tuple[str, ...], Refused] = {}
        for number in numbers:
            (group,) = self._groups(Numbers((number,)), on_demand)
            if group.pools in full:
                continue
            if self._place(part, group, self._rule()):
                placed.append(number)
            else:
                full[group.pools] = self.refused.pop()
        self.whys |= dict.fromkeys(placed, why)
        if len(placed) < len(numbers):
            refused = next(iter(full.values()))
            if refused.sought is not None:
                rest = refused.sought._replace(wanted=len(numbers) - len(placed))
                refused = self._with_reasons(refused._replace(sought=rest))
            self.refused.append(refused._replace(wanted=len(numbers), found=len(placed)))
        return bool(placed)

    def _each(self) -> Group:
        """The numbers of an order are only known once it is placed."""
        return Group(Numbers(), ("all",))

    def _fill(self, part: Part) -> bool:
        """Top nodes up; lost numbers come back first, and are dropped if nobody needs them."""
        if part == "lost" and not self.waiting:
            return True
        if not self._place(part, Group(Numbers(), ("all",)), "FILL"):
            return False
        if part == "lost":
            # Where nobody had to be topped up the lost numbers are only dropped.
            self.did.append("replaced" if self.asked[-1].answer == PLACED else "given_up")
        self.waiting = {}
        return True

    def _rule(self) -> Strategy:
        """By which rule an instance finds another place."""
        assert self.deploy is not None
        return "AUTO" if self.deploy.strategy in {"FILL", "EACH"} else self.deploy.strategy

    def _place(self, part: Part, group: Group, strategy: Strategy) -> bool:
        """Place a group by a rule, all of it or nothing; says whether it was."""
        found: Placement | Refused | None = None
        for among in group.pools:
            found = self._ask(part, group, strategy, among)
            if not isinstance(found, Refused):
                break
        if isinstance(found, Refused):
            self.refused.append(self._with_reasons(found))
            return False
        if found is not None:
            self._took(part, group, found)
        return True

    def _with_reasons(self, refused: Refused) -> Refused:
        """With what is short by how much and who lost, unless the refusal only repeats the open one."""
        first = self.refused[0] if self.refused else refused
        if refused.part != "fresh" and self.repeats(first):
            return refused
        nodes, most = self.nodes, self.world.losers_named
        assert nodes is not None
        if refused.sought is None:
            found = Lacking(losers=losers(nodes, refused.among, most=most))
        else:
            found = lacking(nodes, self.counts, refused.sought, most=most)
        return refused._replace(lacking=found)

    def repeats(self, refused: Refused | Refusal) -> bool:
        """Whether the open refusal says the same."""
        open_ = self.open_refusal()
        return open_ is not None and (open_.refusal.reason, open_.refusal.waits_for) == (
            refused.reason,
            refused.waits_for,
        )

    def open_refusal(self) -> OpenRefusal | None:
        """The refusal that stands, of the life that is asked about."""
        if self.was.over:
            return None
        return self.world.refusals.get(Question("deployment", self.subject))

    def _ask(
        self, part: Part, group: Group, strategy: Strategy, among: str
    ) -> Placement | Refused | None:
        """Ask the core over some of the nodes; None where there is nothing to add."""
        deploy, nodes, workload = self.deploy, self.nodes, self.workload
        assert deploy is not None
        assert nodes is not None
        assert workload is not None
        own = strategy == deploy.strategy
        count = deploy.count if strategy in {"FILL", "EACH"} else len(group.numbers)
        limit = deploy.nodes_limit if own else NO_LIMIT
        names: Sequence[NodeName] = nodes.pool(among)

        def refused(code: str, waits_for: str, found: int) -> Refused:
            self.asked.append(Asked(part, strategy, count, limit, among, code))
            return Refused(part, code, waits_for, count, found, among)

        if self.invalid is not None:
            return refused(self.invalid, WAITS_FOR_WISH, 0)
        policy: Policy = deploy.policy or self.world.policy.placement.global_policy
        if nodes.schedulable.isdisjoint(names):
            try:
                # What means nothing waits for another wish, not for nodes.
                nodes.rules.place(Request(strategy, count, (), limit, policy))
            except InvalidRequest as invalid:
                return refused(invalid.code, WAITS_FOR_WISH, 0)
            return refused("no_eligible_node", WAITS_FOR_NODES, 0)
        names = asked_about(nodes, strategy, policy, among, count, self.counts, limit=limit)
        request = Request(
            strategy=strategy,
            count=count,
            nodes=nodes.as_asked(names, self.counts, loaded=strategy in {"GLOBAL", "DRAINED"}),
            nodes_limit=limit,
            policy=policy,
        )
        self.inputs.append(_spelled(request))
        staying = len(self.instances) - sum(one in self.instances for one in group.numbers.named)
        most = MOST_INSTANCES - staying
        if count > MOST_INSTANCES and sum(node.capacity for node in request.nodes) >= count:
            # Some strategies count to as many one by one.
            return refused("too_many_instances", WAITS_FOR_WISH, most)
        try:
            placed = nodes.rules.place(request)
        except InvalidRequest as invalid:
            return refused(invalid.code, WAITS_FOR_WISH, 0)
        if isinstance(placed, Shortage):
            if placed.code == "already_filled":
                self.asked.append(Asked(part, strategy, count, limit, among, placed.code))
                return None
            without = refused(placed.code, WAITS_FOR_NODES, placed.found)
            sought = Sought(strategy, count, limit, among)
            return without._replace(wanted=placed.wanted, sought=sought)
        more = sum(placed.deploy.values())
        if more > most:
            return refused("too_many_instances", WAITS_FOR_WISH, most)._replace(wanted=more)
        self.asked.append(Asked(part, strategy, count, limit, among, PLACED))
        self.placed = Served(request, placed, among)
        return placed

    def _took(self, part: Part, group: Group, placed: Placement) -> None:
        """Give the numbers of a group their places: by node, then in the order of its plans."""
        nodes, terms = self.nodes, self.terms
        assert nodes is not None
        assert terms is not None
        numbers = tuple(group.numbers)
        if not numbers:
            wanted = sum(placed.deploy.values())
            numbers = tuple(sorted(self.waiting)[:wanted]) if part != "growth" else ()
            numbers = (*numbers, *self._unused(wanted - len(numbers)))
        left = iter(numbers)
        for name in sorted(placed.deploy):
            for plan in nodes.plans(name, placed.deploy[name]):
                number = next(left)
                before = self.instances.get(number)
                if before is not None:
                    self._give_back(before)
                self.waiting.pop(number, None)
                self._put(Instance(number, name, terms, *plan))
        assert next(left, None) is None, "every number has its place"
        if part == "growth" and "placed" not in self.did:
            self.did.append("placed")

    def _put(self, one: Instance) -> None:
        assert self.nodes is not None
        self.instances[one.number] = one
        self.counts[one.node] += 1
        self.nodes.take(one)

    def _give_back(self, one: Instance) -> None:
        assert self.nodes is not None
        del self.instances[one.number]
        self.counts[one.node] -= 1
        self.nodes.give_back(one)

    def _keep(self) -> Kept:
        assert self.nodes is not None
        return Kept(
            dict(self.nodes.held),
            dict(self.instances),
            dict(self.waiting),
            dict(self.whys),
            self.placed,
        )

    def _go_back(self, kept: Kept) -> None:
        assert self.nodes is not None
        self.nodes.as_it_was(kept.held)
        self.instances, self.waiting, self.whys = kept.instances, kept.waiting, kept.whys
        self.counts = Counter(one.node for one in self.instances.values())
        self.placed = kept.placed

    def _refuse(self, part: Part, reason: str, waits_for: str, wanted: int, found: int) -> None:
        refused = Refused(part, reason, waits_for, wanted, found, "all")
        self.refused.append(self._with_reasons(refused))

    def _note(self, before: Instance, after: Instance | None) -> None:
        """What a change in place was asked with."""
        assert self.nodes is not None
        offer = self.nodes.offer(before.node)
        self.inputs.append(
            [
                before.number,
                [before.node, before.cores, before.group, before.volumes],
                [offer.cpu, offer.memory, offer.storage, offer.cores, offer.numa_memory],
                [offer.volumes, offer.in_use],
                after is not None,
            ]
        )


def _code(world: World, workload: WorkloadUpserted) -> str:
    """Why a request means nothing."""
    try:
        wanted(world, workload)
    except InvalidRequest as invalid:
        return invalid.code
    raise AssertionError("what it means is known")


def _spelled(request: Request) -> Plain:
    """A question to the core, as the plain value that a decision's ``inputs`` digests."""
    return {
        "strategy": request.strategy,
        "count": request.count,
        "limit": request.nodes_limit,
        "policy": request.policy,
        "names": [node.name for node in request.nodes],
        "capacities": [node.capacity for node in request.nodes],
        "counts": [node.count for node in request.nodes],
        "loads": [
            [
                node.usage.numerator,
                node.usage.denominator,
                node.rate.numerator,
                node.rate.denominator,
            ]
            for node in request.nodes
        ]
        if request.strategy in {"GLOBAL", "DRAINED"}
        else None,
    }
