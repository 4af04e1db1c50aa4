"""Serve a library over a socket while tests ask it."""

import threading
from contextlib import contextmanager

import ses


@contextmanager
def served(library):
    """Run a service over the indexes of a library; gives its address."""
    import uvicorn

    from ses.service.app import make_app
    from ses.service.service import Service
    from ses.service.settings import ServiceSettings

    app = make_app(Service(ses.Library(library._settings), ServiceSettings()))
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        thread.join(0.01)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    thread.join()
