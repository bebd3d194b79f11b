-- What quotas count: what each month has cost, and how much is used of every kind of limit.

-- The calendar month (UTC) of a time, and when a month begins.
CREATE FUNCTION month_of(at timestamptz) RETURNS date LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN date_trunc('month', at AT TIME ZONE 'UTC')::date;
CREATE FUNCTION month_began(month date) RETURNS timestamptz LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN month::timestamp AT TIME ZONE 'UTC';

-- What ended usage cost each project in each month, by site: like `debits`, only the site's own
-- inbox writes its rows. Usage that spans months is cut where they meet, each part rounded down.
-- Only the trigger below writes it, in the statement that ends the usage.
CREATE TABLE spent (
    tenant_id       text COLLATE "C" NOT NULL,
    organization_id text COLLATE "C" NOT NULL,
    project_id      text COLLATE "C" NOT NULL,
    site_id         text COLLATE "C" NOT NULL REFERENCES sites,
    currency        text NOT NULL,
    month           date NOT NULL CHECK (extract(day FROM month) = 1),
    micros          bigint NOT NULL CHECK (micros >= 0),
    PRIMARY KEY (project_id, month, currency, site_id),
    FOREIGN KEY (project_id, organization_id, tenant_id)
        REFERENCES projects (id, organization_id, tenant_id)
);
CREATE INDEX spent_tenant ON spent (tenant_id, month);
SELECT wall_off('spent');
GRANT SELECT ON spent TO {app};
GRANT SELECT, INSERT, UPDATE ON spent TO {system};

-- What usage that has ended cost, month by month.
CREATE FUNCTION monthly_costs(
    during tstzrange, gpus integer, price_micros_per_gpu_hour bigint)
    RETURNS TABLE (month date, micros bigint) LANGUAGE sql IMMUTABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT m.month::date, cost_micros(greatest(lower(during), m.month AT TIME ZONE 'UTC'),
        least(upper(during), (m.month + interval '1 month') AT TIME ZONE 'UTC'),
        gpus, price_micros_per_gpu_hour)::bigint
    FROM generate_series(month_of(lower(during))::timestamp,
        month_of(upper(during))::timestamp, interval '1 month') AS m (month);
END;

CREATE FUNCTION count_spent() RETURNS trigger
    LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
    IF TG_OP <> 'INSERT' AND NOT upper_inf(OLD.during) THEN
        UPDATE spent s SET micros = s.micros - c.micros
        FROM allocations a,
            monthly_costs(OLD.during, OLD.gpus, OLD.price_micros_per_gpu_hour) AS c
        WHERE a.id = OLD.allocation_id AND s.project_id = OLD.project_id
            AND s.site_id = a.site_id AND s.currency = OLD.currency AND s.month = c.month;
    END IF;
    IF TG_OP <> 'DELETE' AND NOT upper_inf(NEW.during) THEN
        INSERT INTO spent AS s
            (tenant_id, organization_id, project_id, site_id, currency, month, micros)
        SELECT p.tenant_id, p.organization_id, p.id, a.site_id, NEW.currency, c.month, c.micros
        FROM allocations a, projects p,
            monthly_costs(NEW.during, NEW.gpus, NEW.price_micros_per_gpu_hour) AS c
        WHERE a.id = NEW.allocation_id AND p.id = NEW.project_id ORDER BY c.month
        ON CONFLICT (project_id, month, currency, site_id)
        DO UPDATE SET micros = s.micros + excluded.micros;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER count_spent AFTER INSERT OR DELETE
    OR UPDATE OF during, gpus, price_micros_per_gpu_hour, currency ON usage_segments
    FOR EACH ROW EXECUTE FUNCTION count_spent();

