-- How namespaces stand in their queues; derived, each row told anew by the round in which it turned.
CREATE TABLE ledger.fair_shares (
  fleet          integer NOT NULL,
  queue          text NOT NULL,
  namespace      text NOT NULL,
  resource       text NOT NULL,
  number         bigint NOT NULL,
  requested      numeric NOT NULL,
  deserved       numeric NOT NULL,
  deserved_exact text NOT NULL,
  allocated      numeric NOT NULL,
  from_position  bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (fleet, queue, namespace, resource)
)
;;
-- What a namespace weighs, as a round told it last, where that is not 1.
CREATE TABLE ledger.namespace_weights (
  fleet         integer NOT NULL,
  namespace     text NOT NULL,
  weight        numeric NOT NULL,
  from_position bigint NOT NULL,
  PRIMARY KEY (fleet, namespace)
)
;;
-- How much of a resource there was to share out, as a round told it last.
CREATE TABLE ledger.shared_totals (
  fleet         integer NOT NULL,
  resource      text NOT NULL,
  total         numeric NOT NULL,
  from_position bigint NOT NULL,
  PRIMARY KEY (fleet, resource)
)
;;
-- A share exactly: so much of so much, in lowest terms.
CREATE FUNCTION ledger.exact_share(held numeric, whole numeric) RETURNS text
  LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
  RETURN div(held, gcd(held, whole))::text || '/' || div(whole, gcd(held, whole))::text
;;
-- One whole that all three totals divide.
CREATE FUNCTION ledger.whole_of(cpu numeric, memory numeric, storage numeric) RETURNS numeric
  LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
  RETURN greatest(cpu, 1) * greatest(memory, 1) * greatest(storage, 1)
;;
-- The dominant of several shares is the largest. Shares of different totals are compared as parts of that whole;
-- of what there is nothing, nobody has a share.
CREATE FUNCTION ledger.of_whole(resource text, amount numeric, cpu numeric, memory numeric, storage numeric)
  RETURNS numeric
  LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
  RETURN CASE resource
           WHEN 'cpu' THEN CASE WHEN cpu > 0 THEN amount * ledger.whole_of(1, memory, storage) ELSE 0 END
           WHEN 'memory' THEN CASE WHEN memory > 0 THEN amount * ledger.whole_of(cpu, 1, storage) ELSE 0 END
           WHEN 'storage' THEN CASE WHEN storage > 0 THEN amount * ledger.whole_of(cpu, memory, 1) ELSE 0 END
         END
;;
-- What a share comes to is worked out where it is asked for: with a total every share turns, and with a weight those
-- of its namespace.
CREATE VIEW ledger_api.fair_shares WITH (security_barrier = true) AS
SELECT f.name AS fleet,
       s.queue,
       s.namespace,
       s.resource,
       s.number,
       coalesce(w.weight, 1) AS weight,
       s.requested,
       s.deserved,
       s.deserved_exact,
       s.allocated,
       ledger.exact_share(held.part, held.whole * coalesce(w.weight, 1)) AS weighted_share
  FROM ledger.fair_shares s
  JOIN ledger.seen_fleets f ON f.number = s.fleet
  LEFT JOIN ledger.namespace_weights w ON w.fleet = s.fleet AND w.namespace = s.namespace
  LEFT JOIN ledger.shared_totals c ON c.fleet = s.fleet AND c.resource = 'cpu'
  LEFT JOIN ledger.shared_totals m ON m.fleet = s.fleet AND m.resource = 'memory'
  LEFT JOIN ledger.shared_totals d ON d.fleet = s.fleet AND d.resource = 'storage'
 CROSS JOIN LATERAL (
   SELECT max(ledger.of_whole(o.resource, o.allocated, c.total, m.total, d.total)) AS part,
          ledger.whole_of(c.total, m.total, d.total) AS whole
     FROM ledger.fair_shares o
    WHERE o.fleet = s.fleet AND o.queue = s.queue AND o.namespace = s.namespace
 ) AS held
;;
COMMENT ON VIEW ledger_api.fair_shares IS
  'A namespace in a queue and a resource a row, as of the last round that placed or evicted anything.'
;;
COMMENT ON COLUMN ledger_api.fair_shares.fleet IS 'Name of the fleet.'
;;
COMMENT ON COLUMN ledger_api.fair_shares.queue IS 'The queue.'
;;
COMMENT ON COLUMN ledger_api.fair_shares.namespace IS 'The namespace.'
;;
COMMENT ON COLUMN ledger_api.fair_shares.resource IS
  'The resource that is counted: cpu in milli-cores, memory and storage in bytes.'
;;
COMMENT ON COLUMN ledger_api.fair_shares.number IS
  'The decision that told last what is requested, deserved and allocated: the first of its round.'
;;
COMMENT ON COLUMN ledger_api.fair_shares.weight IS 'What the namespace weighs.'
;;
COMMENT ON COLUMN ledger_api.fair_shares.requested IS 'What its jobs in the queue hold and wait for.'
;;
COMMENT ON COLUMN ledger_api.fair_shares.deserved IS
  'Its part of what the queue deserves, in whole units, rounded down.'
;;
COMMENT ON COLUMN ledger_api.fair_shares.deserved_exact IS 'The same exactly, as num/den.'
;;
COMMENT ON COLUMN ledger_api.fair_shares.allocated IS 'What its tasks hold in the queue.'
;;
COMMENT ON COLUMN ledger_api.fair_shares.weighted_share IS
  'The dominant share of all that it holds in the queue, of what there was to share out in the last round that placed or evicted anything, divided by its weight, as num/den.'
;;
