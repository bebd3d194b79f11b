-- Site work of any kind. Leases are the first kind of document; what was told of a document is kept
-- by its kind and key, and goes with it.
DROP TABLE leases, observations, steps;

-- The newest revision of what central desires of each key. `started_revision` is the newest one that
-- a workflow was started for, `version` that workflow's version. `cancelled` is why an operator wants
-- this revision's workflow given up; a newer revision begins without it.
CREATE TABLE documents (
    kind             text COLLATE "C" NOT NULL,
    key              text COLLATE "C" NOT NULL,
    revision         bigint NOT NULL CHECK (revision > 0),
    started_revision bigint NOT NULL DEFAULT 0,
    version          integer NOT NULL DEFAULT 0,
    body             bytea NOT NULL,
    correlation_id   text NOT NULL,
    received_at      timestamptz NOT NULL,
    cancelled        text NOT NULL DEFAULT '',
    PRIMARY KEY (kind, key)
);
CREATE INDEX documents_unstarted ON documents (received_at) WHERE started_revision < revision;
GRANT SELECT, INSERT, UPDATE, DELETE ON documents TO {system};

-- What was observed of a document's subject, and when: the first time counts.
CREATE TABLE observations (
    kind     text COLLATE "C" NOT NULL,
    key      text COLLATE "C" NOT NULL,
    observed text NOT NULL,
    at       timestamptz NOT NULL,
    PRIMARY KEY (kind, key, observed),
    FOREIGN KEY (kind, key) REFERENCES documents ON DELETE CASCADE
);
GRANT SELECT, INSERT ON observations TO {system};

-- Steps that were reported, so that a step run again is not told again.
CREATE TABLE steps (
    kind     text COLLATE "C" NOT NULL,
    key      text COLLATE "C" NOT NULL,
    revision bigint NOT NULL,
    step     text NOT NULL,
    status   text NOT NULL,
    at       timestamptz NOT NULL,
    PRIMARY KEY (kind, key, revision, step, status),
    FOREIGN KEY (kind, key) REFERENCES documents ON DELETE CASCADE
);
GRANT SELECT, INSERT ON steps TO {system};
