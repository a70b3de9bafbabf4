-- From when on the passing of time alone decides something, as of each cursor; null where it never does.
ALTER TABLE ledger.decided ADD COLUMN due_at_micros bigint
;;
-- What contradicts the book of a fleet now, each with the decision that recorded it.
CREATE TABLE ledger.open_incidents (
  fleet integer NOT NULL,
  subject text NOT NULL,
  what text NOT NULL,
  node text NOT NULL,
  number bigint NOT NULL,
  from_position bigint NOT NULL,
  PRIMARY KEY (fleet, subject, what, node)
) WITH (fillfactor = 50)
;;
ALTER TABLE ledger.open_incidents
  ALTER COLUMN fleet SET (n_distinct = 10),
  ADD CONSTRAINT open_incidents_number_key UNIQUE (number, fleet)
;;
CREATE TABLE ledger.past_open_incidents (
  LIKE ledger.open_incidents,
  until_position bigint NOT NULL,
  fork bigint NOT NULL
)
;;
CREATE INDEX past_open_incidents_by_fork
  ON ledger.past_open_incidents (fleet, fork, until_position, from_position)
;;
CALL ledger.protect('ledger.past_open_incidents')
;;
-- When an incident ended: a row once, when it does.
CREATE TABLE ledger.ended_incidents (
  fleet    integer NOT NULL,
  number   bigint NOT NULL,
  position bigint NOT NULL,
  PRIMARY KEY (fleet, number)
)
;;
CALL ledger.protect('ledger.ended_incidents')
;;
GRANT SELECT ON ledger.open_incidents, ledger.past_open_incidents, ledger.ended_incidents
  TO ledger_maintainer, ledger_writer, ledger_decider, ledger_publisher, ledger_signer
;;
GRANT INSERT ON ledger.open_incidents, ledger.past_open_incidents, ledger.ended_incidents TO ledger_decider
;;
GRANT UPDATE, DELETE ON ledger.open_incidents TO ledger_decider
