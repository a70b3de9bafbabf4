GRANT SELECT ON ledger.snapshots, ledger.snapshot_parts
  TO ledger_maintainer, ledger_writer, ledger_decider, ledger_publisher, ledger_signer
;;
GRANT INSERT ON ledger.snapshots, ledger.snapshot_parts TO ledger_decider
;;
GRANT DELETE ON ledger.snapshot_parts TO ledger_decider
;;
GRANT SELECT ON ledger_api.snapshots
  TO ledger_reader, ledger_maintainer, ledger_writer, ledger_decider, ledger_publisher, ledger_signer
