"""A real server of OAI-PMH, by the library oai_repo over plain HTTP, whose records the tests can change."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self
from urllib.parse import parse_qs, urlsplit
from xml.sax.saxutils import escape

import oai_repo
from lxml import etree

START = datetime(2024, 1, 1, tzinfo=UTC)
OAI_DC = "http://www.openarchives.org/OAI/2.0/oai_dc/"
MARC = "http://www.loc.gov/MARC21/slim"
SECONDS = "YYYY-MM-DDThh:mm:ssZ"


def dublin_core(**elements: str | list[str]) -> str:
    """Return oai_dc with the given elements."""
    listed = [
        f"<dc:{name}>{escape(text)}</dc:{name}>"
        for name, texts in elements.items()
        for text in ([texts] if isinstance(texts, str) else texts)
    ]
    return (
        f'<oai_dc:dc xmlns:oai_dc="{OAI_DC}" xmlns:dc="http://purl.org/dc/elements/1.1/">{"".join(listed)}</oai_dc:dc>'
    )


@dataclass
class Item:
    """A record: its metadata by prefix; deleted if it has none."""

    stamp: datetime
    metadata: dict[str, str]
    sets: tuple[str, ...] = ()


@dataclass
class Data(oai_repo.DataInterface):
    """The records of the server by identifier, in the order in which it lists them."""

    items: dict[str, Item] = field(default_factory=dict)
    granularity: str = SECONDS
    deleted_record: str = "persistent"
    limit: int = 10
    state: str = ""

    def put(self, name: str, after: float = 0, sets: tuple[str, ...] = (), **elements: str | list[str]) -> None:
        """Write a record, stamped so many seconds after `START`; it is listed last."""
        self.items.pop(name, None)
        self.items[name] = Item(START + timedelta(seconds=after), {"oai_dc": dublin_core(**elements)}, sets)

    def delete(self, name: str, after: float) -> None:
        """Mark a record as deleted."""
        sets = self.items.pop(name).sets
        self.items[name] = Item(START + timedelta(seconds=after), {}, sets)

    def written(self, moment: datetime) -> str:
        """Return a time in the server's granularity."""
        return moment.strftime("%Y-%m-%dT%H:%M:%SZ" if self.granularity == SECONDS else "%Y-%m-%d")

    def get_identify(self):
        return oai_repo.Identify(
            repository_name="Tests",
            base_url="http://localhost/oai",
            admin_email=["nobody@example.org"],
            earliest_datestamp=self.written(START),
            deleted_record=self.deleted_record,
            granularity=self.granularity,
        )

    def is_valid_identifier(self, identifier):
        return identifier in self.items

    def get_metadata_formats(self, identifier=None):
        return [
            oai_repo.MetadataFormat("oai_dc", "http://www.openarchives.org/OAI/2.0/oai_dc.xsd", OAI_DC),
            oai_repo.MetadataFormat("marc21", "http://www.loc.gov/standards/marcxml/schema/MARC21slim.xsd", MARC),
            oai_repo.MetadataFormat("mods", "http://www.loc.gov/standards/mods/mods.xsd", "http://www.loc.gov/mods/v3"),
        ]

    def get_record_header(self, identifier):
        item = self.items[identifier]
        status = None if item.metadata else "deleted"
        return oai_repo.RecordHeader(identifier, self.written(item.stamp), list(item.sets), status)

    def get_record_metadata(self, identifier, metadataprefix):
        item = self.items[identifier]
        # The library leaves out what has no metadata, deleted records too; `answer` removes this again.
        text = item.metadata.get(metadataprefix) if item.metadata else "<deleted/>"
        return None if text is None else etree.fromstring(text)

    def get_record_abouts(self, identifier):
        return []

    def list_set_specs(self, identifier=None, cursor=0):
        specs = sorted({spec for item in self.items.values() for spec in item.sets})
        return specs, len(specs), None

    def get_set(self, setspec):
        return oai_repo.Set(setspec, setspec, [])

    def list_identifiers(self, metadataprefix, filter_from=None, filter_until=None, filter_set=None, cursor=0):
        day = self.granularity != SECONDS
        found = [
            name
            for name, item in self.items.items()
            if (filter_from is None or item.stamp >= filter_from)
            and (filter_until is None or item.stamp < filter_until + timedelta(days=day, seconds=not day))
            and (filter_set is None or filter_set in item.sets)
        ]
        return found[cursor : cursor + self.limit], len(found), self.state or None


class Repository:
    """The server, on a port of its own; `asked` are the arguments of all requests."""

    def __init__(self, data: Data) -> None:
        self.data = data
        self.clock = START + timedelta(days=1)
        self.asked: list[dict[str, str]] = []
        self.change: Callable[[bytes], bytes] = lambda body: body
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())

    @property
    def base(self) -> str:
        """Host and port."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def url(self) -> str:
        """Address to harvest."""
        return f"{self.base}/oai"

    def answer(self, arguments: dict[str, str]) -> bytes:
        """Return what the library answers, at the time of the test's clock."""
        self.asked.append(dict(arguments))
        root = oai_repo.OAIRepository(self.data).process(dict(arguments)).root()
        for record in root.iter("record"):
            if record.find("metadata/deleted") is not None:
                record.find("header").set("status", "deleted")
                record.remove(record.find("metadata"))
        stamp = root.find("responseDate")
        stamp.text = self.clock.strftime("%Y-%m-%dT%H:%M:%SZ")
        return etree.tostring(root, xml_declaration=True, encoding="UTF-8")

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        repository = self

        class Handler(BaseHTTPRequestHandler):
            wbufsize = -1

            def do_GET(self) -> None:
                query = parse_qs(urlsplit(self.path).query, keep_blank_values=True)
                body = repository.change(repository.answer({name: values[0] for name, values in query.items()}))
                self.send_response(200)
                self.send_header("Content-Type", "text/xml; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        return Handler

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
