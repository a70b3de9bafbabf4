"""What can be set about Kafka from outside: environment variables that begin with ``LEDGER_``.

docs/operating-kafka.md lists them; a test holds the list and this class together.
"""

from pathlib import Path
from typing import Any, Literal

from pydantic import Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from ledger.errors import SetupProblem


class Settings(BaseSettings):
    """How to reach Kafka, and how the consumers and the publisher behave."""

    model_config = SettingsConfigDict(
        env_prefix="LEDGER_", extra="ignore", frozen=True, use_attribute_docstrings=True
    )

    kafka_bootstrap: str = "localhost:9092"
    """Brokers to ask first, as host:port, separated by commas."""
    kafka_group: str = "ledger"
    """The consumer group. Offsets do not live in it: it only shares partitions out."""
    kafka_topic_prefix: str = "ledger."
    """What the names of all topics begin with."""
    kafka_security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = "PLAINTEXT"
    """How connections are protected."""
    kafka_ca_file: Path | None = None
    """Certificates of the authorities that vouch for the brokers (PEM); the system's own without."""
    kafka_certificate_file: Path | None = None
    """Our certificate, where brokers ask for one (PEM)."""
    kafka_key_file: Path | None = None
    """The key of our certificate (PEM); without, it is looked for beside the certificate."""
    kafka_sasl_mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] = "SCRAM-SHA-512"
    """How we say who we are, where the protocol is one of the SASL ones."""
    kafka_sasl_user: str | None = None
    """Our name there."""
    kafka_sasl_password: SecretStr | None = None
    """Our password there."""
    kafka_session_ms: int = Field(default=10_000, ge=1_000, le=1_800_000)
    """How long a silent consumer keeps its partitions: the longest pause after a kill -9."""
    kafka_batch: int = Field(default=5_000, ge=1, le=100_000)
    """The most messages in one transaction."""
    kafka_stall_seconds: float = Field(default=60, gt=0)
    """How long a client may make no progress while there is something to read."""
    fleet_create: Literal["auto", "never"] = "never"
    """Whether the first event that names a fleet opens it, or goes to quarantine."""
    undecided_limit: int = Field(default=20_000, ge=0)
    """Partitions wait while a fleet they feed has more undecided events than this; 0 for never."""

    def __init__(self, **given: Any) -> None:
        """Read the environment; ``given`` goes before it. SetupProblem where something is wrong."""
        try:
            super().__init__(**given)
        except ValidationError as error:
            wrong = (
                f"LEDGER_{'.'.join(map(str, one['loc'])).upper()}: {one['msg']}"
                for one in error.errors(include_url=False, include_input=False)
            )
            raise SetupProblem("; ".join(wrong)) from error
