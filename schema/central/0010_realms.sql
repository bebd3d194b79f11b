-- A realm per tenant: who its people are, how they prove it, and what was issued to them.
-- Secrets are here only as hashes, or sealed with a key that is not in the database.

CREATE TABLE realms (
    tenant_id  text COLLATE "C" PRIMARY KEY REFERENCES tenants,
    name       text NOT NULL UNIQUE,  -- the end of its issuer: never changed, never given again
    created_at timestamptz NOT NULL,
    suspended_at timestamptz          -- nobody comes in, and no token of it is believed
);
SELECT wall_off('realms');
GRANT SELECT ON realms TO {app};
GRANT SELECT, INSERT, UPDATE (suspended_at) ON realms TO {system};
GRANT DELETE ON realms TO {system};  -- with a tenant whose onboarding was undone

-- Signing keys. The next one is published before it signs, so that whoever caches keys knows
-- it in time; a retired one is published until what it signed has run out.
CREATE TABLE realm_keys (
    kid        text COLLATE "C" PRIMARY KEY,
    tenant_id  text COLLATE "C" NOT NULL REFERENCES realms ON DELETE CASCADE,
    state      text NOT NULL CHECK (state IN ('next', 'current', 'retired', 'distrusted')),
    public     jsonb NOT NULL,
    sealed     bytea NOT NULL,
    created_at timestamptz NOT NULL,
    changed_at timestamptz NOT NULL
);
CREATE UNIQUE INDEX realm_keys_current ON realm_keys (tenant_id) WHERE state = 'current';
CREATE UNIQUE INDEX realm_keys_next ON realm_keys (tenant_id) WHERE state = 'next';
SELECT wall_off('realm_keys');
GRANT SELECT (kid, tenant_id, state, public, created_at, changed_at), INSERT,
    UPDATE (state, changed_at) ON realm_keys TO {app};
GRANT SELECT, INSERT, UPDATE ON realm_keys TO {system};

CREATE TABLE realm_clients (
    tenant_id     text COLLATE "C" NOT NULL REFERENCES realms ON DELETE CASCADE,
    id            text COLLATE "C" NOT NULL,
    name          text NOT NULL,
    secret_hash   bytea,           -- null: public, so it must use PKCE or the device flow
    redirect_uris text[] NOT NULL,
    grants        text[] NOT NULL,
    scopes        text[] NOT NULL,
    role          text CHECK (role IN ('admin', 'member', 'viewer')),  -- when it acts for itself
    trusted       boolean NOT NULL,  -- ours: people are not asked for consent
    created_at    timestamptz NOT NULL,
    disabled_at   timestamptz,
    PRIMARY KEY (tenant_id, id),
    CHECK ('client_credentials' <> ALL (grants) OR (secret_hash IS NOT NULL AND role IS NOT NULL))
);
SELECT wall_off('realm_clients');
GRANT SELECT, INSERT, UPDATE (disabled_at) ON realm_clients TO {app}, {system};

CREATE TABLE users (
    id           text COLLATE "C" PRIMARY KEY,
    tenant_id    text COLLATE "C" NOT NULL REFERENCES realms,
    email        text NOT NULL CHECK (email = lower(email)),
    name         text NOT NULL,
    role         text NOT NULL CHECK (role IN ('admin', 'member', 'viewer')),
    password     text,      -- argon2id; null: comes in through another issuer
    totp         bytea,     -- sealed; null: no second factor
    totp_step    bigint NOT NULL DEFAULT 0,  -- the last step used: a code is good once
    failures     integer NOT NULL DEFAULT 0,
    locked_until timestamptz,
    created_at   timestamptz NOT NULL,
    disabled_at  timestamptz,
    UNIQUE (tenant_id, email),
    UNIQUE (id, tenant_id)
);
SELECT wall_off('users');
GRANT SELECT, INSERT,
    UPDATE (name, role, password, totp, totp_step, failures, locked_until, disabled_at)
    ON users TO {app}, {system};

CREATE TABLE invitations (
    id          text COLLATE "C" PRIMARY KEY,
    tenant_id   text COLLATE "C" NOT NULL REFERENCES realms ON DELETE CASCADE,
    email       text NOT NULL,
    role        text NOT NULL CHECK (role IN ('admin', 'member', 'viewer')),
    hash        bytea NOT NULL UNIQUE,
    created_at  timestamptz NOT NULL,
    expires_at  timestamptz NOT NULL,
    accepted_at timestamptz
);
SELECT wall_off('invitations');
GRANT SELECT, INSERT, UPDATE (accepted_at) ON invitations TO {app}, {system};

