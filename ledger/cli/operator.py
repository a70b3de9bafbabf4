"""Who gives a command, for what is recorded of it."""

import getpass
import os


def operator() -> str:
    """The name of the user; in a container, whose users may have none, the number."""
    try:
        return getpass.getuser()
    except (KeyError, ImportError, OSError):
        return f"uid {os.getuid()}"
