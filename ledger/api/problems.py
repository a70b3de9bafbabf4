"""What is said to whoever asks for something that cannot be had: one form for all (RFC 9457).

``code`` is for programs and does not change: the contract's own reasons (docs/errors.md) where a
message is at fault, and the words below where the request is. ``detail`` is for people.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Final, Literal

import orjson

from ledger.errors import InvalidReason

RequestCode = Literal[
    "unauthenticated",
    "wrong_role",
    "wrong_fleet",
    "wrong_cluster",
    "unknown_route",
    "wrong_method",
    "unknown_fleet",
    "unknown_decision",
    "unknown_message",
    "unknown_subject",
    "unknown_job",
    "ambiguous",
    "invalid_parameter",
    "invalid_cursor",
    "invalid_review",
    "unsupported_mode",
    "empty_batch",
    "batch_too_long",
    "too_large",
    "too_slow",
    "not_settled",
    "backlog",
    "busy",
    "draining",
    "fleet_stopped",
    "log_unavailable",
    "internal",
]
Code = RequestCode | InvalidReason

MEDIA_TYPE: Final = "application/problem+json"


@dataclass(slots=True)
class Problem(Exception):
    """Raised where a request ends without what it asked for."""

    status: HTTPStatus
    code: Code
    detail: str
    headers: Mapping[str, str] = field(default_factory=dict)

    def body(self) -> bytes:
        """As it is sent."""
        return orjson.dumps(
            {
                "type": f"urn:ledger:problem:{self.code}",
                "title": self.status.phrase,
                "status": int(self.status),
                "code": self.code,
                "detail": self.detail,
            }
        )


def again_after(seconds: int) -> Mapping[str, str]:
    """The header that says when to come back."""
    return {"Retry-After": str(seconds)}
