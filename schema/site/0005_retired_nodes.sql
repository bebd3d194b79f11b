-- Nodes are retired, and come back under a new key; only central decides either.

-- A token may be for one name, or for one node that comes back.
ALTER TABLE node_tokens
    ADD COLUMN name text NOT NULL DEFAULT '',
    ADD COLUMN rejoins text COLLATE "C" NOT NULL DEFAULT '';

-- The key of a retired node stays its own for ever, so that nobody joins with it; its name is free.
ALTER TABLE nodes
    ADD COLUMN retired_at timestamptz,
    DROP CONSTRAINT nodes_name_key;
CREATE UNIQUE INDEX nodes_name ON nodes (name) WHERE retired_at IS NULL;

-- Nodes that came back with a new key, each told to central once. It is in force once it is the
-- key in `nodes`.
CREATE TABLE reenrolments (
    token_id   text COLLATE "C" PRIMARY KEY REFERENCES node_tokens,
    node_id    text COLLATE "C" NOT NULL REFERENCES nodes,
    public_key bytea NOT NULL,
    asked_at   timestamptz NOT NULL,
    rejected   text NOT NULL DEFAULT ''  -- why an operator refused it; empty: nobody did
);
GRANT SELECT, INSERT, UPDATE (rejected) ON reenrolments TO {system};
