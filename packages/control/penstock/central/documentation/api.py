"""The documentation over HTTP: made here, with no script, and nothing from elsewhere."""

from functools import cache
from pathlib import Path
from typing import Final

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.responses import HTMLResponse

from penstock.central.documentation import page

STYLE: Final = (Path(__file__).parent / "style.css").read_text()
# People sign in on this origin: what runs here could act for them.
POLICY: Final = (
    "default-src 'none'; style-src 'self'; base-uri 'none'; frame-ancestors 'none'; "
    "form-action 'none'"
)
router = APIRouter(prefix="/docs", include_in_schema=False)


@router.get("")
async def documentation(request: Request) -> Response:
    app: FastAPI = request.app
    return HTMLResponse(_rendered(app), headers={"Content-Security-Policy": POLICY})


@router.get("/style.css")
async def style() -> Response:
    return Response(STYLE, media_type="text/css")


@cache
def _rendered(app: FastAPI) -> str:
    return page.render(app.openapi())
