-- What the tables have in common that say how things stand, and the past of each.
--
-- A row gives way to another one of the same key again and again. It is changed in its place, and where its page has
-- room no index hears of it: so half of each new page is left free.
--
-- Whoever asks names a fleet, and views find its number while they run: a planner that does not know it supposes
-- an equal share of the rows. Of two fleets that is half of them, for which it would read the whole table, the rows
-- of a fleet ten times as large among them. It is to suppose that there are some ten, so that rows are looked up.
DO $$
DECLARE state text;
BEGIN
  FOREACH state IN ARRAY ARRAY['placements', 'placed_by', 'running_tasks', 'fair_shares', 'namespace_weights',
                               'shared_totals', 'open_refusals', 'open_incidents', 'disk_books', 'job_books',
                               'queue_books', 'node_books'] LOOP
    EXECUTE format('ALTER TABLE ledger.%I SET (fillfactor = 50)', state);
    EXECUTE format('ALTER TABLE ledger.%I ALTER COLUMN fleet SET (n_distinct = 10)', state);
  END LOOP;
END
$$
;;
-- Beside each table that says how things are one of the same rows as they were: from a position on, until
-- another one. Both are of the same kind; LIKE keeps them so. What was in force is known of every fleet from its
-- beginning on: no row says that it is not, so that none can keep anybody from looking.
--
-- Which rows held at a position is found by `fork`: of all places in the span of a row the one that is
-- divisible by the highest power of two. A position lies in spans of few forks, one for each power of two;
-- ledger.forks_before and ledger.forks_behind have them.
--
-- Nodes are not among them: a node's page turns with nearly every report, and is not small. Nor are places, which
-- have their table below.
DO $$
DECLARE now text;
BEGIN
  FOREACH now IN ARRAY ARRAY['placed_by', 'running_tasks', 'fair_shares', 'namespace_weights', 'shared_totals',
                             'open_refusals', 'open_incidents', 'disk_books', 'job_books', 'queue_books'] LOOP
    EXECUTE format('CREATE TABLE ledger.%I (LIKE ledger.%I INCLUDING DEFAULTS,'
                   ' until_position bigint NOT NULL, fork bigint NOT NULL)', 'past_' || now, now);
    EXECUTE format('CREATE INDEX %I ON ledger.%I (fleet, fork, until_position, from_position)',
                   'past_' || now || '_by_fork', 'past_' || now);
    EXECUTE format('CALL ledger.protect(%L)', 'ledger.past_' || now);
  END LOOP;
END
$$
;;
-- The past of places, after which its constraints are named. Which decision placed them stands in that of placed_by.
CREATE TABLE ledger.past_placements (
  fleet          integer CONSTRAINT past_places_fleet_not_null NOT NULL,
  kind           text CONSTRAINT past_places_kind_not_null NOT NULL,
  subject        text CONSTRAINT past_places_subject_not_null NOT NULL,
  cluster        text CONSTRAINT past_places_cluster_not_null NOT NULL,
  node           text CONSTRAINT past_places_node_not_null NOT NULL DEFAULT '',
  disk           text CONSTRAINT past_places_disk_not_null NOT NULL DEFAULT '',
  count          bigint CONSTRAINT past_places_count_not_null NOT NULL,
  from_position  bigint CONSTRAINT past_places_from_position_not_null NOT NULL,
  until_position bigint CONSTRAINT past_places_until_position_not_null NOT NULL,
  fork           bigint CONSTRAINT past_places_fork_not_null NOT NULL
)
;;
CREATE INDEX past_placements_by_fork ON ledger.past_placements (fleet, fork, until_position, from_position)
;;
CALL ledger.protect('ledger.past_placements')
;;
-- What was in force for a subject, one answer after the other, is asked for by its name.
CREATE INDEX past_placements_by_subject ON ledger.past_placements (fleet, subject, from_position)
;;
CREATE INDEX past_placed_by_by_subject ON ledger.past_placed_by (fleet, subject, from_position)
;;
