-- What became of a proposal, and by which decision, if by one: a row once, when it is over.
CREATE TABLE ledger.ended_proposals (
  fleet       integer NOT NULL,
  number      bigint NOT NULL,
  state       text NOT NULL,
  resolved_by bigint,
  position    bigint NOT NULL,
  PRIMARY KEY (fleet, number)
)
;;
CALL ledger.protect('ledger.ended_proposals')
;;
CREATE VIEW ledger_api.proposals WITH (security_barrier = true) AS
SELECT f.name AS fleet,
       d.number,
       d.position,
       d.result ->> 'what' AS kind,
       d.subject,
       jsonb_array_length(d.result -> 'moves')::bigint AS moves,
       (d.result ->> 'bytes')::numeric AS bytes,
       d.reasons ->> 'measure' AS measure,
       d.result ->> 'before' AS score_before,
       d.result ->> 'after' AS score_after,
       d.reasons ->> 'ended' AS no_more,
       CASE WHEN d.result -> 'moves' = '[]' THEN 'empty' ELSE coalesce(e.state, 'open') END AS state,
       e.resolved_by,
       e.position AS ended_position
  FROM ledger.decisions d
  JOIN ledger.seen_fleets f ON f.number = d.fleet
  LEFT JOIN ledger.ended_proposals e ON e.fleet = d.fleet AND e.number = d.number
 WHERE d.kind = 'proposal'
;;
COMMENT ON VIEW ledger_api.proposals IS
  'A proposal a row: what it would cost, what it is good for, and what became of it. Its number is what an approval names.'
;;
COMMENT ON COLUMN ledger_api.proposals.fleet IS 'Name of the fleet.'
;;
COMMENT ON COLUMN ledger_api.proposals.number IS 'The decision.'
;;
COMMENT ON COLUMN ledger_api.proposals.position IS 'Position of the event that made it due.'
;;
COMMENT ON COLUMN ledger_api.proposals.kind IS
  'What is moved: deployments, disks or repair; or, where nothing is, surplus.'
;;
COMMENT ON COLUMN ledger_api.proposals.subject IS 'What it is about; the name of the fleet is everything.'
;;
COMMENT ON COLUMN ledger_api.proposals.moves IS 'How many moves it has; proposal_moves has them.'
;;
COMMENT ON COLUMN ledger_api.proposals.bytes IS 'How many bytes they move together.'
;;
COMMENT ON COLUMN ledger_api.proposals.measure IS
  'What the score is: spread is the mean square deviation over the square of the mean; deficit is how many lack a place on an on-demand node; surplus is how many are on-demand and need not be.'
;;
COMMENT ON COLUMN ledger_api.proposals.score_before IS
  'The score as things were, as num/den; null where there is nothing to have one.'
;;
COMMENT ON COLUMN ledger_api.proposals.score_after IS 'The score once all moves are made, as num/den.'
;;
COMMENT ON COLUMN ledger_api.proposals.no_more IS
  'Why there are no more moves: no_better_move, max_moves, max_bytes or undefined.'
;;
COMMENT ON COLUMN ledger_api.proposals.state IS
  'open; executed; refused, when approved; withdrawn, replaced; or empty, if it has no moves.'
;;
COMMENT ON COLUMN ledger_api.proposals.resolved_by IS
  'The decision that carried it out first, replaced it, or refused to carry it out; null where it is open or withdrawn.'
;;
COMMENT ON COLUMN ledger_api.proposals.ended_position IS
  'Position of the event with which it was over; null while it is open.'
;;
CREATE VIEW ledger_api.proposal_moves WITH (security_barrier = true) AS
SELECT f.name AS fleet,
       d.number,
       m.place AS move,
       d.result ->> 'what' AS kind,
       m.one ->> 'subject' AS subject,
       m.one ->> 'thing' AS thing,
       m.one ->> 'from' AS from_place,
       nullif(m.one ->> 'to', '') AS to_place,
       (m.one ->> 'bytes')::bigint AS bytes,
       m.one ->> 'score' AS score
  FROM ledger.decisions d
  JOIN ledger.seen_fleets f ON f.number = d.fleet
 CROSS JOIN LATERAL jsonb_array_elements(d.result -> 'moves') WITH ORDINALITY AS m(one, place)
 WHERE d.kind = 'proposal'
;;
COMMENT ON VIEW ledger_api.proposal_moves IS 'A move of a proposal a row, in the order in which they are to be made.'
;;
COMMENT ON COLUMN ledger_api.proposal_moves.fleet IS 'Name of the fleet.'
;;
COMMENT ON COLUMN ledger_api.proposal_moves.number IS 'The proposal.'
;;
COMMENT ON COLUMN ledger_api.proposal_moves.move IS 'Its place in the proposal, from 1.'
;;
COMMENT ON COLUMN ledger_api.proposal_moves.kind IS
  'What is moved: deployments, disks or repair; or, where nothing is, surplus.'
;;
COMMENT ON COLUMN ledger_api.proposal_moves.subject IS 'Whose it is: a volume, or a workload in a cluster.'
;;
COMMENT ON COLUMN ledger_api.proposal_moves.thing IS
  'What is moved: name of a replica, number of an instance, name of a pod.'
;;
COMMENT ON COLUMN ledger_api.proposal_moves.from_place IS 'The disk or node that it leaves, with its cluster.'
;;
COMMENT ON COLUMN ledger_api.proposal_moves.to_place IS 'The disk or node that it goes to; null where it is evicted.'
;;
COMMENT ON COLUMN ledger_api.proposal_moves.bytes IS 'The bytes that go with it.'
;;
COMMENT ON COLUMN ledger_api.proposal_moves.score IS 'The score once it and those before it are made, as num/den.'
;;
