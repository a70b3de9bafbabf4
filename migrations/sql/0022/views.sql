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
CREATE OR REPLACE VIEW ledger_api.fair_shares WITH (security_barrier = true) AS
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
CREATE VIEW ledger.shares_over_time WITH (security_barrier = true) AS
SELECT s.fleet AS fleet_number,
       s.queue,
       s.namespace,
       s.resource,
       s.number,
       s.requested,
       s.deserved,
       s.deserved_exact,
       s.allocated,
       s.from_position,
       s.until_position,
       s.fork
  FROM (SELECT o.fleet, o.queue, o.namespace, o.resource, o.number, o.requested, o.deserved,
               o.deserved_exact, o.allocated,
               o.from_position, o.until_position, o.fork FROM ledger.past_fair_shares o
        UNION ALL
        SELECT o.fleet, o.queue, o.namespace, o.resource, o.number, o.requested, o.deserved,
               o.deserved_exact, o.allocated,
               o.from_position, NULL, NULL FROM ledger.fair_shares o) s
 WHERE s.fleet = ANY (ARRAY(SELECT f.number FROM ledger.seen_fleets f))
;;
CREATE VIEW ledger.namespace_weights_over_time WITH (security_barrier = true) AS
SELECT w.fleet AS fleet_number,
       w.namespace,
       w.weight,
       w.from_position,
       w.until_position,
       w.fork
  FROM (SELECT o.fleet, o.namespace, o.weight,
               o.from_position, o.until_position, o.fork FROM ledger.past_namespace_weights o
        UNION ALL
        SELECT o.fleet, o.namespace, o.weight,
               o.from_position, NULL, NULL FROM ledger.namespace_weights o) w
 WHERE w.fleet = ANY (ARRAY(SELECT f.number FROM ledger.seen_fleets f))
;;
CREATE VIEW ledger.shared_totals_over_time WITH (security_barrier = true) AS
SELECT t.fleet AS fleet_number,
       t.resource,
       t.total,
       t.from_position,
       t.until_position,
       t.fork
  FROM (SELECT o.fleet, o.resource, o.total,
               o.from_position, o.until_position, o.fork FROM ledger.past_shared_totals o
        UNION ALL
        SELECT o.fleet, o.resource, o.total,
               o.from_position, NULL, NULL FROM ledger.shared_totals o) t
 WHERE t.fleet = ANY (ARRAY(SELECT f.number FROM ledger.seen_fleets f))
;;
-- Each of the three as it was then, and what follows from them.
DO $$
DECLARE
  name text;
  rows jsonb := '{}';
BEGIN
  FOREACH name IN ARRAY ARRAY['shares', 'namespace_weights', 'shared_totals'] LOOP
    rows := rows || jsonb_build_object(name, format($f$
        SELECT t.* FROM ledger.%1$s_over_time t
         WHERE t.fleet_number = (SELECT f.number FROM ledger.seen_fleets f WHERE f.name = fair_shares_as_of.fleet)
           AND t.fork = ANY (ledger.forks_before(fair_shares_as_of."position"))
           AND t.until_position > fair_shares_as_of."position"
        UNION ALL
        SELECT t.* FROM ledger.%1$s_over_time t
         WHERE t.fleet_number = (SELECT f.number FROM ledger.seen_fleets f WHERE f.name = fair_shares_as_of.fleet)
           AND t.fork = ANY (ledger.forks_behind(fair_shares_as_of."position"))
           AND t.from_position <= fair_shares_as_of."position"
        UNION ALL
        SELECT t.* FROM ledger.%1$s_over_time t
         WHERE t.fleet_number = (SELECT f.number FROM ledger.seen_fleets f WHERE f.name = fair_shares_as_of.fleet)
           AND t.fork IS NULL
           AND t.from_position <= fair_shares_as_of."position"$f$, name));
  END LOOP;
  EXECUTE format($f$
    CREATE OR REPLACE FUNCTION ledger_api.fair_shares_as_of(fleet text, "position" bigint)
      RETURNS SETOF ledger_api.fair_shares
      LANGUAGE sql STABLE
      BEGIN ATOMIC
        SELECT fair_shares_as_of.fleet, s.queue, s.namespace, s.resource, s.number,
               coalesce(w.weight, 1),
               s.requested, s.deserved, s.deserved_exact, s.allocated,
               ledger.exact_share(
                 max(ledger.of_whole(s.resource, s.allocated, t.cpu, t.memory, t.storage))
                   OVER (PARTITION BY s.queue, s.namespace),
                 ledger.whole_of(t.cpu, t.memory, t.storage) * coalesce(w.weight, 1))
          FROM (%1$s) s
          LEFT JOIN (%2$s) w USING (namespace)
         CROSS JOIN (
           SELECT max(r.total) FILTER (WHERE r.resource = 'cpu') AS cpu,
                  max(r.total) FILTER (WHERE r.resource = 'memory') AS memory,
                  max(r.total) FILTER (WHERE r.resource = 'storage') AS storage
             FROM (%3$s) r
         ) t
         WHERE ledger.is_kept(fair_shares_as_of.fleet, fair_shares_as_of."position");
      END $f$, rows ->> 'shares', rows ->> 'namespace_weights', rows ->> 'shared_totals');
END
$$
;;
GRANT SELECT ON ledger.shares_over_time, ledger.namespace_weights_over_time, ledger.shared_totals_over_time
  TO ledger_reader, ledger_maintainer, ledger_writer, ledger_decider, ledger_publisher, ledger_signer
;;
REVOKE EXECUTE ON FUNCTION ledger.exact_share(numeric, numeric), ledger.whole_of(numeric, numeric, numeric),
    ledger.of_whole(text, numeric, numeric, numeric, numeric) FROM PUBLIC
;;
GRANT EXECUTE ON FUNCTION ledger.exact_share(numeric, numeric), ledger.whole_of(numeric, numeric, numeric),
    ledger.of_whole(text, numeric, numeric, numeric, numeric)
  TO ledger_reader, ledger_maintainer, ledger_writer, ledger_decider, ledger_publisher, ledger_signer
;;
COMMENT ON COLUMN ledger_api.fair_shares.number IS
  'The decision that told last what is requested, deserved and allocated: the first of its round.'
;;
COMMENT ON COLUMN ledger_api.fair_shares.weighted_share IS
  'The dominant share of all that it holds in the queue, of what there was to share out in the last round that placed or evicted anything, divided by its weight, as num/den.'
