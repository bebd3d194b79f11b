-- What every lease leaves behind goes in time: its lines of the fleet's log, and then the lease with
-- its claims and proofs, once those are exported. Usage stays: it is money.

INSERT INTO log_starts (log) VALUES ('fleet');

-- A start never moves past what is exported, nor past the end of its log.
CREATE FUNCTION log_exported() RETURNS trigger
    LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
    IF NEW.log = 'audit' AND NEW.seq > (SELECT x.seq FROM audit_exports x) THEN
        RAISE integrity_constraint_violation USING
            MESSAGE = format('the audit log is not exported up to %s', NEW.seq);
    END IF;
    IF NEW.log = 'fleet' AND NEW.seq > (SELECT coalesce(max(f.revision), 0) FROM fleet_changes f) THEN
        RAISE integrity_constraint_violation USING
            MESSAGE = format('the fleet''s log has no revision %s', NEW.seq);
    END IF;
    RETURN NEW;
END $$;
REVOKE EXECUTE ON FUNCTION log_exported FROM PUBLIC;  -- firing needs no right
CREATE TRIGGER log_exported BEFORE UPDATE OF seq ON log_starts
    FOR EACH ROW WHEN (NEW.seq > OLD.seq) EXECUTE FUNCTION log_exported();

-- The last line of the fleet's log stays: it says which revision, and so which fence, comes next.
CREATE FUNCTION fleet_log_goes_on() RETURNS trigger
    LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
    IF (SELECT max(g.revision) FROM gone g)
            > (SELECT coalesce(max(f.revision), 0) FROM fleet_changes f) THEN
        RAISE integrity_constraint_violation USING
            MESSAGE = 'the last line of the fleet''s log stays: revisions go on from it';
    END IF;
    RETURN NULL;
END $$;
REVOKE EXECUTE ON FUNCTION fleet_log_goes_on FROM PUBLIC;  -- firing needs no right
CREATE TRIGGER fleet_log_goes_on AFTER DELETE ON fleet_changes REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION fleet_log_goes_on();

-- Leases that are over, by when: freed, or given up while they waited.
CREATE INDEX allocations_over ON allocations (coalesce(freed_at, desired_at))
    WHERE freed_at IS NOT NULL OR (placed_at IS NULL AND desired = 'released');

-- Even the system deletes nothing of a lease that is not over.
GRANT DELETE ON allocations, claims, cleanup_proofs, fleet_changes, apart, disputes, abandonments
    TO {system};
CREATE POLICY over ON allocations AS RESTRICTIVE FOR DELETE TO {system}
    USING (freed_at IS NOT NULL OR (placed_at IS NULL AND desired = 'released'));
CREATE POLICY over ON claims AS RESTRICTIVE FOR DELETE TO {system} USING (freed_at IS NOT NULL);
CREATE POLICY over ON cleanup_proofs AS RESTRICTIVE FOR DELETE TO {system}
    USING (NOT EXISTS (SELECT FROM claims c
        WHERE c.slot_id = cleanup_proofs.slot_id AND c.fence = cleanup_proofs.fence));
CREATE POLICY over ON disputes AS RESTRICTIVE FOR DELETE TO {system}
    USING (settled_at IS NOT NULL);
CREATE POLICY trimmed ON fleet_changes AS RESTRICTIVE FOR DELETE TO {system}
    USING (revision <= (SELECT s.seq FROM log_starts s WHERE s.log = 'fleet'));

CREATE FUNCTION abandoned_stays() RETURNS trigger
    LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
    IF EXISTS (SELECT FROM allocations a WHERE a.id = OLD.allocation_id AND a.freed_at IS NULL) THEN
        RAISE integrity_constraint_violation USING MESSAGE = format(
            '%s: why it was abandoned stays until its slots are free', OLD.allocation_id);
    END IF;
    RETURN OLD;
