"""The words every room shares: names and whole-number quantities.

Two integers that mean different things never share a type here, so that handing a position where
a decision number belongs is a type error and not an incident. Nothing in this module computes;
arithmetic lives where its rule is written down (``ledger.core``), and Kubernetes quantities are
read at the border (``ledger.events.quantities``).
"""

from typing import Final, NewType

FleetName = NewType("FleetName", str)
ClusterName = NewType("ClusterName", str)
NodeName = NewType("NodeName", str)
Subject = NewType("Subject", str)
"""The key of the object an event or a decision speaks of, as docs/events.md spells it."""
EventType = NewType("EventType", str)
Uid = NewType("Uid", str)
"""Which incarnation of a named object: the same name with another uid is another object."""

Position = NewType("Position", int)
"""A place in a fleet's event log, from 0, without gaps."""
DecisionNumber = NewType("DecisionNumber", int)
"""A place in a fleet's sequence of decisions, from 0, without gaps."""
Incarnation = NewType("Incarnation", int)
"""Which life of a log: opened anew only after a restore to an earlier point."""
Epoch = NewType("Epoch", int)
"""A fencing number: whoever holds a lower one than the newest has been replaced."""
Offset = NewType("Offset", int)
"""A place in a Kafka partition."""

Microseconds = NewType("Microseconds", int)
"""A moment of fleet time: microseconds since 1970-01-01T00:00:00Z."""
Milliseconds = NewType("Milliseconds", int)
"""A span of fleet time."""

Replicas = NewType("Replicas", int)
Weight = NewType("Weight", int)
CpuMilli = NewType("CpuMilli", int)
Bytes = NewType("Bytes", int)

LARGEST_WHOLE_NUMBER: Final = 2**63 - 1
"""The largest number an event may carry: what Postgres, Go and Java all hold in one integer."""

LEDGER_FLEET: Final = FleetName("_ledger")
"""The reserved fleet of the ledger's own records; its name is no DNS label, so nobody can claim it."""
