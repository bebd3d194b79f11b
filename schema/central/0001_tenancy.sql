-- Who may use the platform, and what it sells.

CREATE TABLE tenants (
    id         text COLLATE "C" PRIMARY KEY,
    tenant_id  text COLLATE "C" NOT NULL GENERATED ALWAYS AS (id) STORED, -- for the wall
    name       text NOT NULL UNIQUE,  -- stays taken when the tenant is gone
    created_at timestamptz NOT NULL,
    status     text NOT NULL DEFAULT 'active' CHECK (
        status IN ('onboarding', 'active', 'suspended', 'offboarding', 'offboarded')),
    status_reason text NOT NULL DEFAULT '',
    status_at     timestamptz  -- null: since it was made
);
CREATE INDEX tenants_offboarding ON tenants (id) WHERE status = 'offboarding';
SELECT wall_off('tenants');
GRANT SELECT ON tenants TO {app};
GRANT SELECT, INSERT, UPDATE ON tenants TO {system};
GRANT DELETE ON tenants TO {system};  -- of one whose onboarding was undone

-- A tenant's departments. Each tenant has one named `default` from the moment it is made.
CREATE TABLE organizations (
    id         text COLLATE "C" PRIMARY KEY,
    tenant_id  text COLLATE "C" NOT NULL REFERENCES tenants,
    name       text NOT NULL,
    created_at timestamptz NOT NULL,
    UNIQUE (tenant_id, name),
    UNIQUE (id, tenant_id)
);
SELECT wall_off('organizations');
GRANT SELECT, INSERT ON organizations TO {app}, {system};
GRANT DELETE ON organizations TO {system};  -- with a tenant whose onboarding was undone

CREATE TABLE projects (
    id              text COLLATE "C" PRIMARY KEY,
    tenant_id       text COLLATE "C" NOT NULL REFERENCES tenants,
    organization_id text COLLATE "C" NOT NULL,
    name            text NOT NULL,
    created_at      timestamptz NOT NULL,
    FOREIGN KEY (organization_id, tenant_id) REFERENCES organizations (id, tenant_id),
    UNIQUE (tenant_id, name),
    UNIQUE (id, tenant_id),
    UNIQUE (id, organization_id, tenant_id)
);
SELECT wall_off('projects');
GRANT SELECT, INSERT ON projects TO {app}, {system};
GRANT DELETE ON projects TO {system};  -- with a tenant whose onboarding was undone

-- Keys for people and scripts. Only a hash is kept; the platform's own have no tenant.
CREATE TABLE api_keys (
    id         text COLLATE "C" PRIMARY KEY,
    tenant_id  text COLLATE "C" REFERENCES tenants,
    name       text NOT NULL,
    role       text NOT NULL CHECK (role IN ('platform_admin', 'admin', 'member', 'viewer')),
    hash       bytea NOT NULL UNIQUE,
    created_at timestamptz NOT NULL,
    CHECK ((role = 'platform_admin') = (tenant_id IS NULL))
);
SELECT wall_off('api_keys');
GRANT SELECT, INSERT ON api_keys TO {app}, {system};

CREATE TABLE skus (
    id                        text COLLATE "C" PRIMARY KEY,
    name                      text NOT NULL UNIQUE,
    shape                     text NOT NULL CHECK (shape IN ('baremetal', 'gpu_slice')),
    family                    text NOT NULL,
    gpu_counts                integer[] NOT NULL CHECK (cardinality(gpu_counts) > 0),
    price_micros_per_gpu_hour bigint NOT NULL CHECK (price_micros_per_gpu_hour >= 0),
    currency                  text NOT NULL CHECK (currency ~ '^[A-Z]{3}$'),
    created_at                timestamptz NOT NULL
);
GRANT SELECT ON skus TO {app};
GRANT SELECT, INSERT ON skus TO {system};
