-- A limit is never above those that bound it: of the same measure around it, and, if it is of a GPU
-- family, those on GPUs of all families, around it or of the same scope.
CREATE OR REPLACE VIEW invariant_quota_above_parent WITH (security_invoker = true) AS
    SELECT child.scope_id, child.kind, child.family FROM quotas child
    LEFT JOIN projects p ON p.id = child.project_id
    JOIN quotas parent ON parent.tenant_id = child.tenant_id
        AND (parent.kind, parent.currency) = (child.kind, child.currency)
        AND (parent.family = child.family OR parent.family = '')
        AND (parent.scope = 'tenant' AND child.scope <> 'tenant'
            OR parent.organization_id = p.organization_id
            OR parent.scope_id = child.scope_id)
    WHERE child.most > parent.most;
