-- What is taken apart here is not written meanwhile.
LOCK TABLE ledger.placements, ledger.past_placements IN SHARE ROW EXCLUSIVE MODE
;;
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
-- The place between two positions that is divisible by the highest power of two, counted from 1: as whoever writes
-- such rows works it out. The highest bit in which they differ is the first one of their difference as text.
CREATE FUNCTION ledger.fork_of(first bigint, behind bigint) RETURNS bigint
  LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
  RETURN CASE WHEN first + 1 = behind THEN behind
              ELSE (behind >> (64 - position('1' IN ((first + 1) # behind)::bit(64)::text)))
                   << (64 - position('1' IN ((first + 1) # behind)::bit(64)::text)) END
;;
CREATE TABLE ledger.past_placed_by (LIKE ledger.placed_by, until_position bigint NOT NULL, fork bigint NOT NULL)
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
CREATE INDEX past_placed_by_by_fork ON ledger.past_placed_by (fleet, fork, until_position, from_position)
;;
CREATE INDEX past_placed_by_by_subject ON ledger.past_placed_by (fleet, subject, from_position)
;;
CALL ledger.protect('ledger.past_placed_by')
;;
GRANT SELECT ON ledger.placed_by, ledger.past_placed_by
  TO ledger_maintainer, ledger_writer, ledger_decider, ledger_publisher, ledger_signer
;;
GRANT INSERT ON ledger.placed_by, ledger.past_placed_by TO ledger_decider
;;
GRANT UPDATE, DELETE ON ledger.placed_by TO ledger_decider
