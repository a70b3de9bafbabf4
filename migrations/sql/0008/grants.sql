GRANT SELECT ON ledger.node_books
  TO ledger_maintainer, ledger_writer, ledger_decider, ledger_publisher, ledger_signer
;;
GRANT INSERT, DELETE ON ledger.node_books TO ledger_decider
;;
GRANT SELECT ON ledger_api.node_books, ledger_api.conservation
  TO ledger_reader, ledger_maintainer, ledger_writer, ledger_decider, ledger_publisher, ledger_signer
