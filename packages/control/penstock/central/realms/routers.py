"""All routers of realms, for the app."""

from penstock.central.realms import api
from penstock.central.realms.clients import api as clients
from penstock.central.realms.grants import api as grants
from penstock.central.realms.pages import (
    account,
    belongings,
    consent,
    device,
    invitation,
    login,
    logout,
    provider,
)
from penstock.central.realms.personal_keys import api as personal_keys
from penstock.central.realms.providers import api as providers
from penstock.central.realms.sessions import api as sessions
from penstock.central.realms.users import api as users

ROUTERS = (
    api.management, users.router, sessions.router, clients.router, providers.router,
    personal_keys.router, api.router, grants.router, login.router, consent.router, device.router,
    invitation.router, account.router, belongings.router, logout.router, provider.router,
)  # fmt: skip