-- What a scope uses of a kind, at a time. The one definition of "used". `due` is what an hour of
-- all that lives will cost, and 0 for what is not money. A query that calls it is planned as if
-- this text stood in it, and each branch costs only those who have such a line.
CREATE FUNCTION quota_use(
    tenant text, level text, scope text, kind text, family text, currency text, at timestamptz)
    RETURNS TABLE (used bigint, due bigint) LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT CASE quota_use.kind
        WHEN 'gpus' THEN (
            SELECT coalesce(sum(h.gpus), 0)::bigint FROM gpus_held h
            WHERE h.tenant_id = tenant AND quota_use.family IN ('', h.family) AND CASE level
                WHEN 'organization' THEN h.organization_id = scope
                WHEN 'project' THEN h.project_id = scope ELSE true END)
        WHEN 'nodes' THEN (
            SELECT coalesce(sum(h.nodes), 0)::bigint FROM gpus_held h
            WHERE h.tenant_id = tenant AND CASE level
                WHEN 'organization' THEN h.organization_id = scope
                WHEN 'project' THEN h.project_id = scope ELSE true END)
        WHEN 'clusters' THEN 0::bigint  -- until there are clusters: their count goes here
        WHEN 'volumes' THEN 0::bigint  -- until there are volumes: the sum of their bytes
        WHEN 'vlans' THEN (
            SELECT count(*) FROM assignments a
            WHERE a.tenant_id = tenant AND a.kind = 'vlan' AND a.returned_at IS NULL)
        WHEN 'spend' THEN (
            SELECT coalesce(sum(s.micros), 0) FROM spent s
            WHERE s.tenant_id = tenant AND s.month = month_of(at)
                AND s.currency = quota_use.currency AND CASE level
                WHEN 'organization' THEN s.organization_id = scope
                WHEN 'project' THEN s.project_id = scope ELSE true END
        )::bigint + (
            SELECT coalesce(sum(cost_micros(greatest(lower(u.during), month_began(month_of(at))),
                at, u.gpus, u.price_micros_per_gpu_hour)), 0)
            FROM usage_segments u JOIN projects p ON p.id = u.project_id
            WHERE u.tenant_id = tenant AND upper_inf(u.during)
                AND u.currency = quota_use.currency AND CASE level
                WHEN 'organization' THEN p.organization_id = scope
                WHEN 'project' THEN p.id = scope ELSE true END
        )::bigint
        END,
        CASE quota_use.kind WHEN 'spend' THEN (
            SELECT coalesce(sum(a.gpus * a.price_micros_per_gpu_hour), 0)
            FROM allocations a JOIN projects p ON p.id = a.project_id
            WHERE a.tenant_id = tenant AND a.freed_at IS NULL AND a.node_id IS NOT NULL
                AND (a.desired = 'active' OR a.observed = 'active')
                AND a.currency = quota_use.currency AND CASE level
                WHEN 'organization' THEN p.organization_id = scope
                WHEN 'project' THEN p.id = scope ELSE true END
        )::bigint ELSE 0 END;
END;

-- Money is spent while a lease runs, whatever its limit: only what is held cannot be exceeded.
CREATE VIEW invariant_quota_exceeded WITH (security_invoker = true) AS
    SELECT q.scope_id, q.kind, q.family FROM quotas q CROSS JOIN LATERAL quota_use(
        q.tenant_id, q.scope, q.scope_id, q.kind, q.family, q.currency, now()) AS u
    WHERE q.kind <> 'spend' AND u.used > q.most;

CREATE VIEW invariant_spent_out_of_step WITH (security_invoker = true) AS
    SELECT project_id, month, currency, site_id FROM spent s FULL JOIN (
        SELECT u.project_id, a.site_id, u.currency, c.month, sum(c.micros) AS micros
        FROM usage_segments u JOIN allocations a ON a.id = u.allocation_id,
            monthly_costs(u.during, u.gpus, u.price_micros_per_gpu_hour) AS c
        WHERE NOT upper_inf(u.during)
        GROUP BY u.project_id, a.site_id, u.currency, c.month
    ) AS truth USING (project_id, month, currency, site_id)
    WHERE coalesce(s.micros, 0) <> coalesce(truth.micros, 0);

GRANT SELECT ON invariant_quota_exceeded, invariant_spent_out_of_step TO {system};
