GRANT SELECT ON ledger.fleet_stops
  TO ledger_maintainer, ledger_writer, ledger_decider, ledger_publisher, ledger_signer
;;
GRANT INSERT ON ledger.fleet_stops TO ledger_writer, ledger_decider, ledger_publisher, ledger_signer
;;
REVOKE EXECUTE ON FUNCTION
    ledger.open_incarnation(integer, integer, bigint, bigint, text, bytea, smallint),
    ledger.newest_receipt(text, integer), ledger.pinned(text),
    ledger.is_recovered_behind(text, text, integer), ledger.is_recovered(text, integer) FROM PUBLIC
;;
GRANT EXECUTE ON FUNCTION
    ledger.open_incarnation(integer, integer, bigint, bigint, text, bytea, smallint),
    ledger.newest_receipt(text, integer), ledger.is_recovered_behind(text, text, integer),
    ledger.is_recovered(text, integer) TO ledger_writer
;;
GRANT SELECT ON ledger_api.stops
  TO ledger_reader, ledger_maintainer, ledger_writer, ledger_decider, ledger_publisher, ledger_signer
;;
