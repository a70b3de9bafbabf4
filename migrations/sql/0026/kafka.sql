-- One row a Kafka partition, locked by whoever writes a receipt or takes the partition over; never updated.
CREATE TABLE ledger.partition_locks (
  topic     text NOT NULL,
  partition integer NOT NULL,
  PRIMARY KEY (topic, partition)
)
;;
CALL ledger.protect('ledger.partition_locks')
;;
-- Who owns a partition: a consumer that takes it over opens the next epoch, and older ones are refused.
CREATE TABLE ledger.partition_epochs (
  topic     text NOT NULL,
  partition integer NOT NULL,
  epoch     bigint NOT NULL CHECK (epoch >= 1),
  owner     text NOT NULL,
  opened_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (topic, partition, epoch),
  FOREIGN KEY (topic, partition) REFERENCES ledger.partition_locks
)
;;
CALL ledger.protect('ledger.partition_epochs')
;;
-- What was taken from a partition, written in the transaction that appended it: the newest one is the offset.
CREATE TABLE ledger.receipts (
  topic          text NOT NULL,
  partition      integer NOT NULL,
  number         bigint NOT NULL CHECK (number >= 0),
  epoch          bigint NOT NULL,
  first          bigint NOT NULL CHECK (first >= 0),
  next           bigint NOT NULL CHECK (next >= 0),
  records        bigint NOT NULL,
  appended       bigint NOT NULL,
  duplicates     bigint NOT NULL,
  quarantined    bigint NOT NULL,
  last_timestamp bigint,
  last_digest    bytea,
  resumed_by     text,
  written_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (topic, partition, number),
  CHECK (records = appended + duplicates + quarantined),
  CHECK (resumed_by IS NOT NULL OR (next > first AND records BETWEEN 1 AND next - first)),
  FOREIGN KEY (topic, partition, epoch) REFERENCES ledger.partition_epochs
)
;;
CALL ledger.protect('ledger.receipts')
;;
-- Take a partition over: the epoch it returns is the only one whose receipts are accepted from now on.
CREATE FUNCTION ledger.open_epoch(p_topic text, p_partition integer, p_owner text) RETURNS bigint
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, ledger AS $$
DECLARE opened bigint;
BEGIN
  INSERT INTO ledger.partition_locks VALUES (p_topic, p_partition) ON CONFLICT DO NOTHING;
  PERFORM FROM ledger.partition_locks l WHERE l.topic = p_topic AND l.partition = p_partition FOR UPDATE;
  INSERT INTO ledger.partition_epochs (topic, partition, epoch, owner)
    SELECT p_topic, p_partition, coalesce(max(e.epoch), 0) + 1, p_owner
      FROM ledger.partition_epochs e WHERE e.topic = p_topic AND e.partition = p_partition
    RETURNING epoch INTO opened;
  RETURN opened;
END
$$
;;
-- Begin a batch: wait for the partition, refuse a stale owner, say where the log stands (-1: nothing taken yet).
CREATE FUNCTION ledger.claim_partition(p_topic text, p_partition integer, p_epoch bigint)
  RETURNS TABLE (number bigint, next bigint)
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, ledger AS $$
DECLARE newest bigint;
BEGIN
  PERFORM FROM ledger.partition_locks l WHERE l.topic = p_topic AND l.partition = p_partition FOR UPDATE;
  SELECT max(e.epoch) INTO newest FROM ledger.partition_epochs e
   WHERE e.topic = p_topic AND e.partition = p_partition;
  IF newest IS DISTINCT FROM p_epoch THEN
    RAISE EXCEPTION '%/%: epoch % was replaced by %', p_topic, p_partition, p_epoch, newest
      USING ERRCODE = 'LG001';
  END IF;
  RETURN QUERY SELECT r.number, r.next FROM ledger.receipts r
    WHERE r.topic = p_topic AND r.partition = p_partition ORDER BY r.number DESC LIMIT 1;
  IF NOT FOUND THEN
    RETURN QUERY SELECT -1::bigint, -1::bigint;
  END IF;
