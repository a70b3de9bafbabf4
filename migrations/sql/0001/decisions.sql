-- What was decided. The record is the canonical bytes under the digest; every other column is read from it.
CREATE TABLE ledger.decisions (
  fleet           integer NOT NULL,
  number          bigint NOT NULL CHECK (number >= 0),
  incarnation     integer NOT NULL,
  position        bigint NOT NULL,
  kind            text NOT NULL,
  subject         text NOT NULL,
  algorithm       text NOT NULL,
  version         integer NOT NULL,
  branch          text NOT NULL,
  moved           bigint NOT NULL,
  previous_number bigint,
  result          jsonb NOT NULL,
  reasons         jsonb NOT NULL,
  record          bytea NOT NULL,
  digest          bytea NOT NULL CHECK (octet_length(digest) = 32),
  PRIMARY KEY (fleet, number)
)
;;
CREATE INDEX decisions_by_position ON ledger.decisions (fleet, position)
;;
CREATE INDEX decisions_by_subject ON ledger.decisions (fleet, subject, number)
;;
CALL ledger.protect('ledger.decisions')
;;
-- How far a fleet is decided: one row a transaction of its decider, the newest is the cursor.
CREATE TABLE ledger.decided (
  fleet      integer NOT NULL REFERENCES ledger.fleets,
  through    bigint NOT NULL,
  decisions  bigint NOT NULL,
  epoch      bigint NOT NULL,
  decided_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (fleet, through)
)
;;
CALL ledger.protect('ledger.decided')
;;
-- Who may decide or publish for a fleet just now. Not history: a lease is renewed in place.
CREATE TABLE ledger.leases (
  fleet      integer NOT NULL REFERENCES ledger.fleets,
  duty       text NOT NULL CHECK (duty IN ('decide', 'publish')),
  epoch      bigint NOT NULL,
  holder     text NOT NULL,
  expires_at timestamptz NOT NULL,
  PRIMARY KEY (fleet, duty)
)
;;
-- How far a fleet's decisions were handed to Kafka: one row a batch, the newest is the cursor.
CREATE TABLE ledger.published (
  fleet        integer NOT NULL REFERENCES ledger.fleets,
  next         bigint NOT NULL,
  epoch        bigint NOT NULL,
  published_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (fleet, next)
)
;;
CALL ledger.protect('ledger.published')
;;
-- The rows of division decisions, one a cluster, as people ask for them.
CREATE TABLE ledger.divisions (
  fleet             integer NOT NULL,
  number            bigint NOT NULL,
  cluster           text NOT NULL,
  namespace         text NOT NULL,
  workload          text NOT NULL,
  weight            numeric NOT NULL,
  replicas          bigint NOT NULL,
  floor             bigint NOT NULL,
  residual          boolean NOT NULL,
  previous_replicas bigint NOT NULL,
  PRIMARY KEY (fleet, number, cluster)
)
;;
CREATE INDEX divisions_by_workload ON ledger.divisions (fleet, namespace, workload, number)
;;
CREATE INDEX divisions_by_cluster ON ledger.divisions (fleet, cluster, number)
;;
CALL ledger.protect('ledger.divisions')
;;
-- What is in force now; derived, kept up by the decider, rebuilt from decisions at any time.
CREATE TABLE ledger.placements (
  fleet          integer NOT NULL,
  kind           text NOT NULL,
  subject        text NOT NULL,
  cluster        text NOT NULL,
  node           text NOT NULL DEFAULT '',
  disk           text NOT NULL DEFAULT '',
  count          bigint NOT NULL CHECK (count > 0),
  number         bigint NOT NULL,
  since_position bigint NOT NULL,
  PRIMARY KEY (fleet, kind, subject, cluster, node, disk)
)
;;
CREATE INDEX placements_by_cluster ON ledger.placements (fleet, cluster, node)
;;
-- A folded World at a position: an unsigned cache that saves time, never a source of truth.
CREATE TABLE ledger.snapshots (
  fleet       integer NOT NULL REFERENCES ledger.fleets,
  through     bigint NOT NULL,
  decisions   bigint NOT NULL,
  engine      integer NOT NULL,
  layout      integer NOT NULL,
  event_root  bytea NOT NULL,
  decision_root bytea NOT NULL,
  digest      bytea NOT NULL,
  state       bytea NOT NULL,
  written_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (fleet, through, engine, layout)
)
;;
