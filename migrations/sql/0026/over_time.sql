-- The rows of each table as they are and as they were. Readers have no way to name these, only functions do.
CREATE VIEW ledger.placements_over_time WITH (security_barrier = true) AS
SELECT p.fleet AS fleet_number,
       p.kind,
       p.subject,
       p.cluster,
       nullif(p.node, '') AS node,
       nullif(p.disk, '') AS disk,
       p.count,
       p.from_position,
       p.until_position,
       p.fork
  FROM (SELECT o.fleet, o.kind, o.subject, o.cluster, o.node, o.disk, o.count,
               o.from_position, o.until_position, o.fork FROM ledger.past_placements o
        UNION ALL
        SELECT o.fleet, o.kind, o.subject, o.cluster, o.node, o.disk, o.count,
               o.from_position, NULL, NULL FROM ledger.placements o) p
 WHERE p.fleet = ANY (ARRAY(SELECT f.number FROM ledger.seen_fleets f))
;;
CREATE VIEW ledger.placed_by_over_time WITH (security_barrier = true) AS
SELECT b.fleet AS fleet_number,
       b.kind,
       b.subject,
       b.number,
       b.from_position,
       b.until_position,
       b.fork
  FROM (SELECT o.fleet, o.kind, o.subject, o.number,
               o.from_position, o.until_position, o.fork FROM ledger.past_placed_by o
        UNION ALL
        SELECT o.fleet, o.kind, o.subject, o.number,
               o.from_position, NULL, NULL FROM ledger.placed_by o) b
 WHERE b.fleet = ANY (ARRAY(SELECT f.number FROM ledger.seen_fleets f))
;;
CREATE VIEW ledger.running_tasks_over_time WITH (security_barrier = true) AS
SELECT t.fleet AS fleet_number,
       t.namespace,
       t.job,
       t.task,
       t.cluster,
       t.node,
       t.cpu,
       t.memory,
       t.storage,
       t.number,
       t.from_position,
       t.until_position,
       t.fork
  FROM (SELECT o.fleet, o.namespace, o.job, o.task, o.cluster, o.node, o.cpu, o.memory, o.storage, o.number,
               o.from_position, o.until_position, o.fork FROM ledger.past_running_tasks o
        UNION ALL
        SELECT o.fleet, o.namespace, o.job, o.task, o.cluster, o.node, o.cpu, o.memory, o.storage, o.number,
               o.from_position, NULL, NULL FROM ledger.running_tasks o) t
 WHERE t.fleet = ANY (ARRAY(SELECT f.number FROM ledger.seen_fleets f))
;;
CREATE VIEW ledger.fair_shares_over_time WITH (security_barrier = true) AS
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
-- What is short stands in the refusal itself; it is looked up by its number, and only where it is asked for.
CREATE VIEW ledger.open_refusals_over_time WITH (security_barrier = true) AS
SELECT r.fleet AS fleet_number,
       r.number,
       r.from_position AS "position",
       r.wanted AS kind_wanted,
       r.subject,
       r.reason,
       r.waits_for,
       r.from_position,
       r.until_position,
       r.fork,
       (SELECT d.reasons -> 'detail' FROM ledger.decisions d
         WHERE d.fleet = r.fleet AND d.number = r.number) AS detail
  FROM (SELECT o.fleet, o.number, o.wanted, o.subject, o.reason, o.waits_for,
               o.from_position, o.until_position, o.fork FROM ledger.past_open_refusals o
         UNION ALL
        SELECT o.fleet, o.number, o.wanted, o.subject, o.reason, o.waits_for,
               o.from_position, NULL::bigint, NULL::bigint FROM ledger.open_refusals o) r
 WHERE r.fleet = ANY (ARRAY(SELECT number FROM ledger.seen_fleets))
;;
CREATE VIEW ledger.open_incidents_over_time WITH (security_barrier = true) AS
SELECT i.fleet AS fleet_number,
       i.number,
       i.from_position AS position,
       i.what AS kind,
       i.subject AS address,
       i.node,
       i.from_position,
       i.until_position,
       i.fork
  FROM (SELECT o.fleet, o.number, o.what, o.subject, o.node,
               o.from_position, o.until_position, o.fork FROM ledger.past_open_incidents o
        UNION ALL
        SELECT o.fleet, o.number, o.what, o.subject, o.node,
               o.from_position, NULL, NULL FROM ledger.open_incidents o) i
 WHERE i.fleet = ANY (ARRAY(SELECT f.number FROM ledger.seen_fleets f))
;;
CREATE VIEW ledger.disk_books_over_time WITH (security_barrier = true) AS
SELECT b.fleet AS fleet_number,
       b.cluster,
       b.node,
       b.disk,
       b.maximum,
       b.available,
       b.reserved,
       b.scheduled,
       b.maximum - b.reserved - b.scheduled AS free,
       b.from_position,
       b.until_position,
       b.fork
  FROM (SELECT o.fleet, o.cluster, o.node, o.disk, o.maximum, o.available, o.reserved, o.scheduled,
               o.from_position, o.until_position, o.fork FROM ledger.past_disk_books o
        UNION ALL
        SELECT o.fleet, o.cluster, o.node, o.disk, o.maximum, o.available, o.reserved, o.scheduled,
               o.from_position, NULL, NULL FROM ledger.disk_books o) b
 WHERE b.fleet = ANY (ARRAY(SELECT f.number FROM ledger.seen_fleets f))
;;
CREATE VIEW ledger.job_books_over_time WITH (security_barrier = true) AS
SELECT b.fleet AS fleet_number,
       b.namespace,
       b.job,
       b.queue,
       b.tasks,
       b.cpu,
       b.memory,
       b.storage,
       b.from_position,
       b.until_position,
       b.fork
  FROM (SELECT o.fleet, o.namespace, o.job, o.queue, o.tasks, o.cpu, o.memory, o.storage,
               o.from_position, o.until_position, o.fork FROM ledger.past_job_books o
        UNION ALL
        SELECT o.fleet, o.namespace, o.job, o.queue, o.tasks, o.cpu, o.memory, o.storage,
               o.from_position, NULL, NULL FROM ledger.job_books o) b
 WHERE b.fleet = ANY (ARRAY(SELECT f.number FROM ledger.seen_fleets f))
;;
CREATE VIEW ledger.queue_books_over_time WITH (security_barrier = true) AS
SELECT b.fleet AS fleet_number,
       b.queue,
       b.namespace,
       b.tasks,
       b.cpu,
       b.memory,
       b.storage,
       b.from_position,
       b.until_position,
       b.fork
  FROM (SELECT o.fleet, o.queue, o.namespace, o.tasks, o.cpu, o.memory, o.storage,
               o.from_position, o.until_position, o.fork FROM ledger.past_queue_books o
        UNION ALL
        SELECT o.fleet, o.queue, o.namespace, o.tasks, o.cpu, o.memory, o.storage,
               o.from_position, NULL, NULL FROM ledger.queue_books o) b
 WHERE b.fleet = ANY (ARRAY(SELECT f.number FROM ledger.seen_fleets f))
;;
CREATE VIEW ledger.heads_over_time WITH (security_barrier = true) AS
SELECT f.name AS fleet, h.tree, h.size, encode(h.root, 'hex') AS root
  FROM ledger.heads h
  JOIN ledger.seen_fleets f ON f.number = h.fleet
;;
CREATE VIEW ledger.incarnations_over_time WITH (security_barrier = true) AS
SELECT f.name AS fleet, i.incarnation, i.from_size
  FROM ledger.incarnations i
  JOIN ledger.seen_fleets f ON f.number = i.fleet
;;
