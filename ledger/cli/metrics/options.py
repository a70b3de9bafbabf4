"""The options by which a command is told where to serve its metrics."""

from typing import Annotated, Final

import typer

LOOPBACK: Final = "127.0.0.1"

MetricsPort = Annotated[
    int | None,
    typer.Option(
        "--metrics-port",
        envvar="LEDGER_METRICS_PORT",
        min=0,
        max=65535,
        help="Serve metrics for Prometheus here, at /metrics; 0 is any free port, which is printed."
        " docs/metrics.md says what each means.",
        show_default=False,
        rich_help_panel="Monitoring",
    ),
]

MetricsAddress = Annotated[
    str,
    typer.Option(
        "--metrics-address",
        envvar="LEDGER_METRICS_ADDRESS",
        help="The address to serve them on; 0.0.0.0 lets other machines ask, without a password.",
        rich_help_panel="Monitoring",
    ),
]
