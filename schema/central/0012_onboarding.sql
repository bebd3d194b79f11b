-- How tenants come and go: templates, onboardings, and what must be true before one is gone.

-- What a tenant is given unless its file says otherwise. One of a site is a compute source's
-- own: whoever is onboarded with it is bound to that site.
CREATE TABLE templates (
    id               text COLLATE "C" PRIMARY KEY,
    name             text NOT NULL UNIQUE,
    site_id          text COLLATE "C" REFERENCES sites,
    revision         bigint NOT NULL CHECK (revision > 0),  -- counts its changes
    skus             text[] CHECK (cardinality(skus) BETWEEN 1 AND 64),    -- names; null: any
    sites            text[] CHECK (cardinality(sites) BETWEEN 1 AND 64),   -- ids; null: any
    images           text[] CHECK (cardinality(images) BETWEEN 1 AND 64),  -- names; null: any
    families         text[] CHECK (cardinality(families) BETWEEN 1 AND 64),
    residency        text[] NOT NULL CHECK (cardinality(residency) <= 32),
    strategy         text NOT NULL CHECK (strategy IN ('pack', 'spread')),
    price_micros_max bigint CHECK (price_micros_max >= 0),
    quotas           jsonb NOT NULL,  -- the most of each: {"gpus": 8, "gpus:h100": 4, "spend:USD": 9}
    changed_at       timestamptz NOT NULL,
    changed_by       text NOT NULL,
    CHECK (site_id IS NULL OR sites = ARRAY[site_id])
);
GRANT SELECT, INSERT, UPDATE ON templates TO {system};

-- An onboarding: seven steps, each one transaction with the row that says how far it came. So
-- whoever finds the row, in whichever process, goes on at the next step.
CREATE TABLE onboardings (
    id             text COLLATE "C" PRIMARY KEY,
    tenant_id      text COLLATE "C",  -- null until the first step made or found it
    name           text NOT NULL,     -- of the tenant
    file           jsonb NOT NULL,    -- what was asked for, as it was checked
    status         text NOT NULL CHECK (status IN ('running', 'undoing', 'done', 'undone')),
    founded        boolean NOT NULL DEFAULT false,  -- it made the tenant
    steps          jsonb NOT NULL,    -- in order: how each went, and what its undo needs
    reason         text NOT NULL DEFAULT '',  -- why it is undone
    failures       integer NOT NULL DEFAULT 0,
    retry_at       timestamptz,       -- an undo broke: not before this
    created_by     text NOT NULL,
    correlation_id text NOT NULL,
    created_at     timestamptz NOT NULL,
    finished_at    timestamptz,
    CHECK ((finished_at IS NULL) = (status IN ('running', 'undoing')))
);
-- One at a time for each name: two files cannot pull at one tenant.
CREATE UNIQUE INDEX onboardings_open ON onboardings (name) WHERE finished_at IS NULL;
SELECT wall_off('onboardings');
GRANT SELECT ON onboardings TO {app};
GRANT SELECT, INSERT, UPDATE ON onboardings TO {system};

-- A tenant is gone when nothing of it runs: no lease without a cleanup proof is left behind.
CREATE FUNCTION tenant_holds_nothing() RETURNS trigger
    LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
    IF EXISTS (SELECT FROM allocations WHERE tenant_id = NEW.id AND freed_at IS NULL
            AND (placed_at IS NOT NULL OR desired = 'active')) THEN
        RAISE integrity_constraint_violation USING MESSAGE = format(
            '%s holds leases whose cleanup is not proven; it cannot be offboarded', NEW.id);
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER tenant_holds_nothing BEFORE INSERT OR UPDATE OF status ON tenants
    FOR EACH ROW WHEN (NEW.status = 'offboarded') EXECUTE FUNCTION tenant_holds_nothing();

CREATE VIEW invariant_offboarded_tenant_holds_leases WITH (security_invoker = true) AS
    SELECT t.id FROM tenants t WHERE t.status IN ('onboarding', 'offboarded')
        AND EXISTS (SELECT FROM allocations a WHERE a.tenant_id = t.id AND a.freed_at IS NULL
            AND (a.placed_at IS NOT NULL OR a.desired = 'active'));

-- Whoever is being onboarded has an onboarding that still goes on.
CREATE VIEW invariant_onboarding_abandoned WITH (security_invoker = true) AS
    SELECT t.id FROM tenants t WHERE t.status = 'onboarding' AND NOT EXISTS (
        SELECT FROM onboardings o WHERE o.tenant_id = t.id AND o.finished_at IS NULL);

GRANT SELECT ON invariant_offboarded_tenant_holds_leases, invariant_onboarding_abandoned
    TO {system};
