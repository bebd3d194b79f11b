"""Leases as a kind of site work: one document, and a saga each way."""

from penstock.site.leases.model import KIND, Lease, decode
from penstock.site.leases.realize import Realize
from penstock.site.leases.release import Release
from penstock.site.sagas.kinds import Kind
from penstock.site.tasks.service import Tasks


def kind(tasks: Tasks) -> Kind[Lease]:
    realize, release = Realize(tasks).saga, Release(tasks).saga
    return Kind(
        KIND, decode, lambda lease: release if lease.released else realize, (realize, release)
    )
