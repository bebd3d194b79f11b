-- A lease of several whole nodes is a gang: an allocation for each node, of which the first, the
-- lead, has the lease's id. They are placed, released and fail together (central/allocations/gangs.py).
ALTER TABLE allocations
    ADD COLUMN gang_id text COLLATE "C",             -- its lead's id, also of the lead; null: no gang
    ADD COLUMN nodes smallint NOT NULL DEFAULT 1,    -- that the lease was asked for with; of others 1
    ADD CONSTRAINT lead_of_several CHECK (nodes >= 1 AND (nodes > 1) = (gang_id IS NOT DISTINCT FROM id)),
    ADD CONSTRAINT gang_of_whole_nodes CHECK (gang_id IS NULL OR shape = 'baremetal');
CREATE INDEX allocations_gang ON allocations (gang_id) WHERE gang_id IS NOT NULL;

-- Whoever is in a gang stays in it.
CREATE TRIGGER stays_in_its_gang BEFORE UPDATE OF gang_id, nodes ON allocations
    FOR EACH ROW WHEN (OLD.gang_id IS NOT NULL
        AND (OLD.gang_id, OLD.nodes) IS DISTINCT FROM (NEW.gang_id, NEW.nodes))
    EXECUTE FUNCTION stays();

-- All or nothing: no transaction ends with a gang that lacks members, or whose members are not alike
-- in whose they are, what and where they are, and what is desired of them. Each member is compared with
-- its lead; the lead counts them. A lead that waits is alone.
CREATE FUNCTION gang_is_whole() RETURNS trigger
    LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
DECLARE
    alike bigint;
    wanted bigint;
BEGIN
    SELECT count(m.id), max(CASE WHEN NEW.id <> l.id OR l.placed_at IS NULL THEN 1 ELSE l.nodes END)
    INTO alike, wanted
    FROM allocations l LEFT JOIN allocations m
        ON m.gang_id = l.id AND (NEW.id = l.id OR m.id = NEW.id)
        AND (m.tenant_id, m.project_id, m.sku_id, m.desired) = (l.tenant_id, l.project_id, l.sku_id, l.desired)
        AND m.site_id IS NOT DISTINCT FROM l.site_id
    WHERE l.id = NEW.gang_id AND l.nodes > 1;
    IF alike IS DISTINCT FROM wanted THEN
        RAISE integrity_constraint_violation USING
            MESSAGE = format('gang %s has %s members alike, not %s', NEW.gang_id, alike, wanted);
    END IF;
    RETURN NULL;
END $$;
REVOKE EXECUTE ON FUNCTION gang_is_whole FROM PUBLIC;  -- firing needs no right
CREATE CONSTRAINT TRIGGER gang_is_whole
    AFTER INSERT OR UPDATE OF gang_id, nodes, desired, placed_at ON allocations
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.gang_id IS NOT NULL)
    EXECUTE FUNCTION gang_is_whole();

-- A gang that is not whole, whose members are desired differently, or that goes on without one that failed.
CREATE VIEW invariant_gang_torn WITH (security_invoker = true) AS
    SELECT m.gang_id AS id FROM allocations m LEFT JOIN allocations l ON l.id = m.gang_id AND l.nodes > 1
    WHERE m.gang_id IS NOT NULL
    GROUP BY m.gang_id, l.id, l.nodes, l.placed_at
    HAVING l.id IS NULL OR count(*) <> CASE WHEN l.placed_at IS NULL THEN 1 ELSE l.nodes END
        OR count(DISTINCT m.desired) > 1
        OR count(DISTINCT (m.tenant_id, m.project_id, m.sku_id, m.site_id)) > 1
        OR bool_or(m.failed_reason <> '') AND bool_or(m.desired = 'active');
GRANT SELECT ON invariant_gang_torn TO {system};