-- Who is in: a browser by its cookie, or a client by its refresh tokens. A token says which
-- session it belongs to, and dies with it.
CREATE TABLE sessions (
    id           text COLLATE "C" PRIMARY KEY,
    tenant_id    text COLLATE "C" NOT NULL REFERENCES realms,
    user_id      text COLLATE "C" NOT NULL,
    kind         text NOT NULL CHECK (kind IN ('browser', 'client')),
    client_id    text COLLATE "C",
    parent_id    text COLLATE "C",                      -- the browser session that it came from
    hash         bytea UNIQUE,                          -- of a browser's cookie
    scope        text NOT NULL,
    amr          text[] NOT NULL,                       -- how the person proved who they are
    agent        text NOT NULL,
    auth_at      timestamptz NOT NULL,
    created_at   timestamptz NOT NULL,
    seen_at      timestamptz NOT NULL,
    expires_at   timestamptz NOT NULL,
    ended_at     timestamptz,
    ended_reason text,
    FOREIGN KEY (user_id, tenant_id) REFERENCES users (id, tenant_id),
    FOREIGN KEY (tenant_id, client_id) REFERENCES realm_clients (tenant_id, id),
    FOREIGN KEY (parent_id, tenant_id) REFERENCES sessions (id, tenant_id),
    UNIQUE (id, tenant_id),
    CHECK ((kind = 'browser') = (client_id IS NULL)),
    CHECK ((kind = 'browser') = (hash IS NOT NULL))
);
CREATE INDEX sessions_user ON sessions (user_id) WHERE ended_at IS NULL;
CREATE INDEX sessions_parent ON sessions (parent_id) WHERE ended_at IS NULL;
SELECT wall_off('sessions');
GRANT SELECT, INSERT, UPDATE (seen_at, ended_at, ended_reason) ON sessions TO {app}, {system};

CREATE TABLE authorization_codes (
    hash          bytea PRIMARY KEY,
    tenant_id     text COLLATE "C" NOT NULL REFERENCES realms,
    client_id     text COLLATE "C" NOT NULL,
    user_id       text COLLATE "C" NOT NULL,
    browser_id    text COLLATE "C" NOT NULL,
    redirect_uri  text NOT NULL,
    scope         text NOT NULL,
    nonce         text,
    challenge     text NOT NULL,
    amr           text[] NOT NULL,
    auth_at       timestamptz NOT NULL,
    created_at    timestamptz NOT NULL,
    expires_at    timestamptz NOT NULL,
    used_at       timestamptz,
    session_id    text COLLATE "C",  -- what was issued for it
    FOREIGN KEY (user_id, tenant_id) REFERENCES users (id, tenant_id),
    FOREIGN KEY (tenant_id, client_id) REFERENCES realm_clients (tenant_id, id),
    FOREIGN KEY (browser_id, tenant_id) REFERENCES sessions (id, tenant_id),
    FOREIGN KEY (session_id, tenant_id) REFERENCES sessions (id, tenant_id)
);
SELECT wall_off('authorization_codes');
GRANT SELECT, INSERT, UPDATE (used_at, session_id) ON authorization_codes TO {app}, {system};

CREATE TABLE device_codes (
    hash       bytea PRIMARY KEY,
    tenant_id  text COLLATE "C" NOT NULL REFERENCES realms,
    client_id  text COLLATE "C" NOT NULL,
    user_code  text NOT NULL,
    scope      text NOT NULL,
    agent      text NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    interval_s integer NOT NULL,
    polled_at  timestamptz,
    decision   text CHECK (decision IN ('approved', 'denied')),
    user_id    text COLLATE "C",
    amr        text[],
    auth_at    timestamptz,
    session_id text COLLATE "C",  -- what was issued for it; set once
    UNIQUE (tenant_id, user_code),
    FOREIGN KEY (user_id, tenant_id) REFERENCES users (id, tenant_id),
    FOREIGN KEY (tenant_id, client_id) REFERENCES realm_clients (tenant_id, id),
    FOREIGN KEY (session_id, tenant_id) REFERENCES sessions (id, tenant_id),
    CHECK ((decision IS NULL) = (user_id IS NULL))
);
SELECT wall_off('device_codes');
GRANT SELECT, INSERT,
    UPDATE (interval_s, polled_at, decision, user_id, amr, auth_at, session_id)
    ON device_codes TO {app}, {system};

