"""The log in Postgres: one gapless order per fleet, identity, receipts, two Merkle trees."""
