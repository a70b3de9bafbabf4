"""Whether a fleet may be called what somebody typed, said before anything is read or opened for it.

What is sent for a fleet of a name that none may have would be set aside, each line of it.
"""

import typer

from ledger.units import LEDGER_FLEET


def usable(name: str | None) -> str | None:
    """The name, where a fleet of those who send events may have it."""
    # What knows of names loads what reads events, and typing completes many commands that need neither.
    from ledger.events.envelope import is_fleet_name

    if name == LEDGER_FLEET:
        raise typer.BadParameter(f"{name} is the ledger's own")
    if name is not None and not is_fleet_name(name):
        raise typer.BadParameter(f"{name[:63]!a} is no DNS label (a-z, 0-9 and - inside)")
    return name
