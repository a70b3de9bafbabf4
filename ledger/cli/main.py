"""The ``ledger`` command, where it begins."""

import sys

from ledger.cli.commands import as_asked


def main() -> None:
    """The console entry point."""
    as_asked(sys.argv[1:])()


if __name__ == "__main__":
    main()
