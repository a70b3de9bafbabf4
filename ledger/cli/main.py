"""The ``ledger`` command, where it begins."""

import sys


def main() -> None:
    """The console entry point."""
    # Who asks a question and goes would wait longest for all the other commands to be loaded.
    match sys.argv[1:2]:
        case ["solve"]:
            from ledger.cli.solve.main import app

            app(sys.argv[2:], prog_name="ledger solve")
        case ["explain"]:
            from ledger.cli.explain.main import app

            app(sys.argv[2:], prog_name="ledger explain")
        case ["diff"]:
            from ledger.cli.explain.diff import app

            app(sys.argv[2:], prog_name="ledger diff")
        case ["what-if"]:
            from ledger.cli.what_if.main import app

            app(sys.argv[2:], prog_name="ledger what-if")
        case _:
            from ledger.cli.commands import app

            app()


if __name__ == "__main__":
    main()
