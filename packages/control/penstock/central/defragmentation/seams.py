"""What the routes that look at the fleet need of the app."""

from typing import Annotated

from fastapi import Depends, Request

from penstock.central.defragmentation.planner import Planner
from penstock.central.placement.reading import FleetReader
from penstock.kernel import db


def _database(request: Request) -> db.Database:
    database: db.Database = request.app.state.database
    return database


def _fleet(request: Request) -> FleetReader:
    fleet: FleetReader = request.app.state.fleet
    return fleet


def _planner(request: Request) -> Planner:
    planner: Planner = request.app.state.planner
    return planner


Database = Annotated[db.Database, Depends(_database)]
Fleet = Annotated[FleetReader, Depends(_fleet)]
Moves = Annotated[Planner, Depends(_planner)]
