"""Which of a Deployment's pods are on-demand, decided while they are being created.

A Deployment's pods have no order, so its target is kept by counting. Pods are created in bursts,
and what a cluster tells comes late; whoever counts pods that he sees decides wrongly. So each
decision is a *reservation* that counts from the moment it is made. What happens to its pod later
only moves it:

``open``       decided, and nothing was heard since
``confirmed``  its pod was seen
``lapsed``     given up while open, by time or because there was no room for its pod
``lost``       its pod had been seen, and must have gone without our hearing of it

Open and confirmed reservations are *live*. A lapsed or lost one whose pod appears after all is live
again; one whose pod is known to be gone never is, and is forgotten.

Three rules make the count right. Slots belong to a pod template, so that in a rollout the old pods
do not take the slots of the new ones. A ReplicaSet never has more pods than it has been told to, so
an admission beyond that proves that earlier ones failed, oldest first. And the same admission, told
again, is answered as before.

Everything here is a value: numbers in sorted tuples, by class and by template. Where a target comes
from is the business of ``target``, what goes into the pod that of ``patch``, and when time runs out
that of ``expiry``.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Final, Literal, NamedTuple

from immutables import Map

from ledger.core.shares import require_count
from ledger.core.spot.labels import CapacityClass
from ledger.core.spot.target import Target
from ledger.errors import InvalidRequest

Numbers = tuple[int, ...]
"""Reservations, lowest and therefore oldest first."""

Standing = Literal["open", "confirmed", "lapsed", "lost"]

STANDINGS: Final[tuple[Standing, ...]] = ("open", "confirmed", "lapsed", "lost")

Flag = Literal["reinvocation", "foreign_reservation_ignored", "dry_run", "assumed_loss"]
"""What a person should know about an admission, always in this order. The names are public."""


class Held(NamedTuple):
    """The reservations of one class, by how they stand."""

    open: Numbers = ()
    confirmed: Numbers = ()
    lapsed: Numbers = ()
    lost: Numbers = ()

    @property
    def live(self) -> int:
        """How many pods there are or will be."""
        return len(self.open) + len(self.confirmed)


class Template(NamedTuple):
    """The pods of one template. ``replicas`` is what its ReplicaSet was told, None if unheard."""

    replicas: int | None = None
    od: Held = Held()
    spot: Held = Held()

    def held(self, capacity_class: CapacityClass) -> Held:
        """The reservations of one class."""
        return self.od if capacity_class == "od" else self.spot

    @property
    def on_demand(self) -> int:
        """How many slots are taken."""
        return self.od.live

    @property
    def live(self) -> int:
        """How many pods there are or will be."""
        return self.od.live + self.spot.live


@dataclass(frozen=True, slots=True)
class Answer:
    """How an admission was answered, and from what.

    ``wanted`` is what the ledger would have decided but for the user's pin: ``on_demand`` of
    ``live`` pods were on-demand, once ``retired`` and ``assumed_lost`` were taken out, and
    ``target`` were due. Without a class the pod is none of our business.
    """

    capacity_class: CapacityClass | None
    reservation: int | None
    flags: tuple[Flag, ...]
    wanted: CapacityClass | None = None
    retired: Numbers = ()
    assumed_lost: Numbers = ()
    on_demand: int = 0
    live: int = 0
    target: int | None = None


_NO_TEMPLATES: Final[Map[str, Template]] = Map()
_NO_HOMES: Final[Map[int, str]] = Map()
_NO_ANSWERS: Final[Map[str, Answer]] = Map()


@dataclass(frozen=True, slots=True)
class Slots:
    """The reservations of one Deployment, over all its templates.

    ``homes`` says whose a reservation is as long as it can matter; ``last`` is the newest number.
    """

    templates: Map[str, Template] = _NO_TEMPLATES
    homes: Map[int, str] = _NO_HOMES
    answers: Map[str, Answer] = _NO_ANSWERS
    last: int = 0
    prefix: str = "r"
    """What the names of its reservations begin with. Where pods of several workloads can meet, as
    in a cluster where templates are copied, it has to tell the workloads apart."""

    def name(self, number: int) -> str:
        """The reservation's name, as the pod's annotation has it."""
        return f"{self.prefix}{number}"

    def number(self, name: str) -> int | None:
        """Which of its reservations, past ones included, a name speaks of."""
        digits = name.removeprefix(self.prefix)
        if not name.startswith(self.prefix) or _NUMBER.fullmatch(digits) is None:
            return None
        number = int(digits)
        return number if number <= self.last else None


_NUMBER: Final = re.compile(r"[1-9][0-9]{0,17}")


@dataclass(frozen=True, slots=True)
class Admission:
    """A pod that is about to be created. ``carried`` is the reservation it names already."""

    uid: str
    template: str
    carried: str | None = None
    dry_run: bool = False
    user_pin: CapacityClass | None = None


@dataclass(frozen=True, slots=True)
class Admitted:
    """The answer to an admission, and the slots with it."""

    slots: Slots
    answer: Answer
    replayed: bool = False


def admit(slots: Slots, admission: Admission, target: Target) -> Admitted:
    """Answer an admission, and hold a slot for the pod unless it has one."""
    answered = slots.answers.get(admission.uid)
    if answered is not None:
        return Admitted(slots, answered, replayed=True)

    flags: tuple[Flag, ...] = ()
    if admission.carried:
        again = _reinvoked(slots, admission, target)
        if again is not None:
            return again
        flags = ("foreign_reservation_ignored",)
    if admission.dry_run:
        flags = (*flags, "dry_run")
    if target.pods is None:
        return _answered(slots, admission, Answer(None, None, flags))

    template = slots.templates.get(admission.template, Template())
    template, retired, assumed_lost = _with_room_for_one(template)
    single = target.mode == "single"
    wanted: CapacityClass = "od" if single or template.on_demand < target.pods else "spot"
    capacity_class = wanted if admission.user_pin is None else admission.user_pin
    if admission.dry_run:
        retired = assumed_lost = ()
    elif assumed_lost:
        flags = (*flags, "assumed_loss")
    answer = Answer(
        capacity_class=capacity_class,
        reservation=None if admission.dry_run else slots.last + 1,
        flags=flags,
        wanted=wanted,
        retired=retired,
        assumed_lost=assumed_lost,
        on_demand=template.on_demand,
        live=template.live,
        target=target.pods,
    )
    if admission.dry_run:
        return Admitted(slots, answer)
    reserved = _opened(slots, admission.template, template, capacity_class, "open")
    return _answered(reserved, admission, answer)


def must_list(slots: Slots, template: str) -> bool:
    """Whether the next admission of ``template`` would have to give up a reservation.

    Whoever can list the pods of the template should do so first: it turns a guess into knowledge.
    """
    known = slots.templates.get(template)
    return known is not None and _excess(known) > 0


@dataclass(frozen=True, slots=True)
class Seen:
    """The slots once a pod was seen; ``late`` if its reservation had been given up."""

    slots: Slots
    late: bool
    on_demand: int


def seen(slots: Slots, number: int) -> Seen:
    """The pod of a reservation exists."""
    found = _found(slots, number)
    if found is None:
        return Seen(slots, late=False, on_demand=0)
    home, capacity_class, standing = found
    confirmed = _moved(slots, home, capacity_class, number, standing, "confirmed")
    on_demand = confirmed.templates[home].on_demand
    return Seen(confirmed, late=standing == "lapsed", on_demand=on_demand)


def gone(slots: Slots, number: int) -> Slots:
    """The pod of a reservation was deleted or has failed: it never returns."""
    found = _found(slots, number)
    if found is None:
        return slots
    home, capacity_class, standing = found
    return _moved(slots, home, capacity_class, number, standing, None)


def expire(slots: Slots, number: int) -> Slots:
    """The time of a reservation has run out, which matters only while it is open."""
    found = _found(slots, number)
    if found is None:
        return slots
    home, capacity_class, standing = found
    if standing != "open":
        return slots
    return _moved(slots, home, capacity_class, number, standing, "lapsed")


def adopt(slots: Slots, template: str, capacity_class: CapacityClass) -> Slots:
    """A pod exists that was never admitted here; its node says which class it has."""
    known = slots.templates.get(template, Template())
    return _opened(slots, template, known, capacity_class, "confirmed")


def listed(slots: Slots, template: str, present: Collection[int]) -> Slots:
    """Exactly the pods of these reservations exist, as far as pods of ``template`` go.

    An open reservation stays open: its pod may be on its way.
    """
    known = slots.templates.get(template)
    for number in sorted(present):
        _require_known(slots, number)
    if known is None:
        return slots
    here = frozenset(present)
    gone_now = [n for held in (known.od, known.spot) for n in held.confirmed if n not in here]
    homes = slots.homes
    for number in gone_now:
        homes = homes.delete(number)
    looked_at = known._replace(od=_listed(known.od, here), spot=_listed(known.spot, here))
    return replace(slots, templates=slots.templates.set(template, looked_at), homes=homes)


def told_replicas(slots: Slots, template: str, replicas: int) -> Slots:
    """The ReplicaSet of ``template`` has been told to have so many pods."""
    require_count("replicas", replicas)
    known = slots.templates.get(template, Template())
    told = known._replace(replicas=replicas)
    return replace(slots, templates=slots.templates.set(template, told))


@dataclass(frozen=True, slots=True)
class Tally:
    """What the pods of a template come to, against the target."""

    on_demand: int
    live: int
    target: int | None
    deficit: int
    surplus: int


def tally(template: Template, target: Target) -> Tally:
    """Count: a deficit is what is short of the target though there are pods enough."""
    on_demand, live, due = template.on_demand, template.live, target.pods
    if due is None:
        return Tally(on_demand, live, None, 0, 0)
    return Tally(
        on_demand,
        live,
        due,
        deficit=max(0, min(due, live) - on_demand),
        surplus=max(0, on_demand - due),
    )


def _reinvoked(slots: Slots, admission: Admission, target: Target) -> Admitted | None:
    """The same answer again for a pod that carries its own open reservation.

    The API server calls again, under another uid, when something else changed the pod after us.
    A reservation that is not open, or of another template, was copied along with somebody's YAML.
    """
    assert admission.carried is not None
    number = slots.number(admission.carried)
    if number is None or slots.homes.get(number) != admission.template:
        return None
    template = slots.templates[admission.template]
    capacity_class: CapacityClass
    if _holds(template.od.open, number):
        capacity_class = "od"
    elif _holds(template.spot.open, number):
        capacity_class = "spot"
    else:
        return None
    answer = Answer(
        capacity_class=capacity_class,
        reservation=number,
        flags=("reinvocation",),
        wanted=capacity_class,
        on_demand=template.on_demand,
        live=template.live,
        target=target.pods,
    )
    return _answered(slots, admission, answer)


def _answered(slots: Slots, admission: Admission, answer: Answer) -> Admitted:
    """The answer, remembered under the admission's uid; a dry run leaves no trace."""
    if admission.dry_run:
        return Admitted(slots, answer)
    answers = slots.answers.set(admission.uid, answer)
    return Admitted(Slots(slots.templates, slots.homes, answers, slots.last, slots.prefix), answer)