-- A session's refresh tokens: each is good once. One that comes again was stolen, from the
-- client or by it, and ends the session.
CREATE TABLE refresh_tokens (
    hash       bytea PRIMARY KEY,
    tenant_id  text COLLATE "C" NOT NULL REFERENCES realms,
    session_id text COLLATE "C" NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    used_at    timestamptz,
    FOREIGN KEY (session_id, tenant_id) REFERENCES sessions (id, tenant_id)
);
SELECT wall_off('refresh_tokens');
GRANT SELECT, INSERT, UPDATE (used_at) ON refresh_tokens TO {app}, {system};

CREATE TABLE consents (
    tenant_id  text COLLATE "C" NOT NULL REFERENCES realms,
    user_id    text COLLATE "C" NOT NULL,
    client_id  text COLLATE "C" NOT NULL,
    scopes     text[] NOT NULL,
    granted_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, user_id, client_id),
    FOREIGN KEY (user_id, tenant_id) REFERENCES users (id, tenant_id),
    FOREIGN KEY (tenant_id, client_id) REFERENCES realm_clients (tenant_id, id)
);
SELECT wall_off('consents');
GRANT SELECT, INSERT, UPDATE (scopes, granted_at) ON consents TO {app}, {system};

-- Access tokens that were given back before they ran out.
CREATE TABLE revoked_tokens (
    tenant_id  text COLLATE "C" NOT NULL REFERENCES realms,
    jti        text COLLATE "C" NOT NULL,
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, jti)
);
SELECT wall_off('revoked_tokens');
GRANT SELECT, INSERT ON revoked_tokens TO {app}, {system};

-- Other issuers that a realm trusts to say who someone is.
CREATE TABLE identity_providers (
    id            text COLLATE "C" PRIMARY KEY,
    tenant_id     text COLLATE "C" NOT NULL REFERENCES realms,
    name          text NOT NULL,
    issuer        text NOT NULL,
    client_id     text NOT NULL,
    client_secret bytea NOT NULL,  -- sealed
    created_at    timestamptz NOT NULL,
    disabled_at   timestamptz,
    UNIQUE (tenant_id, name),
    UNIQUE (id, tenant_id)
);
SELECT wall_off('identity_providers');
GRANT SELECT, INSERT, UPDATE (disabled_at) ON identity_providers TO {app}, {system};

CREATE TABLE identities (
    provider_id text COLLATE "C" NOT NULL,
    subject     text COLLATE "C" NOT NULL,
    tenant_id   text COLLATE "C" NOT NULL,
    user_id     text COLLATE "C" NOT NULL,
    linked_at   timestamptz NOT NULL,
    PRIMARY KEY (provider_id, subject),
    FOREIGN KEY (provider_id, tenant_id) REFERENCES identity_providers (id, tenant_id),
    FOREIGN KEY (user_id, tenant_id) REFERENCES users (id, tenant_id)
);
SELECT wall_off('identities');
GRANT SELECT, INSERT ON identities TO {app}, {system};

-- What must always be true of sessions.
CREATE VIEW invariant_session_of_a_disabled_user WITH (security_invoker = true) AS
    SELECT s.id FROM sessions s JOIN users u ON u.id = s.user_id
    WHERE s.ended_at IS NULL AND u.disabled_at IS NOT NULL;
-- A session has one refresh token that is still good, at most.
CREATE VIEW invariant_refresh_tokens_forked WITH (security_invoker = true) AS
    SELECT session_id FROM refresh_tokens WHERE used_at IS NULL
    GROUP BY session_id HAVING count(*) > 1;
GRANT SELECT ON invariant_session_of_a_disabled_user, invariant_refresh_tokens_forked TO {system};

-- Personal keys belong to a user: no more than the user may do, within scopes, until a day.
ALTER TABLE api_keys
    ADD COLUMN user_id text COLLATE "C",
    ADD COLUMN scopes text[],
    ADD COLUMN expires_at timestamptz,
    ADD COLUMN revoked_at timestamptz,
    ADD FOREIGN KEY (user_id, tenant_id) REFERENCES users (id, tenant_id);
GRANT UPDATE (revoked_at) ON api_keys TO {app}, {system};
