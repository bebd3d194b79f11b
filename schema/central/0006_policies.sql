-- What a tenant may lease, and where that may go. Without a row: anything, anywhere.
CREATE TABLE placement_policies (
    tenant_id        text COLLATE "C" PRIMARY KEY REFERENCES tenants,
    revision         bigint NOT NULL CHECK (revision > 0),  -- counts its changes; receipts name it
    sites            text[] CHECK (cardinality(sites) BETWEEN 1 AND 64),     -- null: any
    families         text[] CHECK (cardinality(families) BETWEEN 1 AND 64),  -- null: any
    skus             text[] CHECK (cardinality(skus) BETWEEN 1 AND 64),      -- names; null: any
    images           text[] CHECK (cardinality(images) BETWEEN 1 AND 64),    -- names; null: any
    residency        text[] NOT NULL DEFAULT '{}' CHECK (cardinality(residency) <= 32),
    strategy         text NOT NULL CHECK (strategy IN ('pack', 'spread')),
    price_micros_max bigint CHECK (price_micros_max >= 0),  -- null: at any price
    changed_at       timestamptz NOT NULL,
    changed_by       text NOT NULL
);
SELECT wall_off('placement_policies');
GRANT SELECT ON placement_policies TO {app};
GRANT SELECT, INSERT, UPDATE ON placement_policies TO {system};
GRANT DELETE ON placement_policies TO {system};  -- with a tenant whose onboarding was undone
