-- What looks at the past sees through to its columns: it is taken away with them, and made again below.
CREATE OR REPLACE FUNCTION ledger_api.placements_as_of(fleet text, "position" bigint)
  RETURNS SETOF ledger_api.placements
  LANGUAGE sql STABLE
  BEGIN ATOMIC
    SELECT p.* FROM ledger_api.placements p WHERE false;
  END
;;
DROP VIEW ledger.placements_over_time
;;
DROP TABLE ledger.past_placements
;;
CREATE TABLE ledger.past_placements (
  fleet integer NOT NULL,
  kind text NOT NULL,
  subject text NOT NULL,
  cluster text NOT NULL,
  node text NOT NULL DEFAULT '',
  disk text NOT NULL DEFAULT '',
  count bigint NOT NULL,
  from_position bigint NOT NULL,
  until_position bigint NOT NULL,
  fork bigint NOT NULL
)
;;
INSERT INTO ledger.past_placements
  (fleet, kind, subject, cluster, node, disk, count, from_position, until_position, fork)
SELECT p.fleet, p.kind, p.subject, p.cluster, p.node, p.disk, p.count, p.since_position, p.until_position,
       ledger.fork_of(p.since_position, p.until_position)
  FROM (SELECT fleet, kind, subject, cluster, node, disk, count, since_position,
               max(until_position) AS until_position
          FROM ledger.former_placements
         GROUP BY fleet, kind, subject, cluster, node, disk, count, since_position) p
 WHERE NOT EXISTS (SELECT FROM ledger.placements n
                    WHERE (n.fleet, n.kind, n.subject, n.cluster, n.node, n.disk, n.count, n.since_position)
                        = (p.fleet, p.kind, p.subject, p.cluster, p.node, p.disk, p.count, p.since_position))
;;
DROP FUNCTION ledger.fork_of(bigint, bigint)
;;
CREATE INDEX past_placements_by_fork ON ledger.past_placements (fleet, fork, until_position, from_position)
;;
CREATE INDEX past_placements_by_subject ON ledger.past_placements (fleet, subject, from_position)
;;
CREATE INDEX past_placed_by_by_fork ON ledger.past_placed_by (fleet, fork, until_position, from_position)
;;
CREATE INDEX past_placed_by_by_subject ON ledger.past_placed_by (fleet, subject, from_position)
;;
CALL ledger.protect('ledger.past_placements')
;;
CALL ledger.protect('ledger.past_placed_by')
;;
GRANT SELECT ON ledger.placed_by, ledger.past_placed_by, ledger.past_placements
  TO ledger_maintainer, ledger_writer, ledger_decider, ledger_publisher, ledger_signer
;;
GRANT INSERT ON ledger.placed_by, ledger.past_placed_by, ledger.past_placements TO ledger_decider
;;
GRANT UPDATE, DELETE ON ledger.placed_by TO ledger_decider
