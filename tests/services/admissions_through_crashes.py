"""The webhook is killed in the midst of admissions: nobody is answered twice differently, and no slot is lost.

    python -m tests.services.admissions_through_crashes --runs 50 --seed 1

A run is its seed. An API server asks a thousand times over some connections, for pods of a few Deployments,
while the service is killed with SIGKILL and started again. Whoever got no answer asks again under the same
uid, as clients of Kubernetes do. In the end

- every review was answered, by a decision that is in the log,
- all that was ever answered to a uid is the same, byte by byte, and so is what it is answered now,
- each uid is in the log once, and each reservation was given once,
- every split is exact.

Where the machine is so busy that nothing is committed for seconds, the service lets a pod go as it is and
says that the log cannot be reached. The log is told so once it can be, unless the service is killed before;
so that is asked again, and is the answer once it was said twice. Of such a Deployment fewer pods are on
demand, if one of those that were let go had a slot.
"""

import argparse
import asyncio
import json
import logging
import re
import sys
from base64 import b64decode
from collections import Counter
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, Final

import structlog

from ledger.admission.answering import WARNINGS
from ledger.engine.decider import decide
from ledger.log import lines
from ledger.log.database import connect
from tests.api.admitting import CLUSTER, FLEET, Json, deployment, pod, replicaset, review, told
from tests.api.serving import Service, serving, write_access
from tests.feeding import until
from tests.postgres import Postgres, session_postgres

TOKENS: Final = {
    "api-server": {
        "name": "api-server",
        "roles": ["admission"],
        "fleets": [FLEET],
        "cluster": CLUSTER,
    }
}
CONNECTIONS: Final = 25
DEPLOYMENTS: Final = 5
AGAIN_SECONDS: Final = 0.05
WITHOUT_LOG: Final = WARNINGS["log_unavailable"].encode()


@dataclass(slots=True)
class Asked:
    """A review, and whatever was answered to it."""

    deployment: str
    body: bytes
    answers: set[bytes] = field(default_factory=set)
    left: bool = False
    """Whether it was let go because nothing could be committed."""


@dataclass(slots=True)
class Run:
    """One life of a service that is killed now and then."""

    luck: Random
    asked: dict[str, Asked]
    kills: int
    service: Service | None = None
    answered: int = 0
    refused: int = 0
    """Requests that no answer came to."""
    settled: asyncio.Event = field(default_factory=asyncio.Event)

    async def play(self, url: str, directory: Path) -> None:
        """Ask, and kill; until every review is answered."""
        waiting = list(self.asked)
        self.luck.shuffle(waiting)
        # A service that does not come up again ends the run, and nobody asks for ever.
        async with asyncio.TaskGroup() as living:
            living.create_task(self._live(url, directory))
            async with asyncio.TaskGroup() as asking:
                for one in range(CONNECTIONS):
                    asking.create_task(self._ask(waiting[one::CONNECTIONS]))
            for uid in self.luck.sample(sorted(self.asked), min(50, len(self.asked))):
                await self._until_answered(uid)
            self.settled.set()

    async def _live(self, url: str, directory: Path) -> None:
        """Run the service; kill it after so many answers, again and again."""
        share = len(self.asked) // (self.kills + 1)
        for life in range(self.kills + 1):
            async with serving(url, directory) as service:
                self.service = service
                if life == self.kills:
                    await self.settled.wait()
                    return
                so_many = life * share + self.luck.randint(1, max(1, share))
                await self._reached(so_many)
                service.process.kill()
                await service.process.wait()
                self.service = None

    async def _reached(self, answered: int) -> None:
        async def is_reached() -> bool:
            return self.answered >= answered or self.settled.is_set()

        await until(is_reached, seconds=300, every=0.001)

    async def _ask(self, uids: Sequence[str]) -> None:
        for uid in uids:
            await self._until_answered(uid)

    async def _until_answered(self, uid: str) -> None:
        one = self.asked[uid]
        while True:
            service = self.service
            if service is not None:
                try:
                    answer = await posted(service, one.body)
                except (OSError, EOFError, asyncio.IncompleteReadError):
                    self.refused += 1
                else:
                    if WITHOUT_LOG not in answer or one.left:
                        one.answers.add(answer)
                        self.answered += 1
                        return
                    one.left = True
                    self.refused += 1
            await asyncio.sleep(AGAIN_SECONDS)


async def posted(service: Service, body: bytes) -> bytes:
    """The answer to one review, over a connection of its own."""
    reader, writer = await asyncio.open_connection(service.host, service.port)
    try:
        writer.write(
            b"POST /admission/v1/mutate?timeout=30s HTTP/1.1\r\nhost: ledger\r\n"
            b"authorization: Bearer api-server\r\ncontent-type: application/json\r\n"
            b"connection: close\r\ncontent-length: %d\r\n\r\n" % len(body) + body
        )
        head = await reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", head)
        assert length is not None, head
        said = await reader.readexactly(int(length[1]))
        assert head.startswith(b"HTTP/1.1 200"), (head, said)
        return said
    finally:
        writer.close()


