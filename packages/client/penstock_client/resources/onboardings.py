"""How tenants come to be: onboardings, and the templates they are made with."""

from dataclasses import dataclass

from penstock_client import requests
from penstock_client.requests import Body, Transport
from penstock_client.resources import pages, single
from penstock_client.views.events import Event
from penstock_client.views.onboardings import Onboarding, Template
from penstock_client.views.pages import Page


@dataclass(frozen=True)
class Onboardings:
    transport: Transport

    def list(self) -> Page[Onboarding]:
        return pages.collect(self.transport, requests.get("onboardings"), Onboarding)

    def get(self, id: str) -> Onboarding:
        return single.fetch(self.transport, requests.get("onboardings", id), Onboarding)

    def create(self, file: Body) -> Onboarding:
        """Make a tenant what the file says. It goes on after this returns: watch its events."""
        return single.fetch(self.transport, requests.post("onboardings", **file), Onboarding)

    def timeline(self, id: str) -> Page[Event]:
        return pages.collect(self.transport, requests.get("onboardings", id, "timeline"), Event)


@dataclass(frozen=True)
class Templates:
    transport: Transport

    def list(self) -> Page[Template]:
        return pages.collect(self.transport, requests.get("templates"), Template)

    def get(self, id: str) -> Template:
        """By id or by name."""
        return single.fetch(self.transport, requests.get("templates", id), Template)

    def set(self, name: str, template: Body) -> Template:
        """Make or replace it. Tenants that were made with it stay as they are."""
        return single.fetch(self.transport, requests.put(template, "templates", name), Template)
