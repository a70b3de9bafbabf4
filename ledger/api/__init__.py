"""HTTP: the way in for clusters without Kafka, and the way to read for whoever has no SQL."""
