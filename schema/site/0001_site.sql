-- What a site knows: its nodes, what central desires, what its nodes were told and did.

-- Permissions to join, from central. `used_by` is the key that used one: the same key may
-- ask again, because its answer may have been lost.
CREATE TABLE node_tokens (
    id            text COLLATE "C" PRIMARY KEY,
    secret_sha256 bytea NOT NULL,
    expires_at    timestamptz NOT NULL,
    used_by       bytea
);
GRANT SELECT, INSERT, UPDATE ON node_tokens TO {system};

CREATE TABLE nodes (
    id          text COLLATE "C" PRIMARY KEY,
    name        text NOT NULL UNIQUE,
    public_key  bytea NOT NULL UNIQUE,
    enrolled_at timestamptz NOT NULL,
    connected   boolean NOT NULL DEFAULT false,
    session     text NOT NULL DEFAULT ''  -- the connection that `connected` speaks of
);
GRANT SELECT, INSERT, UPDATE ON nodes TO {system};

-- The newest revision of each allocation's desired document. `started_revision` is the
-- newest one that a workflow was started for.
CREATE TABLE leases (
    allocation_id    text COLLATE "C" PRIMARY KEY,
    revision         bigint NOT NULL,
    started_revision bigint NOT NULL DEFAULT 0,
    document         bytea NOT NULL,
    received_at      timestamptz NOT NULL
);
CREATE INDEX leases_unstarted ON leases (allocation_id) WHERE started_revision < revision;
GRANT SELECT, INSERT, UPDATE ON leases TO {system};

-- Tasks for nodes. A task's id is made from what it is for, so asking twice is asking once.
CREATE TABLE tasks (
    id            text COLLATE "C" PRIMARY KEY,
    node_id       text COLLATE "C" NOT NULL REFERENCES nodes,
    allocation_id text COLLATE "C",
    created_at    timestamptz NOT NULL,
    deadline      timestamptz NOT NULL,
    result        bytea,       -- the node's signed answer: the first one counts
    finished_at   timestamptz
);
GRANT SELECT, INSERT, UPDATE ON tasks TO {system};

-- What was observed of an allocation, and when: the first time counts.
CREATE TABLE observations (
    allocation_id text COLLATE "C" NOT NULL,
    observed      text NOT NULL,
    at            timestamptz NOT NULL,
    PRIMARY KEY (allocation_id, observed)
);
GRANT SELECT, INSERT ON observations TO {system};

-- Steps that were reported, so that a step run again is not told again.
CREATE TABLE steps (
    allocation_id text COLLATE "C" NOT NULL,
    revision      bigint NOT NULL,
    step          text NOT NULL,
    status        text NOT NULL,
    at            timestamptz NOT NULL,
    PRIMARY KEY (allocation_id, revision, step, status)
);
GRANT SELECT, INSERT ON steps TO {system};

-- Processes that run workflows. A silent one is dead, and its workflows are taken over.
CREATE TABLE executors (
    id      text COLLATE "C" PRIMARY KEY,
    beat_at timestamptz NOT NULL
);
GRANT SELECT, INSERT, UPDATE, DELETE ON executors TO {system};
