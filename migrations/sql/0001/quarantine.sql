-- What could not be accepted, whole: nothing is skipped. Each row is also an event of fleet _ledger, whose
-- position is its key.
CREATE TABLE ledger.quarantine (
  position       bigint PRIMARY KEY,
  address        text NOT NULL,
  channel        text NOT NULL,
  topic          text,
  partition      integer,
  coordinate     bigint,
  fleet          text,
  source         text,
  id             text,
  type           text,
  subject        text,
  reason         text NOT NULL,
  detail         text NOT NULL,
  key            bytea,
  value          bytea,
  headers        bytea NOT NULL,
  digest         bytea NOT NULL,
  quarantined_at timestamptz NOT NULL DEFAULT clock_timestamp()
)
;;
CREATE INDEX quarantine_by_address ON ledger.quarantine (address, position)
;;
CALL ledger.protect('ledger.quarantine')
;;
-- What became of it, once: released as a new event, or closed without one.
CREATE TABLE ledger.quarantine_outcomes (
  quarantined       bigint PRIMARY KEY REFERENCES ledger.quarantine,
  outcome           text NOT NULL CHECK (outcome IN ('released', 'discarded')),
  released_position bigint,
  by                text NOT NULL,
  why               text NOT NULL,
  at                timestamptz NOT NULL DEFAULT clock_timestamp(),
  CHECK ((outcome = 'released') = (released_position IS NOT NULL))
)
;;
CALL ledger.protect('ledger.quarantine_outcomes')
;;
