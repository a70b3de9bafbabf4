"""From bytes to facts: what may enter the log, and how it is read back out of it."""
