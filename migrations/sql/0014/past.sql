-- From which position on what was in force is known whole, for fleets that were decided for before it was kept.
CREATE TABLE ledger.histories (
  fleet integer PRIMARY KEY,
  first bigint NOT NULL
)
;;
INSERT INTO ledger.histories (fleet, first)
SELECT fleet, max(through) FROM ledger.decided GROUP BY fleet
;;
CALL ledger.protect('ledger.histories')
;;
-- What a current view shows stands in its row: it looks at no decision, however many there were.
ALTER TABLE ledger.running_tasks
  ADD COLUMN cpu numeric NOT NULL DEFAULT 0,
  ADD COLUMN memory numeric NOT NULL DEFAULT 0,
  ADD COLUMN storage numeric NOT NULL DEFAULT 0
;;
ALTER TABLE ledger.open_refusals
  ADD COLUMN reason text NOT NULL DEFAULT '',
  ADD COLUMN waits_for text NOT NULL DEFAULT ''
;;
-- Beside each table that says how things are one of the same rows as they were: from a position on, until
-- another one. Both are of the same kind; LIKE keeps them so.
--
-- Which rows held at a position is found by `fork`: of all places in the span of a row the one that is
-- divisible by the highest power of two. A position lies in spans of few forks, one for each power of two;
-- ledger.forks_before and ledger.forks_behind have them.
--
-- Nodes are not among them: a node's page turns with nearly every report, and is not small.
DO $$
DECLARE now text;
BEGIN
  FOREACH now IN ARRAY ARRAY['placements', 'running_tasks', 'fair_shares', 'open_refusals',
                             'disk_books', 'job_books', 'queue_books'] LOOP
    EXECUTE format('ALTER TABLE ledger.%I ADD COLUMN from_position bigint NOT NULL DEFAULT 0', now);
    EXECUTE format('CREATE TABLE ledger.%I (LIKE ledger.%I INCLUDING DEFAULTS,'
                   ' until_position bigint NOT NULL, fork bigint NOT NULL)', 'past_' || now, now);
    EXECUTE format('CREATE INDEX %I ON ledger.%I (fleet, fork, until_position, from_position)',
                   'past_' || now || '_by_fork', 'past_' || now);
    EXECUTE format('CALL ledger.protect(%L)', 'ledger.past_' || now);
  END LOOP;
END
$$
;;
-- Asked for is a subject, of whatever kind; or a node, which the views call null where there is none.
ALTER TABLE ledger.placements
  DROP CONSTRAINT placements_pkey,
  ADD CONSTRAINT placements_pkey PRIMARY KEY (fleet, subject, kind, cluster, node, disk)
;;
DROP INDEX ledger.placements_by_cluster
;;
CREATE INDEX placements_by_node ON ledger.placements (fleet, cluster, (nullif(node, '')))
;;
CREATE INDEX past_placements_by_subject ON ledger.past_placements (fleet, subject, from_position)
;;
UPDATE ledger.running_tasks t
   SET cpu = (d.result #>> '{request,cpu}')::numeric,
       memory = (d.result #>> '{request,memory}')::numeric,
       storage = (d.result #>> '{request,storage}')::numeric,
       from_position = d.position
  FROM ledger.decisions d
 WHERE d.fleet = t.fleet AND d.number = t.number
;;
UPDATE ledger.open_refusals o
   SET reason = d.result ->> 'reason', waits_for = d.result ->> 'waits_for', from_position = d.position
  FROM ledger.decisions d
 WHERE d.fleet = o.fleet AND d.number = o.number
;;
CREATE INDEX decisions_of_refusals ON ledger.decisions (fleet, number) WHERE kind = 'refusal'
;;
CREATE INDEX decisions_of_proposals ON ledger.decisions (fleet, number) WHERE kind = 'proposal'
;;
-- Positions are counted from 1 here, so that each has a lowest bit.
CREATE FUNCTION ledger.forks_before(at bigint) RETURNS bigint[]
  LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
  RETURN ARRAY(SELECT ((at + 1) >> bit) << bit FROM generate_series(0, 61) AS bit
                WHERE ((at + 1) >> bit) & 1 = 1 ORDER BY bit)
;;
CREATE FUNCTION ledger.forks_behind(at bigint) RETURNS bigint[]
  LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
  RETURN ARRAY(SELECT (((at + 1) >> bit) | 1) << bit FROM generate_series(0, 61) AS bit
                WHERE ((at + 1) >> bit) & 1 = 0 ORDER BY bit)
;;
