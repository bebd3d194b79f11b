-- Leases that may share no node: who asked for it, and apart from whom. It holds both ways, and
-- whichever of the two is placed first, until one of them is released and clean.
CREATE TABLE apart (
    allocation_id text COLLATE "C" NOT NULL,
    other_id      text COLLATE "C" NOT NULL,
    tenant_id     text COLLATE "C" NOT NULL,
    PRIMARY KEY (allocation_id, other_id),
    CHECK (allocation_id <> other_id)
);
CREATE INDEX apart_other ON apart (other_id);
SELECT wall_off('apart');
GRANT SELECT ON apart TO {app};
GRANT SELECT, INSERT ON apart TO {system};

-- Both are leases of that tenant. Foreign keys would hold the rows of running leases while a batch
-- holds the fleet's lock, which is not the order of locks. Nothing can break it later: no role may
-- delete a lease, or change whose it is.
CREATE FUNCTION apart_refers() RETURNS trigger
    LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
    IF 2 <> (SELECT count(*) FROM allocations a
            WHERE a.id IN (NEW.allocation_id, NEW.other_id) AND a.tenant_id = NEW.tenant_id) THEN
        RAISE foreign_key_violation USING MESSAGE = format(
            '%s and %s are not two leases of one tenant', NEW.allocation_id, NEW.other_id);
    END IF;
    RETURN NULL;
END $$;
REVOKE EXECUTE ON FUNCTION apart_refers FROM PUBLIC;
CREATE TRIGGER apart_refers AFTER INSERT ON apart FOR EACH ROW EXECUTE FUNCTION apart_refers();

CREATE VIEW invariant_not_apart WITH (security_invoker = true) AS
    SELECT p.allocation_id, p.other_id FROM apart p
    JOIN allocations a ON a.id = p.allocation_id AND a.freed_at IS NULL
    JOIN allocations b ON b.id = p.other_id AND b.freed_at IS NULL AND b.node_id = a.node_id;
GRANT SELECT ON invariant_not_apart TO {system};