def _excess(template: Template) -> int:
    """How many live reservations would have no room beside one more pod."""
    return 0 if template.replicas is None else max(0, template.live + 1 - template.replicas)


def _with_room_for_one(template: Template) -> tuple[Template, Numbers, Numbers]:
    """The template with as many given up as one more pod proves to be gone: which, and why.

    Open reservations go first, oldest first: their pods never came to be. After them seen pods,
    and on-demand ones before others: if the guess is wrong, there is one on-demand pod too many
    and not one too few.
    """
    excess = _excess(template)
    if not excess:
        return template, (), ()
    od, spot = template.od, template.spot
    retired = tuple(sorted(od.open + spot.open)[:excess])
    excess -= len(retired)
    if retired:
        od, spot = _retired(od, retired[-1]), _retired(spot, retired[-1])
    lost_od = od.confirmed[:excess]
    lost_spot = spot.confirmed[: excess - len(lost_od)]
    if lost_od:
        od = od._replace(confirmed=od.confirmed[len(lost_od) :], lost=_merged(od.lost, lost_od))
    if lost_spot:
        spot = spot._replace(
            confirmed=spot.confirmed[len(lost_spot) :], lost=_merged(spot.lost, lost_spot)
        )
    return Template(template.replicas, od, spot), retired, lost_od + lost_spot


