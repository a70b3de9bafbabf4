"""Whatever kills the service that answers admissions: each is answered once. The long form has fifty runs."""

from tests.postgres import Postgres
from tests.services.admissions_through_crashes import drawn, played


async def test_a_service_that_is_killed_answers_each_review_once_and_splits_exactly(
    postgres: Postgres,
) -> None:
    run = drawn(1, reviews=200, kills=2)

    assert await played(postgres, run) == []
    assert run.refused > 0, "somebody was waiting when it was killed"
