"""Which pods must run on on-demand nodes and which may run on spot nodes: docs/core/spot.md."""
