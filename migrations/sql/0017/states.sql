-- A row of how things stand gives way to another one of the same key again and again. It is changed in its
-- place, and where its page has room no index hears of it: so half of each new page is left free.
DO $$
DECLARE state text;
BEGIN
  FOREACH state IN ARRAY ARRAY['placements', 'running_tasks', 'fair_shares', 'open_refusals',
                               'disk_books', 'job_books', 'queue_books', 'node_books'] LOOP
    EXECUTE format('GRANT UPDATE ON ledger.%I TO ledger_decider', state);
    EXECUTE format('ALTER TABLE ledger.%I SET (fillfactor = 50)', state);
  END LOOP;
END
$$
;;
-- Deciders look for rows by their keys, which begin with the fleet. Where little is known of a table, another
-- index that begins with it would do as well to the planner, and that is settled for longer than it is true.
DROP INDEX ledger.placements_by_node
;;
CREATE INDEX placements_by_node ON ledger.placements (cluster, (nullif(node, '')), fleet)
;;
DROP INDEX ledger.running_tasks_by_node
;;
CREATE INDEX running_tasks_by_node ON ledger.running_tasks (cluster, node, fleet)
;;
ALTER TABLE ledger.open_refusals
  DROP CONSTRAINT open_refusals_fleet_number_key,
  ADD CONSTRAINT open_refusals_number_key UNIQUE (number, fleet)
