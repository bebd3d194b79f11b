-- Networks: pools of numbers and prefixes, and which tenant has what of them.

-- Where a number means something: at one site, or (global) everywhere. Two scopes overlap if a
-- number could meet itself; so a global pool and a site's are kept apart, two sites' are not.
CREATE TYPE scope AS RANGE (subtype = text, collation = "C");

CREATE TABLE pools (
    id         text COLLATE "C" PRIMARY KEY,
    name       text NOT NULL UNIQUE,
    kind       text NOT NULL CHECK (kind IN ('vrf', 'vlan', 'vni', 'pkey', 'ipv4', 'ipv6')),
    site_id    text COLLATE "C" REFERENCES sites,  -- null: global
    scope      scope NOT NULL GENERATED ALWAYS AS (CASE
        WHEN site_id IS NULL THEN scope(NULL, NULL) ELSE scope(site_id, site_id, '[]') END) STORED,
    numbers    int8range,
    prefix     cidr,
    created_at timestamptz NOT NULL,
    created_by text NOT NULL,
    UNIQUE (id, kind),
    CHECK ((kind IN ('ipv4', 'ipv6')) = (prefix IS NOT NULL)),
    CHECK ((kind IN ('ipv4', 'ipv6')) = (numbers IS NULL)),
    CHECK (prefix IS NULL OR family(prefix) = CASE kind WHEN 'ipv4' THEN 4 ELSE 6 END),
    CHECK (numbers IS NULL OR NOT isempty(numbers) AND numbers <@ CASE kind
        WHEN 'vrf' THEN int8range(1, 4294967295, '[]')
        WHEN 'vlan' THEN int8range(1, 4094, '[]')
        WHEN 'vni' THEN int8range(1, 16777215, '[]')
        ELSE int8range(1, 32766, '[]') END),  -- 0x7fff is every host's default partition
    CONSTRAINT pools_numbers_apart EXCLUDE USING gist (kind WITH =, scope WITH &&, numbers WITH &&),
    CONSTRAINT pools_prefixes_apart
        EXCLUDE USING gist (scope WITH &&, prefix inet_ops WITH &&)
);
GRANT SELECT, INSERT ON pools TO {system};

-- What a tenant has. While it has it, nobody else can: the database says so, whatever pool it
-- came from. Rows stay when it is returned: they say who had a number when.
CREATE TABLE assignments (
    id          text COLLATE "C" PRIMARY KEY,
    tenant_id   text COLLATE "C" NOT NULL REFERENCES tenants,
    pool_id     text COLLATE "C" NOT NULL,
    kind        text NOT NULL,
    site_id     text COLLATE "C" REFERENCES sites,
    scope       scope NOT NULL GENERATED ALWAYS AS (CASE
        WHEN site_id IS NULL THEN scope(NULL, NULL) ELSE scope(site_id, site_id, '[]') END) STORED,
    number      bigint,
    prefix      cidr,
    assigned_at timestamptz NOT NULL,
    returned_at timestamptz,  -- null: the tenant has it
    FOREIGN KEY (pool_id, kind) REFERENCES pools (id, kind),
    CHECK ((number IS NULL) <> (prefix IS NULL)),
    CONSTRAINT assignments_numbers_apart EXCLUDE USING gist (
        kind WITH =, scope WITH &&, number WITH =) WHERE (returned_at IS NULL),
    CONSTRAINT assignments_prefixes_apart EXCLUDE USING gist (
        scope WITH &&, prefix inet_ops WITH &&) WHERE (returned_at IS NULL)
);
CREATE INDEX assignments_tenant ON assignments (tenant_id, id);
CREATE INDEX assignments_pool ON assignments (pool_id) WHERE returned_at IS NULL;
-- One VRF, one VNI and one partition key for a tenant in a scope; VLANs and prefixes as many as
-- it needs.
CREATE UNIQUE INDEX assignments_single ON assignments (tenant_id, kind, coalesce(site_id, ''))
    WHERE returned_at IS NULL AND kind IN ('vrf', 'vni', 'pkey');
SELECT wall_off('assignments');
GRANT SELECT ON assignments TO {app};
GRANT SELECT, INSERT, UPDATE (returned_at) ON assignments TO {system};
GRANT DELETE ON assignments TO {system};  -- with a tenant whose onboarding was undone

-- Nothing goes back to a pool while a host may still speak with it: not before the tenant is
-- gone, which it is only when every cleanup was proven.
CREATE FUNCTION assignment_may_end() RETURNS trigger
    LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM tenants WHERE id = OLD.tenant_id AND status = CASE TG_OP
            WHEN 'DELETE' THEN 'onboarding' ELSE 'offboarded' END) THEN
        RAISE integrity_constraint_violation USING MESSAGE = format(
            '%s is still its tenant''s; it cannot be returned to its pool', OLD.id);
    END IF;
    RETURN coalesce(NEW, OLD);
END $$;
CREATE TRIGGER assignment_may_end BEFORE DELETE OR UPDATE OF returned_at ON assignments
    FOR EACH ROW EXECUTE FUNCTION assignment_may_end();

CREATE VIEW invariant_assignment_outside_its_pool WITH (security_invoker = true) AS
    SELECT a.id FROM assignments a JOIN pools p ON p.id = a.pool_id
    WHERE a.site_id IS DISTINCT FROM p.site_id
        OR NOT coalesce(a.number <@ p.numbers, a.prefix <<= p.prefix, false);

CREATE VIEW invariant_offboarded_tenant_holds_networks WITH (security_invoker = true) AS
    SELECT a.id FROM assignments a JOIN tenants t ON t.id = a.tenant_id
    WHERE a.returned_at IS NULL AND t.status = 'offboarded';

GRANT SELECT ON invariant_assignment_outside_its_pool, invariant_offboarded_tenant_holds_networks
    TO {system};
