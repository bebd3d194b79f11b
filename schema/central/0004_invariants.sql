-- What must always be true of leases, as views that are empty when it is.

CREATE VIEW invariant_slot_claimed_twice WITH (security_invoker = true) AS
    SELECT slot_id FROM claims WHERE freed_at IS NULL GROUP BY slot_id HAVING count(*) > 1;

CREATE VIEW invariant_allocation_on_two_nodes WITH (security_invoker = true) AS
    SELECT allocation_id FROM claims GROUP BY allocation_id HAVING count(DISTINCT node_id) > 1;

CREATE VIEW invariant_freed_without_proof WITH (security_invoker = true) AS
    SELECT slot_id, fence FROM claims c
    WHERE freed_at IS NOT NULL AND NOT EXISTS (
        SELECT FROM cleanup_proofs p
        WHERE p.slot_id = c.slot_id AND p.fence = c.fence AND p.allocation_id = c.allocation_id);

-- A whole-node lease holds every slot of its node; so no slice can be beside it.
CREATE VIEW invariant_slice_beside_baremetal WITH (security_invoker = true) AS
    SELECT other.slot_id FROM claims chassis
    JOIN slots s ON s.id = chassis.slot_id AND s.kind = 'chassis'
    JOIN claims other ON other.node_id = chassis.node_id AND other.freed_at IS NULL
        AND other.allocation_id <> chassis.allocation_id
    WHERE chassis.freed_at IS NULL;

CREATE VIEW invariant_claims_of_wrong_size WITH (security_invoker = true) AS
    SELECT a.id FROM allocations a
    LEFT JOIN claims c ON c.allocation_id = a.id
    LEFT JOIN slots s ON s.id = c.slot_id
    WHERE a.placed_at IS NOT NULL
    GROUP BY a.id
    HAVING count(*) FILTER (WHERE s.kind = 'gpu') <> a.gpus
        OR count(*) FILTER (WHERE s.kind = 'chassis') <> (a.shape = 'baremetal')::int;

-- An allocation is freed exactly when its last slot is.
CREATE VIEW invariant_freed_out_of_step WITH (security_invoker = true) AS
    SELECT a.id FROM allocations a
    WHERE a.placed_at IS NOT NULL AND (a.freed_at IS NULL) <> EXISTS (
        SELECT FROM claims c WHERE c.allocation_id = a.id AND c.freed_at IS NULL);

-- Who waits, or waited in vain, holds nothing, runs nowhere, and is not metered.
CREATE VIEW invariant_unplaced_holds_something WITH (security_invoker = true) AS
    SELECT a.id FROM allocations a
    WHERE a.placed_at IS NULL AND (
        a.freed_at IS NOT NULL OR a.observed <> 'nothing'
        OR EXISTS (SELECT FROM claims c WHERE c.allocation_id = a.id)
        OR EXISTS (SELECT FROM usage_segments u WHERE u.allocation_id = a.id)
        OR EXISTS (SELECT FROM fleet_changes f WHERE f.allocation_id = a.id AND f.kind = 'claim'));

-- Metered while observed active, and only then.
CREATE VIEW invariant_usage_out_of_step WITH (security_invoker = true) AS
    SELECT a.id FROM allocations a
    WHERE (a.observed = 'active') <> EXISTS (
        SELECT FROM usage_segments u WHERE u.allocation_id = a.id AND upper_inf(u.during));

GRANT SELECT ON invariant_slot_claimed_twice, invariant_allocation_on_two_nodes,
    invariant_freed_without_proof, invariant_slice_beside_baremetal,
    invariant_claims_of_wrong_size, invariant_freed_out_of_step, invariant_usage_out_of_step,
    invariant_unplaced_holds_something
    TO {system};
