GRANT SELECT ON ledger.task_moves, ledger.fair_shares
  TO ledger_maintainer, ledger_writer, ledger_decider, ledger_publisher, ledger_signer
;;
GRANT INSERT ON ledger.task_moves TO ledger_decider
;;
GRANT INSERT, DELETE ON ledger.fair_shares TO ledger_decider
;;
GRANT SELECT ON ledger_api.allocations, ledger_api.evictions, ledger_api.fair_shares
  TO ledger_reader, ledger_maintainer, ledger_writer, ledger_decider, ledger_publisher, ledger_signer
