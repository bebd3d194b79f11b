-- Usage lies within its lease, whatever a site says of times.

-- When central learned of the end: no usage ends later than that. The microsecond is the least
-- that a segment lasts, so that one which ended as it began is kept.
ALTER TABLE usage_segments ADD COLUMN end_known_at timestamptz;
UPDATE usage_segments SET end_known_at = upper(during);
ALTER TABLE usage_segments ADD CONSTRAINT ends_when_known CHECK (
    upper_inf(during) = (end_known_at IS NULL)
    AND (upper_inf(during) OR upper(during) <= end_known_at + interval '1 microsecond'));

-- No report can undo usage.
REVOKE DELETE ON usage_segments FROM {system};

CREATE FUNCTION usage_begins_within_lease() RETURNS trigger
    LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM allocations a
            WHERE a.id = NEW.allocation_id AND a.placed_at <= lower(NEW.during)) THEN
        RAISE check_violation USING MESSAGE = format(
            'usage of %s cannot begin before it was placed', NEW.allocation_id);
    END IF;
    RETURN NULL;
END $$;
REVOKE EXECUTE ON FUNCTION usage_begins_within_lease FROM PUBLIC;
CREATE TRIGGER usage_begins_within_lease AFTER INSERT OR UPDATE OF during ON usage_segments
    FOR EACH ROW EXECUTE FUNCTION usage_begins_within_lease();

-- A time that a site reported and that cannot be. Another counts until an operator settles it.
CREATE TABLE disputes (
    id             text COLLATE "C" PRIMARY KEY,
    allocation_id  text COLLATE "C" NOT NULL REFERENCES allocations,
    tenant_id      text COLLATE "C" NOT NULL,
    project_id     text COLLATE "C" NOT NULL,
    site_id        text COLLATE "C" NOT NULL REFERENCES sites,
    edge           text NOT NULL CHECK (edge IN ('begin', 'end')),
    reported_at    timestamptz,           -- null: the site said no time at all
    earliest_at    timestamptz NOT NULL,  -- it cannot have been before
    latest_at      timestamptz NOT NULL,  -- nor after: central knew of it
    counted_at     timestamptz NOT NULL,
    reason         text NOT NULL,
    opened_at      timestamptz NOT NULL,
    settled_at     timestamptz,
    settled_by     text NOT NULL DEFAULT '',
    settled_reason text NOT NULL DEFAULT '',
    UNIQUE (allocation_id, edge),
    CHECK (counted_at BETWEEN earliest_at AND latest_at)
);
CREATE INDEX disputes_tenant ON disputes (tenant_id, id);
SELECT wall_off('disputes');
GRANT SELECT ON disputes TO {app};
GRANT SELECT, INSERT, UPDATE (counted_at, settled_at, settled_by, settled_reason)
    ON disputes TO {system};

-- Charged time is within the life of its lease: from its placement until its slots were free.
CREATE VIEW invariant_usage_outside_its_lease WITH (security_invoker = true) AS
    SELECT u.allocation_id FROM usage_segments u
    LEFT JOIN allocations a ON a.id = u.allocation_id
    WHERE a.placed_at IS NULL OR lower(u.during) < a.placed_at
        OR (upper_inf(u.during) AND a.freed_at IS NOT NULL)
        OR upper(u.during) > coalesce(a.freed_at, now()) + interval '1 microsecond';

-- Each is an alert until an operator settles it.
CREATE VIEW invariant_dispute_open WITH (security_invoker = true) AS
    SELECT id, allocation_id, reason FROM disputes WHERE settled_at IS NULL;

GRANT SELECT ON invariant_usage_outside_its_lease, invariant_dispute_open TO {system};

CREATE OR REPLACE VIEW known_things WITH (security_invoker = true) AS
    SELECT 'tenant' AS noun, id AS reference FROM tenants
    UNION ALL SELECT 'tenant', name FROM tenants
    UNION ALL SELECT 'organization', id FROM organizations
    UNION ALL SELECT 'project', id FROM projects
    UNION ALL SELECT 'key', id FROM api_keys
    UNION ALL SELECT 'site', id FROM sites
    UNION ALL SELECT 'site', name FROM sites
    UNION ALL SELECT 'node', id FROM nodes
    UNION ALL SELECT 'slot', id FROM slots
    UNION ALL SELECT 'allocation', id FROM allocations
    UNION ALL SELECT 'user', id FROM users
    UNION ALL SELECT 'session', id FROM sessions
    UNION ALL SELECT 'client', id FROM realm_clients
    UNION ALL SELECT 'provider', id FROM identity_providers
    UNION ALL SELECT 'template', id FROM templates
    UNION ALL SELECT 'template', name FROM templates
    UNION ALL SELECT 'onboarding', id FROM onboardings
    UNION ALL SELECT 'pool', id FROM pools
    UNION ALL SELECT 'pool', name FROM pools
    UNION ALL SELECT 'service_account', id FROM service_accounts
    UNION ALL SELECT 'group', id FROM groups
    UNION ALL SELECT 'role', id FROM role_bindings
    UNION ALL SELECT 'dispute', id FROM disputes;
