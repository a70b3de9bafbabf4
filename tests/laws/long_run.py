"""The laws at a hundred thousand new examples each, in as many sittings as it takes.

    python -m tests.laws.long_run [--share 1/2] RECORD [FOLDER_OR_FILE ...]
    python -m tests.laws.long_run --examples 1000 --seed 1 - [FOLDER_OR_FILE ...]

Each law that held is a line of RECORD, with how many examples and how many seconds of processor time it
took, and is not run again with the same RECORD; whoever changes what it judges strikes its lines out.
``--share 1/2`` and ``--share 2/2`` divide the laws between two processes. The cheapest laws come first,
so that a sitting that is cut short has seen as many as it could. The second form is that of every check of
everything: fewer examples, the same ones each time, and nothing is recorded. What pytest understands may
follow.

A law is first asked as in every other run, and then with a hundred thousand examples from
``quick_draws``, which takes a quarter of Hypothesis' time. An example that the law did not want (``assume``)
is not one of them. What fails is told with the seed and the number of its example, its values, and what
Hypothesis makes of the law when it looks for something smaller; it is recorded nowhere. What draws nothing
(chances with fixed salts, published values) is run once, and the record says one example. A law that
names its own number of examples is asked that many by Hypothesis, and so is one whose strategies
``quick_draws`` does not understand, a hundred thousand times.
"""

import argparse
import gc
import json
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import SystemRandom
from typing import Any, Final

import pytest
from hypothesis import settings
from hypothesis.errors import UnsatisfiedAssumption

from tests.laws.quick_draws import NotUnderstood, QuickDraws, drawing_quickly

EXAMPLES: Final = 100_000

LOOKED_FOR: Final = 20_000
"""In so many examples Hypothesis looks for a smaller one than that which failed."""

MEASURED: Final = 40
"""So many examples say which laws are cheap."""

Law = Callable[..., object]


@dataclass(frozen=True, slots=True)
class Asked:
    """How a law was asked that held."""

    examples: int
    rejected: int = 0
    seed: int | None = None


class TooFewWanted(Exception):
    """A law that wants hardly any example has not been asked a hundred thousand times."""


class QuickLaw:
    """A law as ``@given`` made it, asked with quick draws; pytest's own arguments are ``given``."""

    def __init__(self, law: Any, given: Mapping[str, object] | None = None) -> None:
        self.draws = QuickDraws()
        self.inner: Law = law.hypothesis.inner_test
        self.strategies = law.hypothesis._given_kwargs
        self.given = dict(given or {})

    def ask(self, wanted: int, *, seed: int) -> Asked:
        """So many examples, and whatever a false law raises, with its example noted."""
        place = held = 0
        with drawing_quickly(self.draws, self.inner):
            draws = {name: self.draws.of(each) for name, each in self.strategies.items()}
            while held < wanted:
                self.draws.seed(seed, place)
                try:
                    self.inner(**self.given, **{name: draw() for name, draw in draws.items()})
                    held += 1
                except UnsatisfiedAssumption:
                    if place >= 1_000 and held * 100 < place:
                        raise TooFewWanted(f"{held} of {place} examples") from None
                except Exception as error:
                    error.add_note(f"example {place} of seed {seed}:\n{self.told(seed, place)}")
                    raise
                place += 1
        return Asked(wanted, rejected=place - held, seed=seed)

    def told(self, seed: int, place: int) -> str:
        """The values of an example, drawn once more, and those that it drew while it ran."""
        self.draws.seed(seed, place)
        values = {name: self.draws.draw(each) for name, each in self.strategies.items()}
        lines = [f"{name} = {value!r}" for name, value in values.items()]
        self.draws.data.heard = []
        try:
            self.inner(**self.given, **values)
        except Exception as error:  # noqa: BLE001 - whatever a law raises is what is told
            lines += [f"drew {value!r}" for value in self.draws.data.heard]
            lines.append(f"and again: {error!r}")
        else:
            lines.append("and it held when it was asked again")
        finally:
            self.draws.data.heard = None
        return "\n".join(lines)


