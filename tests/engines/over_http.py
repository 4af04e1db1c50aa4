"""Searches of the engines' tests, asked through the Python client over HTTP instead."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import fields
from io import BytesIO

from starlette.testclient import TestClient
from urllib3 import HTTPResponse

import ses
from search_plugin.contract.connection import Connection
from search_plugin.contract.engine import check_model
from search_plugin.contract.tree import And
from search_plugin.filters import parse
from search_plugin.request import DEFAULTS, SearchRequest, make_request
from ses.models.library_models import LibraryModels
from ses.remote.client import ServiceClient
from ses.remote.index import RemoteIndex
from ses.service.app import make_app
from ses.service.service import Service
from ses.service.settings import ServiceSettings
from ses.settings import load_settings

UNTYPED = ("query", "words", "notes", "facet_typed")
"""What a request holds beside the options of a search."""


class InProcess:
    """Sends requests to an application in this process, as `HttpClient` does to a server."""

    def __init__(self, app):
        self._client = TestClient(app, headers={"accept": "application/json"})

    @contextmanager
    def send(self, method, url, headers, body=None):
        reply = self._client.request(method, url, headers=headers, content=body)
        # The body is unpacked already, so it has another length.
        told = {
            name: value for name, value in reply.headers.items() if name not in ("content-encoding", "content-length")
        }
        yield HTTPResponse(BytesIO(reply.content), told, reply.status_code, preload_content=False)

    def close(self):
        self._client.close()


class OneEncoder(LibraryModels):
    """The encoder of a test, whatever an index names."""

    def __init__(self, settings, encoder):
        super().__init__(settings)
        self.held = encoder

    def of_leg(self, index, leg="", by=None):
        check_model(index, self.held.card.name, self.held.card.fingerprint)
        return self.held


class OneIndex(ses.Library):
    """A library of one open index, whose queries the encoder of a test encodes."""

    def __init__(self, settings, index, encoder):
        super().__init__(settings)
        self.held, self._models = index, OneEncoder(settings, encoder)

    def indexes(self, **_):
        return [self.held.name]

    def _open(self, name):
        return self.held


class OverHttp:
    """Stands in for the functions by which these tests search: every search asks a new service, in this process.

    The tests make a `SearchRequest` of checked values, and a client sends texts; so this remembers the texts.
    """

    def __init__(self, folder):
        self.searches, self._texts, self._given = 0, {}, {}
        self._settings = load_settings(engine=f"embedded:{folder}", data_dir=folder)
        self._app = make_app(Service(ses.Library(self._settings), ServiceSettings()))
        self._client = ServiceClient("http://testserver", Connection(patience=0))
        self._client._client = InProcess(self._app)

    def parse_filter(self, text, *rest):
        """As `search_plugin.filters.parse` has it."""
        tree = parse.parse_filter(text, *rest)
        self._texts[tree] = text
        return tree

    def make_request(self, query, *, fields=(), **options):
        """As `search_plugin.request` has it."""
        request = make_request(query, **({"fields": fields} if fields else {}), **options)
        self._given[id(request)] = request, query, options  # with the request, or another could get its id
        return request

    def search(self, index, request, encoder=None):
        """As `search_plugin.search` has it."""
        query, options = self._asked(request)
        return self._opened(index, encoder).search(query, **options)

    def similar(self, index, paper_id, request=None):
        """As `search_plugin.search` has it."""
        _, options = self._asked(request or SearchRequest("-", mode="vector"))
        options.pop("literal")  # only a search of words takes it
        return self._opened(index, None).similar(paper_id, **options)

    def _asked(self, request):
        if id(request) in self._given:
            _, query, options = self._given[id(request)]
        else:
            given = {one.name: getattr(request, one.name) for one in fields(request) if one.name not in UNTYPED}
            query, options = request.query, {name: one for name, one in given.items() if one != DEFAULTS[name]}
            options["literal"] = True
        where = options.get("filter")
        if where is None or isinstance(where, str | list):
            return query, options
        parts = where.parts if isinstance(where, And) and where not in self._texts else (where,)
        return query, {**options, "filter": [self._texts[part] for part in parts]}

    def _opened(self, index, encoder):
        self.searches += 1
        self._app.state.service = Service(OneIndex(self._settings, index, encoder), ServiceSettings())
        return RemoteIndex(index.name, lambda: self._client, entry=None)
