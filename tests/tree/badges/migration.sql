-- A tenant's badges.
CREATE TABLE badges (
    id         text COLLATE "C" PRIMARY KEY,
    tenant_id  text COLLATE "C" NOT NULL REFERENCES tenants,
    name       text NOT NULL,
    created_at timestamptz NOT NULL
);
SELECT wall_off('badges');
GRANT SELECT, INSERT ON badges TO {app}, {system};

DO $$ BEGIN
    EXECUTE format(
        'CREATE OR REPLACE VIEW known_things WITH (security_invoker = true) AS %s '
        'UNION ALL SELECT ''badge'', id FROM badges',
        rtrim(pg_get_viewdef('known_things'), ';'));
END $$;
