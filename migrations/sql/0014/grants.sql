GRANT SELECT ON
    ledger.past_placements, ledger.past_running_tasks, ledger.past_fair_shares, ledger.past_open_refusals,
    ledger.past_disk_books, ledger.past_job_books, ledger.past_queue_books,
    ledger.histories, ledger.fleet_readers
  TO ledger_maintainer, ledger_writer, ledger_decider, ledger_publisher, ledger_signer
;;
GRANT INSERT ON
    ledger.past_placements, ledger.past_running_tasks, ledger.past_fair_shares, ledger.past_open_refusals,
    ledger.past_disk_books, ledger.past_job_books, ledger.past_queue_books
  TO ledger_decider
;;
-- What functions of ledger_api look at. Readers have no right to use the schema, so they cannot name it.
GRANT SELECT ON
    ledger.placements_over_time, ledger.running_tasks_over_time, ledger.fair_shares_over_time,
    ledger.open_refusals_over_time, ledger.disk_books_over_time,
    ledger.job_books_over_time, ledger.queue_books_over_time, ledger.heads_over_time, ledger.incarnations_over_time,
    ledger.histories_over_time, ledger.seen_fleets
  TO ledger_reader, ledger_maintainer, ledger_writer, ledger_decider, ledger_publisher, ledger_signer
;;
GRANT SELECT ON
    ledger_api.job_books, ledger_api.checkpoints, ledger_api.schema_version, ledger_api.steps, ledger_api.movements
  TO ledger_reader, ledger_maintainer, ledger_writer, ledger_decider, ledger_publisher, ledger_signer
;;
REVOKE EXECUTE ON ALL ROUTINES IN SCHEMA ledger_api FROM PUBLIC
;;
GRANT EXECUTE ON ALL ROUTINES IN SCHEMA ledger_api
  TO ledger_reader, ledger_maintainer, ledger_writer, ledger_decider, ledger_publisher, ledger_signer
;;
REVOKE EXECUTE ON FUNCTION ledger.forks_before(bigint), ledger.forks_behind(bigint), ledger.is_kept(text, bigint),
    ledger.refuse_position(text, bigint, bigint) FROM PUBLIC
;;
GRANT EXECUTE ON FUNCTION ledger.forks_before(bigint), ledger.forks_behind(bigint), ledger.is_kept(text, bigint),
    ledger.refuse_position(text, bigint, bigint)
  TO ledger_reader, ledger_maintainer, ledger_writer, ledger_decider, ledger_publisher, ledger_signer
;;
-- No condition of a reader is asked of a row before it is known that the reader may see it.
DO $$
DECLARE view regclass;
BEGIN
  FOR view IN SELECT c.oid FROM pg_class c
               WHERE c.relkind = 'v'
                 AND (c.relnamespace = 'ledger_api'::regnamespace
                      OR c.relnamespace = 'ledger'::regnamespace AND c.relname LIKE '%_over_time') LOOP
    EXECUTE format('ALTER VIEW %s SET (security_barrier = true)', view);
  END LOOP;
END
$$
;;
