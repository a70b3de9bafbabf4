"""The ``ledger`` command, where it begins, and what it ends with by a mistake of ours."""

import sys
import traceback
from typing import Final

from ledger.cli.commands import as_asked
from ledger.cli.outputs import watched

OUR_MISTAKE: Final = 70
"""The exit code of a failure that nobody foresaw. Python's own 1 says of an audit that something differs."""


def main() -> None:
    """The console entry point."""
    try:
        with watched():
            as_asked(sys.argv[1:])()
    except Exception:  # noqa: BLE001 - the outermost place there is: it tells all and ends
        traceback.print_exc()
        sys.exit(OUR_MISTAKE)


if __name__ == "__main__":
    main()
