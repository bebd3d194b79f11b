-- A lease whose end is set is released when it comes (central/allocations/ending.py). Its tenant is
-- warned before, once.
ALTER TABLE allocations ADD COLUMN warned_at timestamptz;  -- its tenant was told that the end is near
COMMENT ON COLUMN allocations.ends_at IS 'it is released then, or waits no longer; null: no end is set';

-- Whoever waits, waits no longer than until its end.
UPDATE allocations SET expires_at = ends_at WHERE placed_at IS NULL AND expires_at > ends_at;
ALTER TABLE allocations ADD CONSTRAINT waits_no_longer_than_its_end CHECK (
    placed_at IS NOT NULL OR ends_at IS NULL OR expires_at <= ends_at);

-- To find the next that ends, and the next that is to be warned.
CREATE INDEX allocations_to_end ON allocations (ends_at)
    WHERE placed_at IS NOT NULL AND desired = 'active' AND ends_at IS NOT NULL;
CREATE INDEX allocations_to_warn ON allocations (ends_at)
    WHERE placed_at IS NOT NULL AND desired = 'active' AND ends_at IS NOT NULL
        AND warned_at IS NULL;

-- Nothing releases it, though its end came minutes ago.
CREATE VIEW invariant_lease_outlives_its_end WITH (security_invoker = true) AS
    SELECT id FROM allocations
    WHERE placed_at IS NOT NULL AND desired = 'active'
        AND ends_at < now() - interval '5 minutes';
GRANT SELECT ON invariant_lease_outlives_its_end TO {system};
