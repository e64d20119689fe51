"""The script that runs before Gradio's own: it is in every page once, and the page's content-length stays right."""

import pytest
from starlette.applications import Starlette
from starlette.responses import HTMLResponse, JSONResponse, StreamingResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from spec_ui.page import LAUNCH_KWARGS
from spec_ui.server import first_script

PAGE = "<!doctype html><head><title>é</title></head><head>no second one</head>"


def stream(_):
    async def parts():
        yield PAGE[:30]
        yield PAGE[30:]

    return StreamingResponse(parts(), media_type="text/html")


@pytest.fixture
def client():
    routes = [Route("/", lambda _: HTMLResponse(PAGE)), Route("/data", lambda _: JSONResponse({"head": "<head>"})), Route("/stream", stream)]
    return TestClient(Starlette(routes=routes, middleware=[first_script.quiet_frames()]))


def test_every_page_starts_with_it_and_data_is_left_alone(client):
    page = client.get("/")
    assert page.text.startswith("<!doctype html><head><script>(() => {") and page.text.count("quietFrames(window);") == 1
    assert page.text.endswith("</script>" + PAGE.removeprefix("<!doctype html><head>"))
    assert int(page.headers["content-length"]) == len(page.content)
    assert client.get("/data").json() == {"head": "<head>"}


def test_a_page_in_parts_arrives_whole(client):
    assert client.get("/stream").text == client.get("/").text


def test_the_page_is_launched_with_it():
    assert [m.cls for m in LAUNCH_KWARGS["app_kwargs"]["middleware"]] == [first_script.FirstScript]
