-- Time inside the log is whole microseconds since 1970; people see timestamptz. Both ways are exact.
CREATE FUNCTION ledger.micros(moment timestamptz) RETURNS bigint
  LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
  RETURN (extract(epoch FROM moment) * 1000000)::bigint
;;
CREATE FUNCTION ledger.moment(micros bigint) RETURNS timestamptz
  LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
  RETURN timestamptz '1970-01-01 00:00:00+00'
    + (micros / 1000000) * interval '1 second' + (micros % 1000000) * interval '1 microsecond'
;;
-- A fleet is what one log decides for: the unit of order, tenancy and audit.
CREATE SEQUENCE ledger.fleet_numbers AS integer
;;
CREATE TABLE ledger.fleets (
  number     integer PRIMARY KEY,
  name       text NOT NULL UNIQUE,
  clock      text NOT NULL CHECK (clock IN ('wall', 'event')),
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
)
;;
CALL ledger.protect('ledger.fleets')
;;
-- What a fleet began with, written at its first append: later defaults never reach it.
CREATE TABLE ledger.geneses (
  fleet    integer PRIMARY KEY REFERENCES ledger.fleets,
  document bytea NOT NULL,
  digest   bytea NOT NULL CHECK (octet_length(digest) = 32)
)
;;
CALL ledger.protect('ledger.geneses')
;;
-- Which life of its log a fleet is in; a second one is opened only after a restore to an earlier point. Of a later
-- life: what the event says with which it begins, so that nobody has to have its partition, and up to which
-- receipt each partition was taken that feeds the fleet: {"topic": {"partition": 0, "receipt": 17}}.
CREATE TABLE ledger.incarnations (
  fleet       integer NOT NULL REFERENCES ledger.fleets,
  incarnation integer NOT NULL CHECK (incarnation >= 1),
  from_size   bigint NOT NULL CHECK (from_size >= 0),
  reason      text NOT NULL,
  opened_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
  said        bytea,
  revision    smallint,
  taken       jsonb,
  PRIMARY KEY (fleet, incarnation)
)
;;
CALL ledger.protect('ledger.incarnations')
;;
-- That a life of a fleet's log is over, because somebody remembers more of it than is there, or something else.
CREATE TABLE ledger.fleet_stops (
  fleet       integer NOT NULL REFERENCES ledger.fleets,
  incarnation integer NOT NULL,
  component   text NOT NULL CHECK (component IN ('signer', 'consumer', 'publisher', 'decider')),
  reason      text NOT NULL,
  detail      text NOT NULL,
  stopped_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (fleet, incarnation, component)
)
;;
CALL ledger.protect('ledger.fleet_stops')
;;
-- Sources that may speak for one fleet only; a source without a row may speak for any.
CREATE TABLE ledger.source_bindings (
  source   text NOT NULL,
  fleet    text NOT NULL,
  bound_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (source, fleet)
)
;;
