"""What can be asked about disks: filters, choices, whole placements, and moves."""

from typing import Any, Final

from ledger.cli.solve import (
    disk_choice_questions,
    disk_filter_questions,
    disk_move_questions,
    disk_scheduling_questions,
)
from ledger.cli.solve.asking import Op

OPS: Final[tuple[Op[Any], ...]] = (
    *disk_filter_questions.OPS,
    *disk_choice_questions.OPS,
    *disk_scheduling_questions.OPS,
    *disk_move_questions.OPS,
)
