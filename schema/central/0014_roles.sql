-- Who may do what, and where: roles bound to people and programs at any level.

-- `none`: only what bindings give. `finance`: what was used, what it cost, what is left.
ALTER TABLE api_keys
    DROP CONSTRAINT api_keys_role_check,
    DROP CONSTRAINT api_keys_check,
    ADD CHECK (role IN ('platform_admin', 'admin', 'member', 'viewer', 'finance', 'none')),
    ADD CHECK (role = 'none' OR (role = 'platform_admin') = (tenant_id IS NULL)),
    ADD COLUMN service_account_id text COLLATE "C",
    ADD COLUMN owner text COLLATE "C" NOT NULL GENERATED ALWAYS AS (coalesce(tenant_id, '')) STORED,
    ADD UNIQUE (id, owner);
ALTER TABLE users
    DROP CONSTRAINT users_role_check,
    ADD CHECK (role IN ('admin', 'member', 'viewer', 'finance', 'none'));
ALTER TABLE invitations
    DROP CONSTRAINT invitations_role_check,
    ADD CHECK (role IN ('admin', 'member', 'viewer', 'finance', 'none'));
ALTER TABLE realm_clients
    DROP CONSTRAINT realm_clients_role_check,
    ADD CHECK (role IN ('admin', 'member', 'viewer', 'finance', 'none'));

-- Programs that keys belong to. `owner` is the tenant, or '' for the platform: references
-- compare it, which they would not do with a null.
CREATE TABLE service_accounts (
    id          text COLLATE "C" PRIMARY KEY,
    tenant_id   text COLLATE "C" REFERENCES tenants,
    owner       text COLLATE "C" NOT NULL GENERATED ALWAYS AS (coalesce(tenant_id, '')) STORED,
    name        text NOT NULL,
    created_at  timestamptz NOT NULL,
    disabled_at timestamptz,  -- its keys are refused
    UNIQUE (owner, name),
    UNIQUE (id, owner)
);
SELECT wall_off('service_accounts');
GRANT SELECT, INSERT, UPDATE (disabled_at) ON service_accounts TO {app}, {system};
ALTER TABLE api_keys ADD FOREIGN KEY (service_account_id, owner)
    REFERENCES service_accounts (id, owner);
CREATE INDEX api_keys_service_account ON api_keys (service_account_id)
    WHERE service_account_id IS NOT NULL;

CREATE TABLE groups (
    id         text COLLATE "C" PRIMARY KEY,
    tenant_id  text COLLATE "C" REFERENCES tenants,
    owner      text COLLATE "C" NOT NULL GENERATED ALWAYS AS (coalesce(tenant_id, '')) STORED,
    name       text NOT NULL,
    created_at timestamptz NOT NULL,
    UNIQUE (owner, name),
    UNIQUE (id, owner)
);
SELECT wall_off('groups');
-- A row is locked while who is in the group, or what is bound to it, changes: that needs UPDATE.
GRANT SELECT, INSERT, DELETE, UPDATE (name) ON groups TO {app}, {system};

-- Users and service accounts of the same tenant. (The platform has no users.)
CREATE TABLE group_members (
    group_id           text COLLATE "C" NOT NULL,
    member_id          text COLLATE "C" NOT NULL,
    tenant_id          text COLLATE "C",
    owner              text COLLATE "C" NOT NULL
        GENERATED ALWAYS AS (coalesce(tenant_id, '')) STORED,
    kind               text NOT NULL CHECK (kind IN ('user', 'service_account')),
    user_id            text COLLATE "C"
        GENERATED ALWAYS AS (CASE WHEN kind = 'user' THEN member_id END) STORED,
    service_account_id text COLLATE "C"
        GENERATED ALWAYS AS (CASE WHEN kind = 'service_account' THEN member_id END) STORED,
    added_at           timestamptz NOT NULL,
    PRIMARY KEY (group_id, member_id),
    CHECK (kind <> 'user' OR tenant_id IS NOT NULL),
    FOREIGN KEY (group_id, owner) REFERENCES groups (id, owner),
    FOREIGN KEY (user_id, tenant_id) REFERENCES users (id, tenant_id),
    FOREIGN KEY (service_account_id, owner) REFERENCES service_accounts (id, owner)
);
CREATE INDEX group_members_member ON group_members (member_id);
SELECT wall_off('group_members');
GRANT SELECT, INSERT, DELETE ON group_members TO {app}, {system};

