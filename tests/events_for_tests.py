"""Small, valid events for tests that need some and do not care which."""

import json


def cluster_line(number: int, *, fleet: str = "test", **changes: object) -> bytes:
    """A cluster's upsert as a line; ``changes`` replace attributes of the envelope."""
    name = f"c{number}"
    event: dict[str, object] = {
        "specversion": "1.0",
        "id": f"cluster-{number}",
        "source": "/tests",
        "type": "ledger.cluster.cluster.upserted.v1",
        "subject": name,
        "time": f"2026-01-05T08:{number // 60 % 60:02d}:{number % 60:02d}Z",
        "fleet": fleet,
        "data": {"name": name, "region": "r", "zone": "z"},
    }
    return json.dumps(event | changes).encode()


def workload_line(
    number: int, *, replicas: int, fleet: str = "test", name: str = "cart", **division: object
) -> bytes:
    """A workload's upsert as a line, divided statically over the clusters of ``weights``."""
    event = {
        "specversion": "1.0",
        "id": f"workload-{number}",
        "source": "/tests",
        "type": "ledger.workload.workload.upserted.v1",
        "subject": f"shop/{name}",
        "time": f"2026-01-05T09:{number // 60 % 60:02d}:{number % 60:02d}Z",
        "fleet": fleet,
        "data": {
            "namespace": "shop",
            "name": name,
            "uid": f"uid-{name}",
            "kind": "Deployment",
            "replicas": replicas,
            "division": {"strategy": "static", **division},
        },
    }
    return json.dumps(event).encode()


def policy_line(number: int, *, fleet: str = "test", **settings: object) -> bytes:
    """A policy as a line."""
    event = {
        "specversion": "1.0",
        "id": f"policy-{number}",
        "source": "/tests",
        "type": "ledger.policy.policy.changed.v1",
        "subject": fleet,
        "time": f"2026-01-05T10:{number // 60 % 60:02d}:{number % 60:02d}Z",
        "fleet": fleet,
        "data": settings,
    }
    return json.dumps(event).encode()
