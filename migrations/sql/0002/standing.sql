-- Since when the holder of a lease has had it without a pause.
ALTER TABLE ledger.leases ADD COLUMN taken_at timestamptz NOT NULL DEFAULT clock_timestamp()
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
-- What is refused now, one row a question; derived, kept up by the decider.
CREATE TABLE ledger.open_refusals (
  fleet   integer NOT NULL,
  wanted  text NOT NULL,
  subject text NOT NULL,
  number  bigint NOT NULL,
  PRIMARY KEY (fleet, wanted, subject),
  UNIQUE (fleet, number)
)
;;
