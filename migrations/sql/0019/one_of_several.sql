-- Whoever asks names a fleet, and views find its number while they run: a planner that does not know it supposes
-- an equal share of the rows. Of two fleets that is half of them, for which it would read the whole table, the rows
-- of a fleet ten times as large among them. It is to suppose that there are some ten, so that rows are looked up.
DO $$
DECLARE state text;
BEGIN
  FOREACH state IN ARRAY ARRAY['placements', 'running_tasks', 'fair_shares', 'open_refusals',
                               'disk_books', 'job_books', 'queue_books', 'node_books'] LOOP
    EXECUTE format('ALTER TABLE ledger.%I ALTER COLUMN fleet SET (n_distinct = 10)', state);
  END LOOP;
END
$$