END
$$
;;
-- The database's own word on receipts: each continues the one before it, and only the newest owner writes.
CREATE FUNCTION ledger.check_receipt() RETURNS trigger
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, ledger AS $$
DECLARE before record;
BEGIN
  SELECT c.number, c.next INTO before FROM ledger.claim_partition(NEW.topic, NEW.partition, NEW.epoch) c;
  IF NEW.number <> before.number + 1 THEN
    RAISE EXCEPTION '%/%: receipt % does not follow %', NEW.topic, NEW.partition, NEW.number, before.number
      USING ERRCODE = 'LG002';
  END IF;
  IF NEW.resumed_by IS NULL AND NEW.first < before.next THEN
    RAISE EXCEPTION '%/%: offsets from % were taken already, up to %',
      NEW.topic, NEW.partition, NEW.first, before.next USING ERRCODE = 'LG002';
  END IF;
  RETURN NEW;
END
$$
;;
CREATE TRIGGER continuity BEFORE INSERT ON ledger.receipts
  FOR EACH ROW EXECUTE FUNCTION ledger.check_receipt()
;;
-- The number of the newest receipt of a partition; -1 where nothing was ever taken.
CREATE FUNCTION ledger.newest_receipt(p_topic text, p_partition integer) RETURNS bigint
  LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, ledger AS $$
  SELECT coalesce((SELECT r.number FROM ledger.receipts r
                    WHERE r.topic = p_topic AND r.partition = p_partition
                    ORDER BY r.number DESC LIMIT 1), -1)
$$
;;
-- A fleet's events of one topic come from one partition; another one waits until a person confirms the move.
CREATE TABLE ledger.partition_pins (
  number       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  fleet        text NOT NULL,
  topic        text NOT NULL,
  partition    integer NOT NULL,
  confirmed_by text NOT NULL,
  pinned_at    timestamptz NOT NULL DEFAULT clock_timestamp()
)
;;
CREATE INDEX partition_pins_newest ON ledger.partition_pins (fleet, topic, number DESC)
;;
CALL ledger.protect('ledger.partition_pins')
;;
-- By which partition of each topic a fleet's events come: the newest word counts.
CREATE FUNCTION ledger.pinned(p_fleet text) RETURNS TABLE (topic text, "partition" integer)
  LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, ledger AS $$
  SELECT DISTINCT ON (p.topic) p.topic, p.partition FROM ledger.partition_pins p
   WHERE p.fleet = p_fleet ORDER BY p.topic, p.number DESC
$$
;;
-- Partitions that stand still until a person has looked, and their release; the newest row rules. Each says up to
-- which receipt its partition was taken then.
CREATE TABLE ledger.partition_halts (
  number      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  topic       text NOT NULL,
  partition   integer NOT NULL,
  halted      boolean NOT NULL,
  reason      text NOT NULL,
  detail      text NOT NULL,
  resume_at   bigint CHECK (resume_at >= 0),
  by          text NOT NULL,
  at          timestamptz NOT NULL DEFAULT clock_timestamp(),
  receipt     bigint NOT NULL DEFAULT -1
)
;;
CREATE INDEX partition_halts_newest ON ledger.partition_halts (topic, partition, number DESC)
;;
CALL ledger.protect('ledger.partition_halts')
;;
-- Partitions carry events of any fleet: whoever may see all of them, or the ledger's own, sees these.
CREATE VIEW ledger_api.partitions WITH (security_barrier = true) AS
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
COMMENT ON VIEW ledger_api.partitions IS
  'A Kafka partition a row: how far it was taken, and whether it stands still until a person has looked.'
;;
COMMENT ON COLUMN ledger_api.partitions.topic IS 'Kafka topic.'
;;
COMMENT ON COLUMN ledger_api.partitions.partition IS 'Kafka partition.'
;;
COMMENT ON COLUMN ledger_api.partitions.next_offset IS 'The next offset to take; null before the first batch.'
;;
COMMENT ON COLUMN ledger_api.partitions.halted IS 'Whether it stands still.'
;;
COMMENT ON COLUMN ledger_api.partitions.reason IS 'Why it stands still, one of docs/operating-kafka.md.'
;;
COMMENT ON COLUMN ledger_api.partitions.detail IS 'What exactly was found.'
;;
COMMENT ON COLUMN ledger_api.partitions.halted_at IS 'Since when it stands still.'
;;
