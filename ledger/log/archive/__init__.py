"""Archives: ranges of a fleet's log as files that need no database."""
