"""The central plane: API, tenancy, fleet, placement, leases, usage."""
