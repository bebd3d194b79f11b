-- How steady each node's link is, and what central was told of it. A link that comes and goes is
-- not one by which a lease can be realized: its node counts as connected once a link has held.
ALTER TABLE nodes
    ADD COLUMN connected_at timestamptz,  -- when the link that `connected` speaks of came
    ADD COLUMN present boolean NOT NULL DEFAULT false,  -- what central was told last
    ADD COLUMN flaps integer NOT NULL DEFAULT 0 CHECK (flaps BETWEEN 0 AND 1000),
    ADD COLUMN flapped_at timestamptz,  -- when a link last ended too early, or by a fault
    ADD CONSTRAINT flaps_have_a_time CHECK (flaps = 0 OR flapped_at IS NOT NULL);
UPDATE nodes SET present = connected;
