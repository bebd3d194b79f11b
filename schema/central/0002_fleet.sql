-- The fleet: sites, nodes, and the slots that may be leased.

CREATE TABLE sites (
    id           text COLLATE "C" PRIMARY KEY,
    name         text NOT NULL UNIQUE,
    auto_approve boolean NOT NULL,  -- promote slots on readiness evidence alone
    public_key   bytea UNIQUE,      -- null until it enrolled
    join_address text NOT NULL DEFAULT '',
    version      text NOT NULL DEFAULT '',
    connected    boolean NOT NULL DEFAULT false,
    connected_at timestamptz,
    session      text NOT NULL DEFAULT '',  -- the connection that `connected` speaks of
    away         boolean NOT NULL DEFAULT false,  -- not connected for too long: nothing new there
    tags         text[] NOT NULL DEFAULT '{}' CHECK (cardinality(tags) <= 32),
    created_at   timestamptz NOT NULL,
    CHECK (NOT (connected AND away))
);
GRANT SELECT, INSERT, UPDATE ON sites TO {system};

-- Single-use permissions to join. `used_by` is the key that used it: the same key may
-- ask again, because its answer may have been lost.
CREATE TABLE site_tokens (
    id            text COLLATE "C" PRIMARY KEY,
    site_id       text COLLATE "C" NOT NULL REFERENCES sites,
    secret_sha256 bytea NOT NULL,
    expires_at    timestamptz NOT NULL,
    used_by       bytea,
    created_at    timestamptz NOT NULL
);
GRANT SELECT, INSERT, UPDATE ON site_tokens TO {system};

CREATE TABLE nodes (
    id           text COLLATE "C" PRIMARY KEY,
    site_id      text COLLATE "C" NOT NULL REFERENCES sites,
    name         text NOT NULL,
    public_key   bytea NOT NULL,
    hardware     text NOT NULL DEFAULT '',
    family       text NOT NULL DEFAULT '',
    topology     jsonb,                       -- null until the node was discovered
    fault        text NOT NULL DEFAULT '',    -- why its evidence was not accepted
    draining     boolean NOT NULL DEFAULT false,
    drain_reason text NOT NULL DEFAULT '',
    connected    boolean NOT NULL DEFAULT false,
    presence_at  timestamptz,
    enrolled_at  timestamptz NOT NULL,
    leaf          text NOT NULL DEFAULT '',   -- its fabric leaf, as discovered
    leaf_assigned text,                       -- what an operator says instead
    tags          text[] NOT NULL DEFAULT '{}' CHECK (cardinality(tags) <= 32),
    reserved_for  text COLLATE "C" REFERENCES tenants,  -- null: for everyone
    -- What its source asks for it; 0 if that is not known.
    price_micros_per_gpu_hour bigint NOT NULL DEFAULT 0 CHECK (price_micros_per_gpu_hour >= 0),
    UNIQUE (site_id, name),
    UNIQUE (public_key),
    UNIQUE (id, site_id)
);
GRANT SELECT, INSERT, UPDATE ON nodes TO {system};

-- A slot is an approved bundle on one host. Every node also has a chassis slot.
CREATE TABLE slots (
    id            text COLLATE "C" PRIMARY KEY,
    node_id       text COLLATE "C" NOT NULL REFERENCES nodes,
    kind          text NOT NULL CHECK (kind IN ('chassis', 'gpu')),
    index         integer NOT NULL CHECK (index >= 0),
    gpu_uuid      text NOT NULL DEFAULT '',
    pci_address   text NOT NULL DEFAULT '',
    nvme_serial   text NOT NULL DEFAULT '',
    fabric_guid   text NOT NULL DEFAULT '',
    numa_node     integer NOT NULL DEFAULT 0,
    cpus          integer NOT NULL DEFAULT 0,
    memory_mib    bigint NOT NULL DEFAULT 0,
    cleanup_steps text[] NOT NULL CHECK (cardinality(cleanup_steps) > 0),
    approved_at   timestamptz,  -- null: proposed by discovery, not schedulable
    approved_by   text,
    UNIQUE (node_id, kind, index),
    UNIQUE (id, node_id)
);
-- One GPU is one slot, whoever reports it.
CREATE UNIQUE INDEX slots_gpu ON slots (gpu_uuid) WHERE kind = 'gpu';
GRANT SELECT ON slots TO {app};
GRANT SELECT, INSERT, UPDATE (approved_at, approved_by) ON slots TO {system};
