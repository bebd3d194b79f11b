-- What is asked together with other things comes back as an array of whole rows: each has a type.
CREATE TYPE fleet_change AS (revision bigint, kind text, node_id text, slot_ids text[]);
CREATE TYPE quota_line AS (
    scope text, scope_id text, kind text, family text, currency text, most bigint, used bigint,
    due bigint);
CREATE TYPE balance_line AS (
    tenant_id text, currency text, balance bigint, accrued bigint, burn bigint);
