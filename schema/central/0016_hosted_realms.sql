-- Realms that live elsewhere (Keycloak): where each is, what it shall be, and who of it is whom.

-- A realm without a row here is central's own. No role may change the provider: a tenant's
-- people are where they were made.
CREATE TABLE hosted_realms (
    tenant_id   text COLLATE "C" PRIMARY KEY REFERENCES realms ON DELETE CASCADE,
    provider    text NOT NULL,
    issuer      text COLLATE "C" UNIQUE,  -- these three are null until it is there
    keys_url    text,
    welcome_url text,
    desired     text NOT NULL CHECK (desired IN ('open', 'suspended', 'removed')),
    actual      text NOT NULL CHECK (actual IN ('none', 'open', 'suspended', 'removed')),
    revision    bigint NOT NULL CHECK (revision > 0),  -- counts what was desired
    refused     boolean NOT NULL DEFAULT false,        -- asking again would change nothing
    fault       text NOT NULL DEFAULT '',              -- why it is not so yet
    failures    integer NOT NULL DEFAULT 0,
    retry_at    timestamptz,
    CHECK (actual IN ('none', 'removed')
        OR (issuer IS NOT NULL AND keys_url IS NOT NULL AND welcome_url IS NOT NULL))
);
SELECT wall_off('hosted_realms');
GRANT SELECT ON hosted_realms TO {app};
GRANT SELECT, INSERT,
    UPDATE (issuer, keys_url, welcome_url, desired, actual, revision, refused, fault, failures,
        retry_at)
    ON hosted_realms TO {system};

-- Invitations that the provider knows of.
CREATE TABLE hosted_invitations (
    invitation_id text COLLATE "C" PRIMARY KEY REFERENCES invitations ON DELETE CASCADE,
    tenant_id     text COLLATE "C" NOT NULL REFERENCES hosted_realms ON DELETE CASCADE,
    carried_at    timestamptz NOT NULL
);
SELECT wall_off('hosted_invitations');
GRANT SELECT ON hosted_invitations TO {app};
GRANT SELECT, INSERT ON hosted_invitations TO {system};

-- Which user a subject of a hosted realm is.
CREATE TABLE hosted_identities (
    tenant_id text COLLATE "C" NOT NULL REFERENCES hosted_realms,
    subject   text COLLATE "C" NOT NULL,
    user_id   text COLLATE "C" NOT NULL,
    linked_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, subject),
    FOREIGN KEY (user_id, tenant_id) REFERENCES users (id, tenant_id)
);
SELECT wall_off('hosted_identities');
GRANT SELECT, INSERT ON hosted_identities TO {app}, {system};