def _retired(held: Held, newest: int) -> Held:
    """Every open reservation up to ``newest`` lapses."""
    cut = bisect_right(held.open, newest)
    return held._replace(open=held.open[cut:], lapsed=_merged(held.lapsed, held.open[:cut]))


def _opened(
    slots: Slots,
    home: str,
    template: Template,
    capacity_class: CapacityClass,
    standing: Literal["open", "confirmed"],
) -> Slots:
    """With one more reservation, which has the highest number of all."""
    number = slots.last + 1
    held = template.held(capacity_class)
    if standing == "open":
        held = Held((*held.open, number), held.confirmed, held.lapsed, held.lost)
    else:
        held = Held(held.open, (*held.confirmed, number), held.lapsed, held.lost)
    return Slots(
        slots.templates.set(home, _with_held(template, capacity_class, held)),
        slots.homes.set(number, home),
        slots.answers,
        number,
        slots.prefix,
    )


def _with_held(template: Template, capacity_class: CapacityClass, held: Held) -> Template:
    if capacity_class == "od":
        return Template(template.replicas, held, template.spot)
    return Template(template.replicas, template.od, held)


def _listed(held: Held, here: frozenset[int]) -> Held:
    back = [n for n in held.open + held.lapsed + held.lost if n in here]
    return Held(
        open=tuple(n for n in held.open if n not in here),
        confirmed=_merged(tuple(n for n in held.confirmed if n in here), back),
        lapsed=tuple(n for n in held.lapsed if n not in here),
        lost=tuple(n for n in held.lost if n not in here),
    )


