-- Which fleets a role sees, and whoever is a member of it; * is every fleet.
CREATE TABLE ledger.fleet_readers (
  reader     text NOT NULL,
  fleet      text NOT NULL,
  granted_by text NOT NULL DEFAULT session_user,
  granted_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (reader, fleet)
)
;;
INSERT INTO ledger.fleet_readers (reader, fleet)
SELECT role, '*' FROM unnest(ARRAY['ledger_owner', 'ledger_maintainer', 'ledger_writer', 'ledger_decider',
                                   'ledger_publisher', 'ledger_signer', 'ledger_reader']) AS role
;;
-- What was granted to whoever asks: to the role that acts, or a role whose rights it has by membership.
-- One that acts as the bare ledger_reader gave its own rights up by SET ROLE and could take them back: it
-- sees what its login sees.
CREATE VIEW ledger.granted_fleets AS
SELECT g.fleet
  FROM ledger.fleet_readers g
  JOIN pg_catalog.pg_roles r ON r.rolname = g.reader
 WHERE pg_has_role(r.oid, 'USAGE')
    OR current_user = 'ledger_reader' AND pg_has_role(session_user, r.oid, 'MEMBER')
;;
-- The fleets that whoever asks may see. All of ledger_api looks at fleets through this.
CREATE VIEW ledger.seen_fleets AS
SELECT f.number, f.name, f.clock, f.created_at
  FROM ledger.fleets f
 WHERE ARRAY[f.name, '*'] && ARRAY(SELECT fleet FROM ledger.granted_fleets)
;;
CREATE OR REPLACE VIEW ledger_api.quarantine AS
SELECT q.position,
       q.address,
       q.fleet,
       q.reason,
       q.detail,
       q.source,
       q.id,
       q.type,
       q.subject,
       q.topic,
       q.partition,
       CASE WHEN q.channel = 'kafka' THEN q.coordinate END AS kafka_offset,
       q.value,
       q.quarantined_at,
       o.outcome,
       o.released_position
  FROM ledger.quarantine q
  LEFT JOIN ledger.quarantine_outcomes o ON o.quarantined = q.position
 WHERE ARRAY[q.fleet, '_ledger', '*'] && ARRAY(SELECT fleet FROM ledger.granted_fleets)
;;
CREATE OR REPLACE VIEW ledger_api.partitions AS
SELECT l.topic,
       l.partition,
       r.next AS next_offset,
       coalesce(h.halted, false) AS halted,
       CASE WHEN h.halted THEN h.reason END AS reason,
       CASE WHEN h.halted THEN h.detail END AS detail,
       CASE WHEN h.halted THEN h.at END AS halted_at
  FROM ledger.partition_locks l
  LEFT JOIN LATERAL (SELECT x.next FROM ledger.receipts x
                      WHERE x.topic = l.topic AND x.partition = l.partition
                      ORDER BY x.number DESC LIMIT 1) r ON true
  LEFT JOIN LATERAL (SELECT x.halted, x.reason, x.detail, x.at FROM ledger.partition_halts x
                      WHERE x.topic = l.topic AND x.partition = l.partition
                      ORDER BY x.number DESC LIMIT 1) h ON true
 WHERE ARRAY['_ledger', '*'] && ARRAY(SELECT fleet FROM ledger.granted_fleets)
;;
