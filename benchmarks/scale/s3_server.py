"""moto's S3 server on this machine, which can be stopped and started again. Needs the packages s3fs, moto[s3], flask and flask-cors."""

from __future__ import annotations

import json
import threading
from typing import Any

KEYS = {"key": "key", "secret": "secret"}


class S3Server:
    """The server of one bucket. While it is stopped, connections are refused. Its files stay in the memory of this process."""

    def __init__(self, bucket: str) -> None:
        import fsspec

        self.port, self._server = 0, None
        self.start()
        self.files = fsspec.filesystem("s3", **self.options, use_listings_cache=False, skip_instance_cache=True)
        self.files.mkdir(bucket)

    @property
    def options(self) -> dict[str, Any]:
        """What s3fs needs to reach it. Its client does not try again, because the store does."""
        url = f"http://127.0.0.1:{self.port}"
        return KEYS | {"endpoint_url": url, "config_kwargs": {"retries": {"max_attempts": 0}}}

    @property
    def environment(self) -> dict[str, str]:
        """The same for processes that start later."""
        return {"FSSPEC_S3": json.dumps(self.options)}

    def start(self) -> None:
        """Answer requests, on the same port as before."""
        from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
        from werkzeug.serving import WSGIRequestHandler, make_server

        class Handler(WSGIRequestHandler):
            protocol_version = "HTTP/1.0"  # a connection ends with its request, so that none outlives the server

            def log_request(self, *_: object) -> None:
                """Print nothing."""

        app = DomainDispatcherApplication(create_backend_app)
        self._server = make_server("127.0.0.1", self.port, app, threaded=True, request_handler=Handler)
        self.port = self._server.server_port
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def stop(self) -> None:
        """Refuse all connections."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None
