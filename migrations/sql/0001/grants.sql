-- Who may do what. Functions that run with the owner's rights are for those who need them, not for PUBLIC.
REVOKE ALL ON ALL TABLES IN SCHEMA ledger FROM PUBLIC
;;
REVOKE EXECUTE ON ALL ROUTINES IN SCHEMA ledger FROM PUBLIC
;;
GRANT USAGE ON SCHEMA ledger TO ledger_maintainer, ledger_writer, ledger_decider, ledger_publisher, ledger_signer
;;
GRANT SELECT ON ALL TABLES IN SCHEMA ledger
  TO ledger_maintainer, ledger_writer, ledger_decider, ledger_publisher, ledger_signer
;;
GRANT USAGE ON SEQUENCE ledger.fleet_numbers TO ledger_writer
;;
GRANT INSERT ON
    ledger.fleets, ledger.geneses, ledger.incarnations, ledger.append_locks, ledger.heads, ledger.tile_hashes,
    ledger.events, ledger.event_identity, ledger.admission_answers,
    ledger.receipts, ledger.partition_pins, ledger.partition_halts, ledger.quarantine, ledger.quarantine_outcomes,
    ledger.source_bindings
  TO ledger_writer
;;
GRANT INSERT ON
    ledger.events, ledger.event_identity, ledger.heads, ledger.tile_hashes, ledger.event_effects,
    ledger.decisions, ledger.decided, ledger.divisions, ledger.placements, ledger.snapshots, ledger.admission_answers,
    ledger.leases
  TO ledger_decider
;;
GRANT UPDATE, DELETE ON ledger.placements TO ledger_decider
;;
GRANT UPDATE ON ledger.leases TO ledger_decider, ledger_publisher
;;
GRANT DELETE ON ledger.snapshots TO ledger_decider
;;
GRANT INSERT ON ledger.published, ledger.leases TO ledger_publisher
;;
GRANT INSERT ON ledger.checkpoints TO ledger_signer
;;
-- Partitions of a partitioned table have grants of their own: a batch is copied straight into its partition.
DO $$
DECLARE part regclass;
BEGIN
  FOR part IN SELECT inhrelid::regclass FROM pg_inherits
               WHERE inhparent IN ('ledger.events'::regclass, 'ledger.event_identity'::regclass) LOOP
    EXECUTE format('GRANT SELECT, INSERT ON %s TO ledger_writer, ledger_decider', part);
  END LOOP;
END
$$
;;
GRANT EXECUTE ON FUNCTION ledger.lock_tree(integer, text) TO ledger_writer, ledger_decider
;;
GRANT EXECUTE ON FUNCTION ledger.open_epoch(text, integer, text), ledger.claim_partition(text, integer, bigint)
  TO ledger_writer
;;
GRANT EXECUTE ON FUNCTION ledger.check_receipt() TO ledger_writer
;;
GRANT EXECUTE ON FUNCTION ledger.micros(timestamptz), ledger.moment(bigint)
  TO ledger_reader, ledger_maintainer, ledger_writer, ledger_decider, ledger_publisher, ledger_signer
;;
GRANT EXECUTE ON FUNCTION ledger.positions_per_partition()
  TO ledger_maintainer, ledger_writer, ledger_decider
;;
GRANT EXECUTE ON FUNCTION
    ledger.has_partition(bigint), ledger.make_partition(bigint), ledger.adopt_default(), ledger.detach_partition(bigint)
  TO ledger_maintainer
;;
GRANT USAGE ON SCHEMA ledger_api
  TO ledger_reader, ledger_maintainer, ledger_writer, ledger_decider, ledger_publisher, ledger_signer
;;
GRANT SELECT ON ALL TABLES IN SCHEMA ledger_api
  TO ledger_reader, ledger_maintainer, ledger_writer, ledger_decider, ledger_publisher, ledger_signer
;;