def drawn(seed: int, *, reviews: int, kills: int) -> Run:
    """A run by its number."""
    asked = {}
    for number in range(reviews):
        name, uid = f"web-{number % DEPLOYMENTS}", f"review-{seed}-{number}"
        question = review(pod(("ReplicaSet", f"{name}-7")), asked=uid)
        asked[uid] = Asked(name, json.dumps(question).encode())
    return Run(Random(seed), asked, kills)


async def played(postgres: Postgres, run: Run) -> list[str]:
    """Play a run, and say what is wrong."""
    replicas = -(-len(run.asked) // DEPLOYMENTS)
    wanted = {f"web-{number}": run.luck.randint(0, replicas) for number in range(DEPLOYMENTS)}
    async with AsyncExitStack() as ends:
        url = await ends.enter_async_context(postgres.database())
        directory = Path(ends.enter_context(TemporaryDirectory(prefix="ledger-crashes-")))
        write_access(directory / "access.json", TOKENS)
        writer = await connect(url, "ledger_writer")
        try:
            events = [told("cluster.cluster.upserted", CLUSTER, {"name": CLUSTER})]
            for name, count in wanted.items():
                events += [deployment(name, replicas, str(count)), replicaset(name, "7", replicas)]
            await lines.ingest(writer, events)
        finally:
            await writer.close()
        stop = asyncio.Event()
        deciding = asyncio.create_task(decide(url, holder="crashes", until_idle=False, stop=stop))
        try:
            await run.play(url, directory)
        finally:
            stop.set()
            await deciding
        return await _faults(url, run, wanted)


async def _faults(url: str, run: Run, wanted: dict[str, int]) -> list[str]:
    looking = await connect(url, None)
    try:
        rows = await looking.fetch("SELECT uid, bypassed, answer FROM ledger.admission_answers")
        events = await looking.fetch(
            "SELECT id, count(*) AS times FROM ledger.events"
            " WHERE type = 'ledger.workload.admission.requested.v1' GROUP BY id"
        )
        decided = await looking.fetch(
            "SELECT admission_uid, class, reservation FROM ledger_api.capacity_classes"
            " WHERE admission_uid IS NOT NULL"
        )
    finally:
        await looking.close()
    left = {row["uid"] for row in rows if row["bypassed"]}
    faults = [f"{uid}: bypassed" for uid in sorted(left) if not run.asked[uid].left]
    kept = {row["uid"]: row["answer"] for row in rows}
    faults += [
        f"{row['id']}: {row['times']} times in the log" for row in events if row["times"] > 1
    ]
    classes = {row["admission_uid"]: row["class"] for row in decided}
    given = Counter(row["reservation"] for row in decided)
    faults += [f"{name}: given {times} times" for name, times in given.items() if times > 1]
    short = {run.asked[uid].deployment for uid in left}
    split: Counter[str] = Counter()
    for uid, one in run.asked.items():
        if one.answers != {kept.get(uid)}:
            faults.append(f"{uid}: answered {len(one.answers)} ways, kept: {uid in kept}")
        if classes.get(uid) == "od" and uid not in left:
            split[one.deployment] += 1
        if uid not in left:
            faults += [
                f"{uid}: {why}"
                for answer in one.answers
                if (why := _wrong(answer, classes.get(uid)))
            ]
    faults += [
        f"{name}: {split[name]} on demand, not {count}"
        for name, count in wanted.items()
        if split[name] > count or (split[name] < count and name not in short)
    ]
    return faults


def _wrong(answer: bytes, class_: str | None) -> str | None:
    response: Json = json.loads(answer)["response"]
    if class_ is None:
        return f"answered without a decision: {response.get('warnings')}"
    patch: Any = json.loads(b64decode(response.get("patch", "W10=")))
    words = json.dumps(patch)
    wanted = '"on-demand"' if class_ == "od" else '"spot"'
    return None if wanted in words and response["allowed"] else f"no patch to {class_}"


async def main() -> int:
    """Play so many, and say how it went."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--reviews", type=int, default=1000)
    parser.add_argument("--kills", type=int, default=1)
    given = parser.parse_args()
    # The decider runs in this process, and has nothing to say.
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    failed = 0
    async with session_postgres() as postgres:
        for seed in range(given.seed, given.seed + given.runs):
            run = drawn(seed, reviews=given.reviews, kills=given.kills)
            faults = await played(postgres, run)
            failed += bool(faults)
            told_ = "; ".join(faults[:5]) if faults else "every one answered once, split exact"
            sys.stdout.write(f"seed {seed}: {run.refused} asked again, {told_}\n")
            sys.stdout.flush()
    sys.stdout.write(f"{given.runs} runs, {failed} failed\n")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
