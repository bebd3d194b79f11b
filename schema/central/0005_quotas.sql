-- How much may be held and spent: quotas, and the balances of those who pay beforehand.

-- At most so much of a kind: GPUs at once (of a family or, family '', of all), whole nodes,
-- clusters and VLANs at once, bytes of all volumes together, micro-units of a currency in a
-- calendar month (UTC). A scope without a line has no limit of its own; whoever leases must fit
-- into every line above it.
CREATE TABLE quotas (
    tenant_id       text COLLATE "C" NOT NULL REFERENCES tenants,
    scope           text NOT NULL CHECK (scope IN ('tenant', 'organization', 'project')),
    scope_id        text COLLATE "C" NOT NULL,
    family          text NOT NULL,
    most            bigint NOT NULL CHECK (most >= 0),
    kind            text NOT NULL DEFAULT 'gpus'
        CHECK (kind IN ('gpus', 'nodes', 'clusters', 'volumes', 'vlans', 'spend')),
    currency        text NOT NULL DEFAULT '',
    organization_id text COLLATE "C"
        GENERATED ALWAYS AS (CASE WHEN scope = 'organization' THEN scope_id END) STORED,
    project_id      text COLLATE "C"
        GENERATED ALWAYS AS (CASE WHEN scope = 'project' THEN scope_id END) STORED,
    PRIMARY KEY (scope_id, kind, family, currency),
    CHECK (scope <> 'tenant' OR scope_id = tenant_id),
    CHECK (kind = 'gpus' OR family = ''),
    CHECK (currency ~ CASE kind WHEN 'spend' THEN '^[A-Z]{3}$' ELSE '^$' END),
    CHECK (kind <> 'vlans' OR scope = 'tenant'),  -- networks are the whole tenant's
    FOREIGN KEY (organization_id, tenant_id) REFERENCES organizations (id, tenant_id),
    FOREIGN KEY (project_id, tenant_id) REFERENCES projects (id, tenant_id)
);
CREATE INDEX quotas_tenant ON quotas (tenant_id, kind, family);
SELECT wall_off('quotas');
GRANT SELECT, INSERT, DELETE ON quotas TO {app};
GRANT UPDATE (most) ON quotas TO {app};
GRANT SELECT, INSERT, UPDATE, DELETE ON quotas TO {system};
-- What a tenant as a whole may hold is the platform's to say.
CREATE POLICY below_tenant_insert ON quotas AS RESTRICTIVE FOR INSERT TO {app}
    WITH CHECK (scope <> 'tenant');
CREATE POLICY below_tenant_update ON quotas AS RESTRICTIVE FOR UPDATE TO {app}
    USING (scope <> 'tenant') WITH CHECK (scope <> 'tenant');
CREATE POLICY below_tenant_delete ON quotas AS RESTRICTIVE FOR DELETE TO {app}
    USING (scope <> 'tenant');

-- How many GPUs, and whole nodes, each project holds now, those being cleaned included. Only the
-- trigger below writes it, in the statement that changes an allocation.
CREATE TABLE gpus_held (
    tenant_id       text COLLATE "C" NOT NULL,
    organization_id text COLLATE "C" NOT NULL,
    project_id      text COLLATE "C" NOT NULL,
    family          text NOT NULL,
    gpus            bigint NOT NULL CHECK (gpus >= 0),
    nodes           bigint NOT NULL DEFAULT 0 CHECK (nodes >= 0),
    PRIMARY KEY (project_id, family),
    FOREIGN KEY (project_id, organization_id, tenant_id)
        REFERENCES projects (id, organization_id, tenant_id)
);
CREATE INDEX gpus_held_tenant ON gpus_held (tenant_id);
SELECT wall_off('gpus_held');
GRANT SELECT ON gpus_held TO {app};
GRANT SELECT, INSERT, UPDATE ON gpus_held TO {system};