def ask(
    law: Any, given: Mapping[str, object], examples: int = EXAMPLES, seed: int | None = None
) -> Asked:
    """Ask as everybody does, then quickly; whoever fails is looked at by Hypothesis.

    With a ``seed`` the examples are the same each time: the law's own ones, then those drawn quickly.
    """
    usual = law._hypothesis_internal_use_settings
    own_number = usual.max_examples != settings().max_examples
    if seed is None or own_number:
        law(**given)
    if own_number:
        return Asked(usual.max_examples)
    for own in getattr(law, "hypothesis_explicit_examples", ()):
        law.hypothesis.inner_test(*own.args, **given, **own.kwargs)
    try:
        quick = SystemRandom().getrandbits(32) if seed is None else seed
        return QuickLaw(law, given).ask(examples, seed=quick)
    except NotUnderstood:
        settings(usual, max_examples=examples, derandomize=seed is not None)(law)(**given)
        return Asked(examples)
    except TooFewWanted:
        raise
    except Exception as error:
        settings(usual, max_examples=LOOKED_FOR, derandomize=False)(law)(**given)
        error.add_note(f"Hypothesis found nothing in {LOOKED_FOR} examples")
        raise


def cost(item: pytest.Item) -> tuple[bool, float]:
    """Seconds of a few examples; those that draw nothing are first, those that cannot be asked here last."""
    law, spec = getattr(item, "obj", None), getattr(item, "callspec", None)
    if not hasattr(law, "hypothesis"):
        return False, 0.0
    quick = QuickLaw(law, spec.params if spec else {})
    try:
        quick.ask(MEASURED // 4, seed=0)  # the first ones look up what the others have at hand
        began = time.process_time()
        quick.ask(MEASURED, seed=1)
    except Exception:  # noqa: BLE001 - whatever it is, it is told when the law's turn comes
        return True, 0.0
    return False, time.process_time() - began


class Sitting:
    """Leaves out what was done before, and writes down what was done now."""

    def __init__(
        self, record: Path | None, share: tuple[int, int], examples: int, seed: int | None
    ) -> None:
        self.record = record
        self.which, self.of = share
        self.examples, self.seed = examples, seed
        known = record is not None and record.exists()
        lines = record.read_text(encoding="utf-8").splitlines() if record and known else []
        self.done = {json.loads(line)["law"] for line in lines}
        self.asked: dict[str, tuple[Asked, float]] = {}

    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        laws = [item for item in items if getattr(item, "obj", None) is not None]
        mine = [
            law
            for place, law in enumerate(laws)
            if place % self.of == self.which - 1 and law.nodeid not in self.done
        ]
        config.hook.pytest_deselected(items=[item for item in items if item not in mine])
        items[:] = mine
        if self.record is not None:
            costs = {law.nodeid: cost(law) for law in mine}
            items.sort(key=lambda law: costs[law.nodeid])
            hours = sum(seconds for _, seconds in costs.values()) / MEASURED * self.examples / 3600
            sys.stdout.write(f"{len(mine)} laws, about {hours:.1f} hours\n")
        # What was imported stays for good, and laws leave little behind that goes round in circles.
        gc.freeze()
        gc.set_threshold(50_000, 20, 100)

    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> bool | None:
        law = pyfuncitem.obj
        began = time.process_time()
        if not hasattr(law, "hypothesis"):
            self.asked[pyfuncitem.nodeid] = Asked(1), began
            return None
        names = pyfuncitem._fixtureinfo.argnames  # what pytest itself looks at to call a test
        given = {name: pyfuncitem.funcargs[name] for name in names}
        self.asked[pyfuncitem.nodeid] = ask(law, given, self.examples, self.seed), began
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if self.record is None or report.when != "call" or not report.passed:
            return
        asked, began = self.asked[report.nodeid]
        done = {
            "law": report.nodeid,
            "examples": asked.examples,
            **({} if asked.seed is None else {"rejected": asked.rejected, "seed": asked.seed}),
            "seconds": round(time.process_time() - began),
            "at": time.strftime("%Y-%m-%d", time.gmtime()),
        }
        with self.record.open("a", encoding="utf-8") as record:
            record.write(json.dumps(done) + "\n")


def main() -> int:
    """Run what is left of one share."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("record", type=Path, help="- is none")
    parser.add_argument("--share", default="1/1", help="which part of how many, as 1/2")
    parser.add_argument("--examples", type=int, default=EXAMPLES)
    parser.add_argument("--seed", type=int, help="the same examples each time")
    parser.add_argument("tests", nargs="*", default=["tests/laws"])
    told, for_pytest = parser.parse_known_args()
    which, of = (int(number) for number in told.share.split("/"))
    record = None if told.record == Path("-") else told.record
    # Hypothesis is imported before pytest could rewrite its assertions, which nobody needs here.
    early = ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
    usual = ["-p", "no:cacheprovider", "--timeout", "0", "-q" if record is None else "-v"]
    return pytest.main(
        [*told.tests, *early, *usual, *for_pytest],
        plugins=[Sitting(record, (which, of), told.examples, told.seed)],
    )


if __name__ == "__main__":
    sys.exit(main())
