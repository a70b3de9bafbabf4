GRANT SELECT ON ledger.deployments, ledger.bindings, ledger.ended_refusals
  TO ledger_maintainer, ledger_writer, ledger_decider, ledger_publisher, ledger_signer
;;
GRANT INSERT ON ledger.deployments, ledger.bindings, ledger.ended_refusals TO ledger_decider
;;
GRANT SELECT ON ledger_api.deployments, ledger_api.bindings, ledger_api.capacity_classes, ledger_api.candidates
  TO ledger_reader, ledger_maintainer, ledger_writer, ledger_decider, ledger_publisher, ledger_signer