-- An allocation counts while it has a node and is not freed. Runs as the system role, since
-- a tenant's own transaction updates allocations (it asks for release) but may not write
-- what is held. Nobody may execute it: firing needs no right, but whoever could attach it
-- to a table of their own (a temporary one is enough) could make it count what they like.
CREATE FUNCTION count_gpus_held() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO gpus_held AS h (tenant_id, organization_id, project_id, family, gpus, nodes)
        SELECT p.tenant_id, p.organization_id, p.id, a.family, sum(a.gpus),
            count(*) FILTER (WHERE a.shape = 'baremetal')
        FROM after_rows a JOIN projects p ON p.id = a.project_id
        WHERE a.node_id IS NOT NULL AND a.freed_at IS NULL
        GROUP BY p.id, a.family ORDER BY p.id, a.family
        ON CONFLICT (project_id, family)
        DO UPDATE SET gpus = h.gpus + excluded.gpus, nodes = h.nodes + excluded.nodes;
        RETURN NULL;
    END IF;
    -- Most updates change nothing that counts, and then write nothing. Where anything shrinks
    -- there is a row already; the two halves never touch the same row.
    WITH counted AS (
        SELECT project_id, family, gpus, (shape = 'baremetal')::int AS nodes FROM after_rows
        WHERE node_id IS NOT NULL AND freed_at IS NULL
        UNION ALL
        SELECT project_id, family, -gpus, -(shape = 'baremetal')::int FROM before_rows
        WHERE node_id IS NOT NULL AND freed_at IS NULL
    ), change AS (
        SELECT project_id, family, sum(gpus) AS gpus, sum(nodes) AS nodes FROM counted
        GROUP BY project_id, family HAVING sum(gpus) <> 0 OR sum(nodes) <> 0
    ), given_back AS (
        UPDATE gpus_held h SET gpus = h.gpus + c.gpus, nodes = h.nodes + c.nodes FROM change c
        WHERE h.project_id = c.project_id AND h.family = c.family AND (c.gpus < 0 OR c.nodes < 0)
    )
    INSERT INTO gpus_held AS h (tenant_id, organization_id, project_id, family, gpus, nodes)
    SELECT p.tenant_id, p.organization_id, p.id, c.family, c.gpus, c.nodes
    FROM change c JOIN projects p ON p.id = c.project_id
    WHERE c.gpus >= 0 AND c.nodes >= 0 ORDER BY p.id, c.family
    ON CONFLICT (project_id, family)
    DO UPDATE SET gpus = h.gpus + excluded.gpus, nodes = h.nodes + excluded.nodes;
    RETURN NULL;
END $$;
GRANT CREATE ON SCHEMA public TO {system};  -- an owner must have it while it becomes one
CREATE TRIGGER count_inserted AFTER INSERT ON allocations
    REFERENCING NEW TABLE AS after_rows
    FOR EACH STATEMENT EXECUTE FUNCTION count_gpus_held();
CREATE TRIGGER count_updated AFTER UPDATE ON allocations
    REFERENCING OLD TABLE AS before_rows NEW TABLE AS after_rows
    FOR EACH STATEMENT EXECUTE FUNCTION count_gpus_held();
ALTER FUNCTION count_gpus_held OWNER TO {system};
REVOKE CREATE ON SCHEMA public FROM {system};
REVOKE EXECUTE ON FUNCTION count_gpus_held FROM PUBLIC;

CREATE VIEW invariant_gpus_held_out_of_step WITH (security_invoker = true) AS
    SELECT project_id, family FROM gpus_held h FULL JOIN (
        SELECT project_id, family, sum(gpus) AS gpus,
            count(*) FILTER (WHERE shape = 'baremetal') AS nodes
        FROM allocations
        WHERE node_id IS NOT NULL AND freed_at IS NULL GROUP BY project_id, family
    ) AS truth USING (project_id, family)
    WHERE (coalesce(h.gpus, 0), coalesce(h.nodes, 0))
        <> (coalesce(truth.gpus, 0), coalesce(truth.nodes, 0));

