"""The ``ledger`` command, where it begins."""

import sys


def main() -> None:
    """The console entry point."""
    if sys.argv[1:2] == ["solve"]:
        # Programs ask a question and go; loading all the other commands would take them longest.
        from ledger.cli.solve.main import app

        app(sys.argv[2:], prog_name="ledger solve")
    else:
        from ledger.cli.commands import app

        app()


if __name__ == "__main__":
    main()
