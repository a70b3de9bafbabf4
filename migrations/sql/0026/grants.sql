-- Who may do what. Whoever has a duty reads every table of this schema, and writes what is named below. Its views are
-- not for them: others look through these.
DO $$
DECLARE one regclass;
BEGIN
  FOR one IN SELECT c.oid FROM pg_class c
              WHERE c.relnamespace = 'ledger'::regnamespace AND c.relkind IN ('r', 'p') LOOP
    EXECUTE format('REVOKE ALL ON %s FROM PUBLIC', one);
    EXECUTE format('GRANT SELECT ON %s'
                   ' TO ledger_maintainer, ledger_writer, ledger_decider, ledger_publisher, ledger_signer', one);
  END LOOP;
END
$$
;;
GRANT USAGE ON SCHEMA ledger TO ledger_maintainer, ledger_writer, ledger_decider, ledger_publisher, ledger_signer
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
    ledger.decisions, ledger.decided, ledger.divisions, ledger.deployments, ledger.bindings, ledger.disk_placements,
    ledger.task_moves, ledger.ended_refusals, ledger.ended_incidents, ledger.ended_proposals,
    ledger.snapshots, ledger.snapshot_parts, ledger.admission_answers, ledger.leases
  TO ledger_decider
;;
-- How things stand is changed in place; what gave way is history.
GRANT INSERT, UPDATE, DELETE ON
    ledger.placements, ledger.placed_by, ledger.running_tasks, ledger.fair_shares, ledger.namespace_weights,
    ledger.shared_totals, ledger.open_refusals, ledger.open_incidents, ledger.node_books, ledger.disk_books,
    ledger.job_books, ledger.queue_books, ledger.standbys
  TO ledger_decider
;;
GRANT INSERT ON
    ledger.past_placements, ledger.past_placed_by, ledger.past_running_tasks, ledger.past_fair_shares,
    ledger.past_namespace_weights, ledger.past_shared_totals, ledger.past_open_refusals, ledger.past_open_incidents,
    ledger.past_disk_books, ledger.past_job_books, ledger.past_queue_books
  TO ledger_decider
;;
GRANT UPDATE ON ledger.leases TO ledger_decider, ledger_publisher
;;
GRANT DELETE ON ledger.snapshot_parts TO ledger_decider
;;
GRANT INSERT ON ledger.published, ledger.leases TO ledger_publisher
;;
GRANT INSERT ON ledger.checkpoints TO ledger_signer
;;
-- Whoever remembers more of a log than is there stops its fleet.
GRANT INSERT ON ledger.fleet_stops TO ledger_writer, ledger_decider, ledger_publisher, ledger_signer
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
-- Functions that run with the owner's rights are for those who need them, not for PUBLIC.
REVOKE EXECUTE ON ALL ROUTINES IN SCHEMA ledger FROM PUBLIC
;;
GRANT EXECUTE ON FUNCTION ledger.lock_tree(integer, text) TO ledger_writer, ledger_decider
;;
GRANT EXECUTE ON FUNCTION
    ledger.open_epoch(text, integer, text), ledger.claim_partition(text, integer, bigint), ledger.check_receipt(),
    ledger.newest_receipt(text, integer),
    ledger.open_incarnation(integer, integer, bigint, bigint, text, bytea, smallint),
    ledger.is_recovered_behind(text, text, integer), ledger.is_recovered(text, integer)
  TO ledger_writer
;;
GRANT EXECUTE ON FUNCTION ledger.positions_per_partition()
  TO ledger_maintainer, ledger_writer, ledger_decider
;;
GRANT EXECUTE ON FUNCTION
    ledger.has_partition(bigint), ledger.make_partition(bigint), ledger.adopt_default(), ledger.detach_partition(bigint)
  TO ledger_maintainer
;;
-- What everybody sees.
GRANT USAGE ON SCHEMA ledger_api
  TO ledger_reader, ledger_maintainer, ledger_writer, ledger_decider, ledger_publisher, ledger_signer
;;
GRANT SELECT ON ALL TABLES IN SCHEMA ledger_api
  TO ledger_reader, ledger_maintainer, ledger_writer, ledger_decider, ledger_publisher, ledger_signer
;;
REVOKE EXECUTE ON ALL ROUTINES IN SCHEMA ledger_api FROM PUBLIC
;;
GRANT EXECUTE ON ALL ROUTINES IN SCHEMA ledger_api
  TO ledger_reader, ledger_maintainer, ledger_writer, ledger_decider, ledger_publisher, ledger_signer
;;
-- What views and functions of ledger_api look at and call with the rights of whoever asks. Readers have no right to use
-- the schema, so they cannot name it.
GRANT SELECT ON
    ledger.seen_fleets, ledger.decided_over_time, ledger.heads_over_time, ledger.incarnations_over_time,
    ledger.placements_over_time, ledger.placed_by_over_time, ledger.running_tasks_over_time,
    ledger.fair_shares_over_time, ledger.namespace_weights_over_time, ledger.shared_totals_over_time,
    ledger.open_refusals_over_time, ledger.open_incidents_over_time, ledger.disk_books_over_time,
    ledger.job_books_over_time, ledger.queue_books_over_time
  TO ledger_reader, ledger_maintainer, ledger_writer, ledger_decider, ledger_publisher, ledger_signer
;;
GRANT EXECUTE ON FUNCTION
    ledger.micros(timestamptz), ledger.moment(bigint),
    ledger.forks_before(bigint), ledger.forks_behind(bigint), ledger.last_by(text, timestamptz),
    ledger.decided_at(text, timestamptz), ledger.is_decided(text, bigint),
    ledger.refuse_undecided(text, bigint, bigint), ledger.refuse_fleet(text),
    ledger.exact_share(numeric, numeric), ledger.whole_of(numeric, numeric, numeric),
    ledger.of_whole(text, numeric, numeric, numeric, numeric)
  TO ledger_reader, ledger_maintainer, ledger_writer, ledger_decider, ledger_publisher, ledger_signer
;;
