-- A receipt leaves out what its line of the log says: where the lease is. A tenant may read that of
-- its own leases, as it may in its claims.
GRANT SELECT (node_id, slot_ids) ON fleet_changes TO {app};
