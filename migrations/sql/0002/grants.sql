GRANT SELECT ON ledger.standbys, ledger.open_refusals
  TO ledger_maintainer, ledger_writer, ledger_decider, ledger_publisher, ledger_signer
;;
GRANT INSERT, UPDATE, DELETE ON ledger.standbys TO ledger_decider
;;
GRANT INSERT, DELETE ON ledger.open_refusals TO ledger_decider
;;
GRANT SELECT ON ledger_api.open_refusals, ledger_api.leases, ledger_api.partitions
  TO ledger_reader, ledger_maintainer, ledger_writer, ledger_decider, ledger_publisher, ledger_signer
;;
