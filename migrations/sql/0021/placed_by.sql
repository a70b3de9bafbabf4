-- Which decision says what is in force for a subject: the same one for all its places. It turns with each
-- decision; a place only where its count does.
CREATE TABLE ledger.placed_by (
  fleet integer NOT NULL,
  kind text NOT NULL,
  subject text NOT NULL,
  number bigint NOT NULL,
  from_position bigint NOT NULL,
  PRIMARY KEY (fleet, subject, kind)
) WITH (fillfactor = 50)
;;
ALTER TABLE ledger.placed_by ALTER COLUMN fleet SET (n_distinct = 10)
;;
INSERT INTO ledger.placed_by (fleet, kind, subject, number, from_position)
SELECT p.fleet, p.kind, p.subject, p.number, d.position
  FROM (SELECT DISTINCT fleet, kind, subject, number FROM ledger.placements) p
  JOIN ledger.decisions d ON d.fleet = p.fleet AND d.number = p.number
;;
CREATE TABLE ledger.past_placed_by (LIKE ledger.placed_by, until_position bigint NOT NULL, fork bigint NOT NULL)
;;
-- The place between two positions that is divisible by the highest power of two, counted from 1: as whoever writes
-- such rows works it out.
CREATE FUNCTION ledger.fork_of(from_position bigint, until_position bigint) RETURNS bigint
  LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
  RETURN (SELECT (until_position >> coalesce(max(bit), 0)) << coalesce(max(bit), 0)
            FROM generate_series(0, 62) AS bit
           WHERE ((from_position + 1) # until_position) >> bit > 0)
;;
INSERT INTO ledger.past_placed_by (fleet, kind, subject, number, from_position, until_position, fork)
SELECT p.fleet, p.kind, p.subject, p.number, d.position, p.until_position,
       ledger.fork_of(d.position, p.until_position)
  FROM (SELECT fleet, kind, subject, number, max(until_position) AS until_position
          FROM ledger.past_placements GROUP BY fleet, kind, subject, number) p
  JOIN ledger.decisions d ON d.fleet = p.fleet AND d.number = p.number
 WHERE NOT EXISTS (SELECT FROM ledger.placed_by b
                    WHERE (b.fleet, b.kind, b.subject, b.number) = (p.fleet, p.kind, p.subject, p.number))
;;
-- Since when a place has its count is since when its row holds, now that nothing else is in it.
UPDATE ledger.placements SET from_position = since_position WHERE from_position <> since_position
;;
CREATE TABLE ledger.former_placements AS SELECT * FROM ledger.past_placements
;;
CREATE OR REPLACE VIEW ledger_api.placements WITH (security_barrier = true) AS
SELECT f.name AS fleet,
       p.kind,
       p.subject,
       p.cluster,
       nullif(p.node, '') AS node,
       nullif(p.disk, '') AS disk,
       p.count,
       b.number,
       p.from_position AS since_position
  FROM ledger.placements p
  JOIN ledger.placed_by b ON b.fleet = p.fleet AND b.subject = p.subject AND b.kind = p.kind
  JOIN ledger.seen_fleets f ON f.number = p.fleet
