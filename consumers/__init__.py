"""Kafka in and out: topics into the log, decisions and dead letters out of it."""
