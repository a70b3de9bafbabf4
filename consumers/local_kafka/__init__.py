"""A real Apache Kafka as child processes, where there is no Docker and no cluster to borrow."""
