"""The ``ledger`` command, where it begins, and what it ends with by a mistake of ours or a Ctrl-C.

It loads next to nothing itself. Loading a command takes long enough for somebody to change their mind,
and what is loaded here already would be loaded where nobody says what an interruption ends with.
"""

import sys
from typing import Final

OUR_MISTAKE: Final = 70
"""The exit code of a failure that nobody foresaw. Python's own 1 says of an audit that something differs."""
INTERRUPTED: Final = 130
"""The exit code after Ctrl-C, as a shell says it of SIGINT, and after SIGTERM."""


def main() -> None:
    """The console entry point."""
    try:
        _run()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except Exception:  # noqa: BLE001 - the outermost place there is: it tells all and ends
        import traceback

        traceback.print_exc()
        sys.exit(OUR_MISTAKE)


def _run() -> None:
    from ledger.cli.commands import as_asked
    from ledger.cli.outputs import watched

    with watched():
        as_asked(sys.argv[1:])()


if __name__ == "__main__":
    main()
