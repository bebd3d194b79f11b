-- What can be asked for by an id, or by a name that is one thing's alone: a read that was answered
-- "not found" is looked up here, to tell probing from a slip. Only the system may know.
CREATE VIEW known_things WITH (security_invoker = true) AS
    SELECT 'tenant' AS noun, id AS reference FROM tenants
    UNION ALL SELECT 'tenant', name FROM tenants
    UNION ALL SELECT 'organization', id FROM organizations
    UNION ALL SELECT 'project', id FROM projects
    UNION ALL SELECT 'key', id FROM api_keys
    UNION ALL SELECT 'site', id FROM sites
    UNION ALL SELECT 'site', name FROM sites
    UNION ALL SELECT 'node', id FROM nodes
    UNION ALL SELECT 'slot', id FROM slots
    UNION ALL SELECT 'allocation', id FROM allocations
    UNION ALL SELECT 'user', id FROM users
    UNION ALL SELECT 'session', id FROM sessions
    UNION ALL SELECT 'client', id FROM realm_clients
    UNION ALL SELECT 'provider', id FROM identity_providers
    UNION ALL SELECT 'template', id FROM templates
    UNION ALL SELECT 'template', name FROM templates
    UNION ALL SELECT 'onboarding', id FROM onboardings
    UNION ALL SELECT 'pool', id FROM pools
    UNION ALL SELECT 'pool', name FROM pools
    UNION ALL SELECT 'service_account', id FROM service_accounts
    UNION ALL SELECT 'group', id FROM groups
    UNION ALL SELECT 'role', id FROM role_bindings;
GRANT SELECT ON known_things TO {system};
