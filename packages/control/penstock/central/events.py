"""Every event of central, put together from what each noun declares."""

from typing import Final

from penstock.central.allocations import events as allocations
from penstock.central.balances import events as balances
from penstock.central.bindings import events as bindings
from penstock.central.groups import events as groups
from penstock.central.networks import events as networks
from penstock.central.nodes import events as nodes
from penstock.central.onboardings import events as onboardings
from penstock.central.organizations import events as organizations
from penstock.central.policies import events as policies
from penstock.central.pools import events as pools
from penstock.central.projects import events as projects
from penstock.central.quotas import events as quotas
from penstock.central.realms import events as realms
from penstock.central.realms.clients import events as clients
from penstock.central.realms.providers import events as providers
from penstock.central.realms.sessions import events as sessions
from penstock.central.realms.users import events as users
from penstock.central.reenrolments import events as reenrolments
from penstock.central.service_accounts import events as service_accounts
from penstock.central.sites import events as sites
from penstock.central.skus import events as skus
from penstock.central.slots import events as slots
from penstock.central.templates import events as templates
from penstock.central.tenants import events as tenants
from penstock.central.usage import events as usage
from penstock.kernel.catalogue import Catalogue

NOUNS: Final = (  # as the documentation orders them
    allocations, slots, usage, nodes, reenrolments, sites, skus, tenants, onboardings,
    organizations, projects, policies, quotas, balances, pools, networks, templates, realms, users,
    sessions, clients, providers, bindings, groups, service_accounts,
)  # fmt: skip
CATALOGUE: Final = Catalogue("/penstock/central", (each for noun in NOUNS for each in noun.EVENTS))
