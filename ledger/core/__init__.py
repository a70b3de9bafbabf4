"""The scheduling systems as pure functions of plain values: no event, no world, no clock."""