def _found(slots: Slots, number: int) -> tuple[str, CapacityClass, Standing] | None:
    """Where a reservation is; None if its pod is gone for good."""
    _require_known(slots, number)
    home = slots.homes.get(number)
    if home is None:
        return None
    template = slots.templates[home]
    capacity_class: CapacityClass
    for capacity_class, held in (("od", template.od), ("spot", template.spot)):
        for standing, numbers in zip(STANDINGS, held, strict=True):
            if _holds(numbers, number):
                return home, capacity_class, standing
    raise AssertionError(f"reservation {number} has a home and is not there")


def _moved(
    slots: Slots,
    home: str,
    capacity_class: CapacityClass,
    number: int,
    source: Standing,
    destination: Standing | None,
) -> Slots:
    """With a reservation standing otherwise; without a destination it is forgotten."""
    if source == destination:
        return slots
    template = slots.templates[home]
    held = template.held(capacity_class)
    numbers: Numbers = getattr(held, source)
    place = bisect_left(numbers, number)
    moved = {source: numbers[:place] + numbers[place + 1 :]}
    homes = slots.homes
    if destination is None:
        homes = homes.delete(number)
    else:
        moved[destination] = _merged(getattr(held, destination), (number,))
    changed = _with_held(template, capacity_class, held._replace(**moved))
    return replace(slots, templates=slots.templates.set(home, changed), homes=homes)


def _merged(numbers: Numbers, more: Collection[int]) -> Numbers:
    return tuple(sorted((*numbers, *more)))


def _holds(numbers: Numbers, number: int) -> bool:
    place = bisect_left(numbers, number)
    return place < len(numbers) and numbers[place] == number


def _require_known(slots: Slots, number: int) -> None:
    if not 1 <= number <= slots.last:
        raise InvalidRequest("invalid_request", f"no reservation has the number {number}")
