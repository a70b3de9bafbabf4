"""How fleets stand, on terminals of any width and in a pipe."""

from dataclasses import fields
from datetime import UTC, datetime, timedelta
from io import StringIO
from typing import Any

from rich.console import Console

from ledger.cli import standing
from ledger.cli.tables import WITHOUT_AN_EDGE
from ledger.views.reading import FleetStanding

NOTHING: dict[str, Any] = {
    **{field.name: None for field in fields(FleetStanding)},
    **dict.fromkeys(("undecided", "decisions", "open_refusals", "quarantined"), 0),
    "clock": "wall",
    "standby": [],
}


def found() -> list[FleetStanding]:
    """One that much is to be said of, and one of which there is nothing to say."""
    now = datetime.now(UTC)
    busy = {
        "fleet": "shop",
        "head": 1_234_567,
        "decided_through": 1_234_560,
        "undecided": 7,
        "lag_seconds": 12.3,
        "decisions": 45_678,
        "open_refusals": 2,
        "quarantined": 6_000,
        "decider": "vm/26271",
        "decider_since": now - timedelta(seconds=63),
        "standby": ["vm/1", "vm/2"],
        "snapshot": 1_200_000,
        "snapshot_at": now - timedelta(seconds=500),
    }
    return [FleetStanding(**NOTHING | busy), FleetStanding(**NOTHING | {"fleet": "quiet"})]


def shown(width: int) -> list[str]:
    told = StringIO()
    standing._show_fleets(Console(file=told, width=width, highlight=False), found())
    return [line.rstrip() for line in told.getvalue().splitlines()]


def test_at_eighty_columns_who_decides_stands_below_each_fleet() -> None:
    assert shown(80) == [
        "fleet       head    decided       lag  decisions  refused  aside",
        "shop   1,234,567  1,234,560  7 (12 s)     45,678        2  6,000",
        "  decided by vm/26271 for 1 min 3 s; vm/1, vm/2 stand by; snapshot 1,200,000 (8",
        "  min 20 s)",
        "quiet          -          -         0          0        0      0",
        "  nobody decides; snapshot none",
    ]


def test_a_wider_terminal_has_the_snapshot_and_then_the_clock_beside_the_rest() -> None:
    names = ["fleet", "head", "decided", "lag", "decisions", "refused", "aside"]

    assert shown(90)[0].split() == [*names, "snapshot"]
    assert shown(120)[0].split() == [*names, "snapshot", "clock"]
    assert shown(120)[2] == "  decided by vm/26271 for 1 min 3 s; vm/1, vm/2 stand by"
    assert shown(120)[1].endswith("1,200,000 (8 min 20 s)  wall")


def test_where_there_is_room_a_fleet_is_a_line_with_everything() -> None:
    for width in (180, WITHOUT_AN_EDGE):
        head, busy, *more, quiet = shown(width)
        assert head.split()[-3:] == ["clock", "decider", "standby"]
        assert "vm/26271 since " in busy
        assert [line.strip() for line in more] == ["vm/2"]
        assert quiet.split()[-2:] == ["none", "none"]
