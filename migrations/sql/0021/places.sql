-- Since when a place has its count is since when its row holds, now that nothing else is in it.
UPDATE ledger.placements SET from_position = since_position WHERE from_position <> since_position
;;
-- The past of places, by another name until the former one is let go.
CREATE TABLE ledger.past_places (
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
INSERT INTO ledger.past_places
  (fleet, kind, subject, cluster, node, disk, count, from_position, until_position, fork)
SELECT p.fleet, p.kind, p.subject, p.cluster, p.node, p.disk, p.count, p.since_position, p.until_position,
       ledger.fork_of(p.since_position, p.until_position)
  FROM (SELECT fleet, kind, subject, cluster, node, disk, count, since_position,
               max(until_position) AS until_position
          FROM ledger.past_placements
         GROUP BY fleet, kind, subject, cluster, node, disk, count, since_position) p
 WHERE NOT EXISTS (SELECT FROM ledger.placements n
                    WHERE (n.fleet, n.kind, n.subject, n.cluster, n.node, n.disk, n.count, n.since_position)
                        = (p.fleet, p.kind, p.subject, p.cluster, p.node, p.disk, p.count, p.since_position))
;;
DROP FUNCTION ledger.fork_of(bigint, bigint)
;;
CREATE INDEX past_places_by_fork ON ledger.past_places (fleet, fork, until_position, from_position)
;;
CREATE INDEX past_places_by_subject ON ledger.past_places (fleet, subject, from_position)
;;
CALL ledger.protect('ledger.past_places')
;;
GRANT SELECT ON ledger.past_places
  TO ledger_maintainer, ledger_writer, ledger_decider, ledger_publisher, ledger_signer
;;
GRANT INSERT ON ledger.past_places TO ledger_decider
