-- Leases: what was asked for, which slots it holds, what it used.
CREATE EXTENSION IF NOT EXISTS btree_gist;

CREATE TABLE allocations (
    id                        text COLLATE "C" PRIMARY KEY,
    tenant_id                 text COLLATE "C" NOT NULL REFERENCES tenants,
    project_id                text COLLATE "C" NOT NULL,
    sku_id                    text COLLATE "C" NOT NULL REFERENCES skus,
    shape                     text NOT NULL,
    family                    text NOT NULL,
    gpus                      integer NOT NULL CHECK (gpus > 0),
    price_micros_per_gpu_hour bigint NOT NULL,
    currency                  text NOT NULL,
    site_id                   text COLLATE "C" REFERENCES sites,  -- null until it is placed
    node_id                   text COLLATE "C" REFERENCES nodes,
    -- Desired: what should be. The revision counts its changes.
    desired                   text NOT NULL CHECK (desired IN ('active', 'released')),
    desired_at                timestamptz NOT NULL,
    revision                  bigint NOT NULL CHECK (revision > 0),
    -- Observed: what the node said last, through its site.
    observed                  text NOT NULL DEFAULT 'nothing' CHECK (
        observed IN ('nothing', 'active', 'stopping', 'released', 'failed')),
    observed_at               timestamptz,
    observed_reason           text NOT NULL DEFAULT '',
    -- Execution: what the site's workflow is doing.
    execution_workflow        text NOT NULL DEFAULT '',
    execution_step            text NOT NULL DEFAULT '',
    execution_status          text NOT NULL DEFAULT '',
    execution_detail          text NOT NULL DEFAULT '',
    execution_at              timestamptz,
    created_at                timestamptz NOT NULL,
    created_by                text NOT NULL,
    correlation_id            text NOT NULL,
    failed_reason             text NOT NULL DEFAULT '',  -- not empty: its realization failed
    freed_at                  timestamptz,               -- every slot's cleanup is proven
    -- Waiting: it holds nothing until it is placed. Desired released before that: cancelled.
    priority                  smallint NOT NULL DEFAULT 50 CHECK (priority BETWEEN 0 AND 100),
    asked_site_id             text COLLATE "C" REFERENCES sites,  -- placed there or nowhere
    queued_at                 timestamptz,  -- null: it was placed at once
    expires_at                timestamptz,  -- it waits no longer than that
    expired_at                timestamptz,  -- it was not placed in time
    placed_at                 timestamptz,
    ends_at                   timestamptz,  -- planned by its tenant; nothing ends it then
    kept_nodes                text[] NOT NULL DEFAULT '{}',  -- kept for it: it is a head
    estimate                  jsonb,        -- of when it will be placed, by the last round
    CONSTRAINT placed_is_somewhere CHECK (
        (placed_at IS NULL) = (node_id IS NULL) AND (site_id IS NULL) = (node_id IS NULL)),
    CONSTRAINT placed_or_waits CHECK (
        placed_at IS NOT NULL OR (queued_at IS NOT NULL AND expires_at IS NOT NULL)),
    CONSTRAINT expired_unplaced CHECK (
        expired_at IS NULL OR (placed_at IS NULL AND desired = 'released')),
    FOREIGN KEY (project_id, tenant_id) REFERENCES projects (id, tenant_id),
    UNIQUE (id, node_id)
);
CREATE INDEX allocations_tenant ON allocations (tenant_id, id);
CREATE INDEX allocations_live ON allocations (node_id) WHERE freed_at IS NULL;
CREATE INDEX allocations_queued ON allocations (priority, queued_at)
    WHERE placed_at IS NULL AND desired = 'active';
CREATE INDEX allocations_ending ON allocations (ends_at)
    WHERE placed_at IS NOT NULL AND freed_at IS NULL;
SELECT wall_off('allocations');
GRANT SELECT ON allocations TO {app};
GRANT UPDATE (desired, desired_at, revision) ON allocations TO {app};
GRANT SELECT, INSERT, UPDATE ON allocations TO {system};