-- A role, bound to someone, at a place: it counts for everything in that place. The column
-- `role` of users and keys is their binding at the top, beside these.
CREATE TABLE role_bindings (
    id                 text COLLATE "C" PRIMARY KEY,
    tenant_id          text COLLATE "C" REFERENCES tenants,  -- null: the platform's
    owner              text COLLATE "C" NOT NULL
        GENERATED ALWAYS AS (coalesce(tenant_id, '')) STORED,
    subject            text NOT NULL
        CHECK (subject IN ('user', 'group', 'service_account', 'key', 'client')),
    subject_id         text COLLATE "C" NOT NULL,
    role               text NOT NULL,
    scope              text NOT NULL,
    scope_id           text COLLATE "C" NOT NULL,
    conditions         jsonb NOT NULL DEFAULT '{}',
    created_by         text NOT NULL,
    created_at         timestamptz NOT NULL,
    user_id            text COLLATE "C"
        GENERATED ALWAYS AS (CASE WHEN subject = 'user' THEN subject_id END) STORED,
    group_id           text COLLATE "C"
        GENERATED ALWAYS AS (CASE WHEN subject = 'group' THEN subject_id END) STORED,
    service_account_id text COLLATE "C"
        GENERATED ALWAYS AS (CASE WHEN subject = 'service_account' THEN subject_id END) STORED,
    key_id             text COLLATE "C"
        GENERATED ALWAYS AS (CASE WHEN subject = 'key' THEN subject_id END) STORED,
    client_id          text COLLATE "C"
        GENERATED ALWAYS AS (CASE WHEN subject = 'client' THEN subject_id END) STORED,
    organization_id    text COLLATE "C"
        GENERATED ALWAYS AS (CASE WHEN scope = 'organization' THEN scope_id END) STORED,
    project_id         text COLLATE "C"
        GENERATED ALWAYS AS (CASE WHEN scope = 'project' THEN scope_id END) STORED,
    site_id            text COLLATE "C"
        GENERATED ALWAYS AS (CASE WHEN scope = 'site' THEN scope_id END) STORED,
    UNIQUE (subject_id, role, scope_id),
    -- The same table as access/roles.py; a test compares them.
    CHECK ((role, scope) IN (
        ('platform_admin', 'platform'), ('platform_auditor', 'platform'),
        ('site_operator', 'platform'), ('site_operator', 'site'), ('supplier', 'site'),
        ('admin', 'tenant'), ('org_admin', 'organization'), ('project_admin', 'project'),
        ('member', 'tenant'), ('member', 'organization'), ('member', 'project'),
        ('viewer', 'tenant'), ('viewer', 'organization'), ('viewer', 'project'),
        ('finance', 'platform'), ('finance', 'tenant'), ('finance', 'organization'),
        ('finance', 'project'))),
    CHECK ((tenant_id IS NULL) = (scope IN ('platform', 'site'))),
    CHECK (scope <> 'platform' OR scope_id = 'platform'),
    CHECK (scope <> 'tenant' OR scope_id IS NOT DISTINCT FROM tenant_id),
    CHECK (subject NOT IN ('user', 'client') OR tenant_id IS NOT NULL),
    FOREIGN KEY (user_id, tenant_id) REFERENCES users (id, tenant_id),
    FOREIGN KEY (tenant_id, client_id) REFERENCES realm_clients (tenant_id, id),
    FOREIGN KEY (group_id, owner) REFERENCES groups (id, owner),
    FOREIGN KEY (service_account_id, owner) REFERENCES service_accounts (id, owner),
    FOREIGN KEY (key_id, owner) REFERENCES api_keys (id, owner),
    FOREIGN KEY (organization_id, tenant_id) REFERENCES organizations (id, tenant_id),
    FOREIGN KEY (project_id, tenant_id) REFERENCES projects (id, tenant_id),
    FOREIGN KEY (site_id) REFERENCES sites (id)
);
SELECT wall_off('role_bindings');
GRANT SELECT, INSERT, DELETE ON role_bindings TO {app}, {system};
