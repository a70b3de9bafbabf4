"""What people see with SQL: projections, and the documented views of ``ledger_api``."""
