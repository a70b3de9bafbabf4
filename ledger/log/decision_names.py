"""Why a decision's name, fleet/incarnation/number, means none of the decisions that are there.

Only a life that is over can have made a decision that is lost: the log was restored to an earlier point
since. A life that has not begun has made none, and one that began behind the number made others.
"""

from ledger.units import Incarnation


def why_not_there(
    fleet: str, life: int, number: int, *, made_in: int | None, newest: Incarnation
) -> str | None:
    """Why ``fleet/life/number`` is not there; None where it is, or where only the number is missing.

    ``made_in`` is the life that made the decision of that number, None where there is none; ``newest``
    the one that the log is in.
    """
    if life > newest or life < 1:
        return f"{fleet} is in life {newest}; no decision of life {life} was made"
    if made_in is None or made_in == life:
        return None
    if made_in > life:
        return (
            f"{fleet}/{life}/{number} is not in the log, which was restored to an earlier point;"
            f" {fleet}/{made_in}/{number} is another one"
        )
    return f"life {life} of {fleet} began after decision {number}: see {fleet}/{made_in}/{number}"
