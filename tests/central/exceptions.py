"""What the catalog lint (escapes.py) lets pass, each with its reason."""

from typing import Final

# Tables that belong to no tenant and that the app role may use all the same.
SHARED: Final = {
    "log_starts: SELECT",  # where the logs begin: who follows events must know
    "skus: SELECT",  # the catalog is everyone's to read
    "slots: SELECT",  # behind a policy of its own: those that the tenant's live claims hold
}
# Functions that run with more rights than their caller has. Each is argued for in its comment.
DEFINERS: Final = {"append_outgoing", "count_gpus_held"}
# Functions that anyone may run: each reads nothing but what it is given or its caller could read.
PUBLIC: Final = {
    "current_tenant",  # the wall asks it as whoever is at the wall
    "audit_text", "audit_hash", "audit_line", "cost_micros",  # made from their arguments alone
    "audit_faults",  # reads as its caller: the app role, to which the log's head is closed, cannot
    "month_of", "month_began", "monthly_costs", "scope", "scope_multirange",  # so are these
    "quota_use", "count_spent",  # read and write as their caller
    # Triggers that only refuse.
    "stays", "allocations_refer", "claim_proven", "assignment_may_end",
    "tenant_holds_nothing",
}  # fmt: skip
# Unique keys that do not begin with the tenant, in tables that tenants write: a conflict tells
# that a row exists.
GLOBAL_KEYS: Final = {
    # Ids are ours, made at random; hashes are of secrets. Who knows one, holds it.
    "organizations_pkey", "organizations_id_tenant_id_key", "projects_pkey",
    "projects_id_tenant_id_key", "projects_id_organization_id_tenant_id_key", "api_keys_pkey",
    "api_keys_hash_key", "realm_keys_pkey", "users_pkey", "users_id_tenant_id_key",
    "invitations_pkey", "invitations_hash_key", "sessions_pkey", "sessions_id_tenant_id_key",
    "sessions_hash_key", "authorization_codes_pkey", "device_codes_pkey", "refresh_tokens_pkey",
    "identity_providers_pkey", "identity_providers_id_tenant_id_key", "api_keys_id_owner_key",
    "groups_pkey", "groups_id_owner_key", "group_members_pkey", "service_accounts_pkey",
    "service_accounts_id_owner_key", "role_bindings_pkey",
    "role_bindings_subject_id_role_scope_id_key",
    "idempotency_keys_pkey",  # the actor is an id of the tenant's own
    "quotas_pkey", "identities_pkey",  # what the key begins with must be the tenant's own, too
}  # fmt: skip
