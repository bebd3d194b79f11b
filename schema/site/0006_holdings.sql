-- What each node should hold, by its tasks and its answers to them: a row from the order to provision
-- an allocation until its cleanup is proven. It is compared with what the node's host says it holds.
CREATE TABLE holdings (
    node_id       text COLLATE "C" NOT NULL,
    allocation_id text COLLATE "C" NOT NULL,
    standing      text NOT NULL CHECK (standing IN ('coming', 'held', 'going')),
    slots         jsonb NOT NULL,  -- fences by slot
    PRIMARY KEY (node_id, allocation_id)
);
GRANT SELECT, INSERT, UPDATE, DELETE ON holdings TO {system};

-- Where both differ. One is told to central when a second comparison finds it too: what changed
-- while the host was looked at differs once.
CREATE TABLE discrepancies (
    node_id       text COLLATE "C" NOT NULL,
    allocation_id text COLLATE "C" NOT NULL,
    kind          text NOT NULL CHECK (kind IN ('not_held', 'not_leased', 'other_slots')),
    runtime_id    text NOT NULL,
    told          boolean NOT NULL DEFAULT false,
    PRIMARY KEY (node_id, allocation_id, kind)
);
GRANT SELECT, INSERT, UPDATE, DELETE ON discrepancies TO {system};
