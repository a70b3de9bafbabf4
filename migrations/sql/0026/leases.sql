-- Who may decide or publish for a fleet just now, and since when without a pause. Not history: a lease is renewed
-- in place.
CREATE TABLE ledger.leases (
  fleet      integer NOT NULL REFERENCES ledger.fleets,
  duty       text NOT NULL CHECK (duty IN ('decide', 'publish')),
  epoch      bigint NOT NULL,
  holder     text NOT NULL,
  expires_at timestamptz NOT NULL,
  taken_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (fleet, duty)
)
;;
-- Who would take a lease over. Not history, and nothing rests on it: it is there to be looked at.
CREATE TABLE ledger.standbys (
  fleet      integer NOT NULL REFERENCES ledger.fleets,
  duty       text NOT NULL CHECK (duty IN ('decide', 'publish')),
  holder     text NOT NULL,
  since      timestamptz NOT NULL DEFAULT clock_timestamp(),
  expires_at timestamptz NOT NULL,
  PRIMARY KEY (fleet, duty, holder)
)
;;
CREATE VIEW ledger_api.leases WITH (security_barrier = true) AS
SELECT u.*
  FROM (
    SELECT f.name AS fleet,
           l.duty,
           l.holder,
           false AS standby,
           l.taken_at AS since
      FROM ledger.leases l
      JOIN ledger.seen_fleets f ON f.number = l.fleet
     WHERE l.expires_at > clock_timestamp()
    UNION ALL
    SELECT f.name AS fleet,
           s.duty,
           s.holder,
           true AS standby,
           s.since
      FROM ledger.standbys s
      JOIN ledger.seen_fleets f ON f.number = s.fleet
     WHERE s.expires_at > clock_timestamp()
       AND NOT EXISTS (SELECT FROM ledger.leases l
                        WHERE l.fleet = s.fleet AND l.duty = s.duty AND l.holder = s.holder
                          AND l.expires_at > clock_timestamp())
  ) u
;;
COMMENT ON VIEW ledger_api.leases IS
  'Who decides or publishes for a fleet just now, and which deciders would take over, a process a row.'
;;
COMMENT ON COLUMN ledger_api.leases.fleet IS 'Name of the fleet.'
;;
COMMENT ON COLUMN ledger_api.leases.duty IS 'decide or publish.'
;;
COMMENT ON COLUMN ledger_api.leases.holder IS 'The process: host, number, and a word that no other has.'
;;
COMMENT ON COLUMN ledger_api.leases.standby IS
  'False for the one that does it, true for a decider that waits to take over.'
;;
COMMENT ON COLUMN ledger_api.leases.since IS 'Since when it has held the lease, or stood by, without a pause.'
;;
