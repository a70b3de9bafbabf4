"""What the group says is ours."""

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.abc import ConsumerRebalanceListener


class Assignment(ConsumerRebalanceListener):  # type: ignore[misc]  # aiokafka is untyped
    """Notes what the group assigns, and pauses it: nothing is read before somebody says from where.

    Whoever reads the notes acts on them. A callback that failed would only be logged by aiokafka.
    """

    def __init__(self, client: AIOKafkaConsumer) -> None:
        """Nothing is assigned yet."""
        self._client = client
        self.generation = 0
        """Another number for every other assignment."""
        self.partitions: frozenset[TopicPartition] = frozenset()

    def on_partitions_revoked(self, _revoked: object) -> None:
        """Note that nothing is ours until the group has agreed again."""
        self.generation += 1
        self.partitions = frozenset()

    def on_partitions_assigned(self, assigned: frozenset[TopicPartition]) -> None:
        """Note what is."""
        self.generation += 1
        self.partitions = frozenset(assigned)
        self._client.pause(*assigned)
