-- What is wrong with a node besides what keeps it from being placed on: checks of its host that do
-- not pass, and where what it holds differs from its leases. No row: nothing ever was.
CREATE TABLE node_health (
    node_id       text COLLATE "C" PRIMARY KEY REFERENCES nodes,
    problems      jsonb NOT NULL DEFAULT '[]',  -- check, subject, detail, since
    problems_more integer NOT NULL DEFAULT 0 CHECK (problems_more >= 0),  -- beyond those
    discrepancies jsonb NOT NULL DEFAULT '[]',  -- kind, allocation, runtime, since
    changed_at    timestamptz NOT NULL
);
GRANT SELECT, INSERT, UPDATE ON node_health TO {system};