END $$;
REVOKE EXECUTE ON FUNCTION abandoned_stays FROM PUBLIC;  -- firing needs no right
CREATE TRIGGER abandoned_stays BEFORE DELETE ON abandonments
    FOR EACH ROW EXECUTE FUNCTION abandoned_stays();

-- Usage outlives its lease, so it says itself where it was.
ALTER TABLE usage_segments DROP CONSTRAINT usage_segments_allocation_id_fkey;
ALTER TABLE usage_segments ADD COLUMN site_id text COLLATE "C";
UPDATE usage_segments u SET site_id = a.site_id FROM allocations a WHERE a.id = u.allocation_id;
CREATE FUNCTION usage_at_its_site() RETURNS trigger
    LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
    NEW.site_id := (SELECT a.site_id FROM allocations a WHERE a.id = NEW.allocation_id);
    RETURN NEW;
END $$;
REVOKE EXECUTE ON FUNCTION usage_at_its_site FROM PUBLIC;  -- firing needs no right
CREATE TRIGGER usage_at_its_site BEFORE INSERT ON usage_segments
    FOR EACH ROW EXECUTE FUNCTION usage_at_its_site();

CREATE OR REPLACE VIEW invariant_usage_outside_its_lease WITH (security_invoker = true) AS
    SELECT u.allocation_id FROM usage_segments u
    LEFT JOIN allocations a ON a.id = u.allocation_id
    WHERE CASE WHEN a.id IS NULL THEN upper_inf(u.during)  -- its lease is gone: it must have ended
        ELSE a.placed_at IS NULL OR lower(u.during) < a.placed_at
            OR (upper_inf(u.during) AND a.freed_at IS NOT NULL)
            OR upper(u.during) > coalesce(a.freed_at, now()) + interval '1 microsecond' END;

CREATE OR REPLACE VIEW invariant_spent_out_of_step WITH (security_invoker = true) AS
    SELECT project_id, month, currency, site_id FROM spent s FULL JOIN (
        SELECT u.project_id, coalesce(u.site_id, a.site_id) AS site_id, u.currency, c.month,
            sum(c.micros) AS micros
        FROM usage_segments u LEFT JOIN allocations a ON a.id = u.allocation_id,
            monthly_costs(u.during, u.gpus, u.price_micros_per_gpu_hour) AS c
        WHERE NOT upper_inf(u.during)
        GROUP BY u.project_id, coalesce(u.site_id, a.site_id), u.currency, c.month
    ) AS truth USING (project_id, month, currency, site_id)
    WHERE coalesce(s.micros, 0) <> coalesce(truth.micros, 0);

-- The oldest of each kind that has a retention, found by an index.
CREATE VIEW oldest_kept WITH (security_invoker = true) AS
    SELECT 'events' AS name, (SELECT e.at FROM events e ORDER BY e.seq LIMIT 1) AS at
    UNION ALL
    SELECT 'audit', (SELECT a.at FROM audit_entries a ORDER BY a.seq LIMIT 1)
    UNION ALL
    SELECT 'fleet', (SELECT f.at FROM fleet_changes f
        WHERE f.revision > (SELECT s.seq FROM log_starts s WHERE s.log = 'fleet')
        ORDER BY f.revision LIMIT 1)
    UNION ALL
    SELECT 'leases', (SELECT min(coalesce(a.freed_at, a.desired_at)) FROM allocations a
        WHERE a.freed_at IS NOT NULL OR (a.placed_at IS NULL AND a.desired = 'released'))
    UNION ALL
    SELECT 'rejections', (SELECT min(r.rejected_at) FROM feed_rejections r);

-- Something is older than it is kept, and a day more. `held` says why, if that is known.
CREATE VIEW invariant_retention_overdue WITH (security_invoker = true) AS
    SELECT r.name, o.at AS oldest_at, r.kept::text AS kept, r.held
    FROM retentions r JOIN oldest_kept o ON o.name = r.name
    WHERE o.at < now() - r.kept - interval '1 day';
GRANT SELECT ON oldest_kept, invariant_retention_overdue TO {system};