CREATE VIEW invariant_quota_above_parent WITH (security_invoker = true) AS
    SELECT child.scope_id, child.kind, child.family FROM quotas child
    LEFT JOIN projects p ON p.id = child.project_id
    JOIN quotas parent ON parent.tenant_id = child.tenant_id
        AND (parent.kind, parent.family, parent.currency)
            = (child.kind, child.family, child.currency)
        AND (parent.scope = 'tenant' AND child.scope <> 'tenant'
            OR parent.organization_id = p.organization_id)
    WHERE child.most > parent.most;

GRANT SELECT ON invariant_gpus_held_out_of_step, invariant_quota_above_parent TO {system};

-- What is left of prepaid money: credited − the sum of debited. No row: the tenant pays
-- afterwards, and nothing is checked. One currency per balance.
CREATE TABLE balances (
    tenant_id       text COLLATE "C" PRIMARY KEY REFERENCES tenants,
    currency        text NOT NULL CHECK (currency ~ '^[A-Z]{3}$'),
    credited_micros bigint NOT NULL CHECK (credited_micros > 0)
);
SELECT wall_off('balances');
GRANT SELECT ON balances TO {app};
GRANT SELECT, INSERT, UPDATE ON balances TO {system};

CREATE TABLE credits (
    id            text COLLATE "C" PRIMARY KEY,
    tenant_id     text COLLATE "C" NOT NULL REFERENCES balances,
    amount_micros bigint NOT NULL CHECK (amount_micros > 0),
    currency      text NOT NULL,
    reason        text NOT NULL,
    created_by    text NOT NULL,
    created_at    timestamptz NOT NULL
);
CREATE INDEX credits_tenant ON credits (tenant_id, id);
SELECT wall_off('credits');
GRANT SELECT ON credits TO {app};
GRANT SELECT, INSERT ON credits TO {system};

-- What ended usage cost, by site: only the site's own inbox writes its rows, so two sites
-- that report at once never wait for each other (their transactions hold other locks).
CREATE TABLE debits (
    tenant_id      text COLLATE "C" NOT NULL REFERENCES balances,
    site_id        text COLLATE "C" NOT NULL REFERENCES sites,
    debited_micros bigint NOT NULL CHECK (debited_micros >= 0),
    PRIMARY KEY (tenant_id, site_id)
);
SELECT wall_off('debits');
GRANT SELECT ON debits TO {app};
GRANT SELECT, INSERT, UPDATE ON debits TO {system};

-- What so many GPUs cost for a time: whole micro-units, rounded down. The same as
-- usage.cost_micros. `div` because dividing numerics rounds.
CREATE FUNCTION cost_micros(
    since timestamptz, until timestamptz, gpus integer, price_micros_per_gpu_hour bigint)
    RETURNS numeric LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN div(greatest(0, extract(epoch FROM until - since) * 1000000)
        * gpus * price_micros_per_gpu_hour, 3600000000);

CREATE INDEX usage_segments_open ON usage_segments (tenant_id) WHERE upper_inf(during);
CREATE INDEX allocations_unfreed ON allocations (tenant_id) WHERE freed_at IS NULL;

-- Credits and debits add up, and each debit is what its usage cost.
CREATE VIEW invariant_balance_out_of_step WITH (security_invoker = true) AS
    SELECT b.tenant_id FROM balances b
    WHERE b.credited_micros <> (
            SELECT coalesce(sum(amount_micros), 0) FROM credits c WHERE c.tenant_id = b.tenant_id)
        OR (SELECT coalesce(sum(debited_micros), 0) FROM debits d WHERE d.tenant_id = b.tenant_id)
        <> (SELECT coalesce(sum(debited_micros), 0) FROM usage_segments u
            WHERE u.tenant_id = b.tenant_id);

CREATE VIEW invariant_debit_is_not_the_cost WITH (security_invoker = true) AS
    SELECT allocation_id FROM usage_segments
    WHERE debited_micros IS NOT NULL AND (upper_inf(during) OR debited_micros <> cost_micros(
        lower(during), upper(during), gpus, price_micros_per_gpu_hour));

GRANT SELECT ON invariant_balance_out_of_step, invariant_debit_is_not_the_cost TO {system};