-- A cleanup proof: signed by the node, for this slot, this fence, this nonce.
CREATE TABLE cleanup_proofs (
    id            text COLLATE "C" PRIMARY KEY,
    slot_id       text COLLATE "C" NOT NULL REFERENCES slots,
    fence         bigint NOT NULL,
    allocation_id text COLLATE "C" NOT NULL,
    tenant_id     text COLLATE "C" NOT NULL,
    payload       bytea NOT NULL,
    signature     bytea NOT NULL,
    proven_at     timestamptz NOT NULL,
    UNIQUE (slot_id, fence)
);
SELECT wall_off('cleanup_proofs');
GRANT SELECT ON cleanup_proofs TO {app};
GRANT SELECT, INSERT ON cleanup_proofs TO {system};

-- A claim holds one slot for one allocation. The fence grows by one with each claim of
-- the slot. The database forbids: two live claims on a slot; an allocation on two nodes;
-- a slot freed without a proof for exactly this claim.
CREATE TABLE claims (
    slot_id        text COLLATE "C" NOT NULL,
    fence          bigint NOT NULL CHECK (fence > 0),
    allocation_id  text COLLATE "C" NOT NULL,
    tenant_id      text COLLATE "C" NOT NULL,
    node_id        text COLLATE "C" NOT NULL,
    claimed_at     timestamptz NOT NULL,
    cleanup_nonce  bytea,                     -- set when release is asked for
    blocked_reason text NOT NULL DEFAULT '',  -- why the last proof was not enough
    freed_at       timestamptz,
    freed_fence    bigint GENERATED ALWAYS AS (CASE WHEN freed_at IS NOT NULL THEN fence END) STORED,
    PRIMARY KEY (slot_id, fence),
    FOREIGN KEY (slot_id, node_id) REFERENCES slots (id, node_id),
    FOREIGN KEY (allocation_id, node_id) REFERENCES allocations (id, node_id),
    FOREIGN KEY (slot_id, freed_fence) REFERENCES cleanup_proofs (slot_id, fence)
);
CREATE UNIQUE INDEX claims_live ON claims (slot_id) WHERE freed_at IS NULL;
CREATE INDEX claims_allocation ON claims (allocation_id);
SELECT wall_off('claims');
GRANT SELECT ON claims TO {app};
GRANT UPDATE (cleanup_nonce, blocked_reason) ON claims TO {app};
GRANT SELECT, INSERT, UPDATE ON claims TO {system};

-- A tenant sees the slots that it holds, and no other.
ALTER TABLE slots ENABLE ROW LEVEL SECURITY;
ALTER TABLE slots FORCE ROW LEVEL SECURITY;
CREATE POLICY system ON slots TO {system} USING (true) WITH CHECK (true);
CREATE POLICY tenant ON slots FOR SELECT TO {app} USING (
    EXISTS (SELECT FROM claims WHERE claims.slot_id = slots.id AND claims.freed_at IS NULL));

-- Why a placement went where it did.
CREATE TABLE placement_receipts (
    allocation_id text COLLATE "C" PRIMARY KEY REFERENCES allocations,
    tenant_id     text COLLATE "C" NOT NULL,
    receipt       jsonb NOT NULL
);
SELECT wall_off('placement_receipts');
GRANT SELECT ON placement_receipts TO {app};
GRANT SELECT, INSERT ON placement_receipts TO {system};

-- Time that a tenant had its GPUs, from what the node was observed to do. Half-open, and
-- no two of an allocation overlap: no second is lost, none is billed twice.
CREATE TABLE usage_segments (
    allocation_id             text COLLATE "C" NOT NULL REFERENCES allocations,
    tenant_id                 text COLLATE "C" NOT NULL,
    project_id                text COLLATE "C" NOT NULL,
    sku_id                    text COLLATE "C" NOT NULL,
    gpus                      integer NOT NULL CHECK (gpus > 0),
    price_micros_per_gpu_hour bigint NOT NULL,
    currency                  text NOT NULL,
    during                    tstzrange NOT NULL CHECK (
        lower_inc(during) AND NOT upper_inc(during) AND NOT lower_inf(during)),
    EXCLUDE USING gist (allocation_id WITH =, during WITH &&)
);
SELECT wall_off('usage_segments');
GRANT SELECT ON usage_segments TO {app};
GRANT SELECT, INSERT, UPDATE, DELETE ON usage_segments TO {system};
