"""The groups of routes, which are imported at the first request for one of their paths."""

from pkgutil import resolve_name

import pytest
from starlette.routing import Match

from ses.service.app import ROUTERS, RouteGroup

pytestmark = pytest.mark.serve


@pytest.mark.parametrize("place", ROUTERS)
def test_the_paths_of_a_group_begin_as_the_registry_says(place):
    group = RouteGroup(place, ROUTERS[place])
    for route in resolve_name(place).routes:
        scope = {"type": "http", "path": route.path, "method": next(iter(route.methods))}
        assert group.matches(scope)[0] is Match.FULL


@pytest.mark.parametrize("path", ["/", "/other", "/onerous", "/on", "/other/one"])
def test_a_request_for_another_path_imports_nothing(path):
    assert RouteGroup("of_no_package:router", ("/one",)).matches({"type": "http", "path": path})[0] is Match.NONE


@pytest.mark.parametrize("path", ["/one", "/one.json", "/one/more", "/site/one"])
def test_a_request_for_its_path_imports_a_group(path):
    with pytest.raises(ModuleNotFoundError):
        RouteGroup("of_no_package:router", ("/one",)).matches({"type": "http", "path": path, "root_path": "/site"})


def test_a_method_that_no_route_of_the_path_has_is_half_a_match():
    group = RouteGroup("ses.service.web.docs:router", ("/docs",))
    assert group.matches({"type": "http", "path": "/docs", "method": "POST"})[0] is Match.PARTIAL
    assert group.matches({"type": "http", "path": "/docs/more", "method": "POST"})[0] is Match.NONE
