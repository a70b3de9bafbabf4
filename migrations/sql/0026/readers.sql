-- Which fleets a role sees, and whoever is a member of it; * is every fleet.
CREATE TABLE ledger.fleet_readers (
  reader     text NOT NULL,
  fleet      text NOT NULL,
  granted_by text NOT NULL DEFAULT session_user,
  granted_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (reader, fleet)
)
;;
-- Out of the box every role of the ledger sees every fleet.
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
-- The fleets that whoever asks may see. What people see stands in the schema ledger_api, in each of the next files
-- beside the tables that it looks at; names and columns are a contract (docs/sql.md), base tables are not.
--
-- All of ledger_api looks at fleets through this, and every view of it is a security barrier: no condition of a reader
-- is asked of a row before it is known that the reader may see it. One that puts others one after the other does so
-- inside: else Postgres takes it apart and asks a reader's conditions of each part first, barrier or not.
CREATE VIEW ledger.seen_fleets AS
SELECT f.number, f.name, f.clock, f.created_at
  FROM ledger.fleets f
 WHERE ARRAY[f.name, '*'] && ARRAY(SELECT fleet FROM ledger.granted_fleets)
;;
