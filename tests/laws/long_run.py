"""The laws at a hundred thousand new examples each, in as many sittings as it takes.

    python -m tests.laws.long_run RECORD [--share 1/2] [FOLDER_OR_FILE ...]

All of them are half a day of processor time. Each law that held is a line of RECORD, with how many
examples and how long it took, and is not run again with the same RECORD; whoever changes what it
judges strikes its lines out. ``--share 1/2`` and ``--share 2/2`` divide the laws between two
processes. What fails is told by pytest and recorded nowhere.
"""

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Final

import pytest

EXAMPLES: Final = 100_000


class Sitting:
    """Leaves out what was done before, and writes down what was done now."""

    def __init__(self, record: Path, share: tuple[int, int]) -> None:
        self.record = record
        self.which, self.of = share
        lines = record.read_text(encoding="utf-8").splitlines() if record.exists() else []
        self.done = {json.loads(line)["law"] for line in lines}

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

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when != "call" or not report.passed:
            return
        done = {
            "law": report.nodeid,
            "examples": EXAMPLES,
            "seconds": round(report.duration),
            "at": time.strftime("%Y-%m-%d", time.gmtime()),
        }
        with self.record.open("a", encoding="utf-8") as record:
            record.write(json.dumps(done) + "\n")


def main() -> int:
    """Run what is left of one share."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("record", type=Path)
    parser.add_argument("--share", default="1/1", help="which part of how many, as 1/2")
    parser.add_argument("tests", nargs="*", default=["tests/laws"])
    told = parser.parse_args()
    which, of = (int(number) for number in told.share.split("/"))
    return pytest.main(
        [
            *told.tests,
            *["-q", "-p", "no:cacheprovider", "--hypothesis-profile", "long", "--timeout", "0"],
        ],
        plugins=[Sitting(told.record, (which, of))],
    )


if __name__ == "__main__":
    sys.exit(main())
