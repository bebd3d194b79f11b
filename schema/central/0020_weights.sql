-- How much of what comes free a tenant gets, beside others who wait for it too.
ALTER TABLE placement_policies
    ADD COLUMN weight integer NOT NULL DEFAULT 1 CHECK (weight BETWEEN 1 AND 1000);
