# SPDX-License-Identifier: Apache-2.0
"""A collector of traces: takes OTLP/HTTP and reads it with OpenTelemetry's own definitions."""
import contextlib
import http.server
import pathlib
import ssl
import subprocess
import sys
import threading

HERE = pathlib.Path(__file__).parent
VENV = subprocess.run([HERE / "venv", "otlp", HERE / "otlp-requirements.txt"], check=True, stdout=subprocess.PIPE,
                      text=True).stdout.strip()
sys.path[:0] = [str(path) for path in pathlib.Path(VENV).glob("lib/python3*/site-packages")]

from opentelemetry.proto.collector.trace.v1 import trace_service_pb2  # noqa: E402
from opentelemetry.proto.trace.v1 import trace_pb2  # noqa: E402

KINDS = trace_pb2.Span.SpanKind


def attributes(pairs):
    return {pair.key: pair.value.string_value for pair in pairs}


class Span:
    """One span, with the service that has sent it."""

    def __init__(self, service, span):
        self.service, self.name, self.kind = service, span.name, KINDS.Name(span.kind)
        self.trace, self.id, self.parent = span.trace_id.hex(), span.span_id.hex(), span.parent_span_id.hex()
        self.start, self.end = span.start_time_unix_nano, span.end_time_unix_nano
        self.error = span.status.message if span.status.code == trace_pb2.Status.STATUS_CODE_ERROR else None
        self.attributes = attributes(span.attributes)

    def __repr__(self):
        return f"{self.service} {self.name} {self.attributes} {self.error or ''}"


class Collector:
    """`answer` is the status that it gives; None: it says nothing at all until `released`. `tls`: certificate and key."""

    def __init__(self, port=0, tls=None):
        self.spans, self.headers, self.requests, self.answer = [], [], 0, 200
        self.released = threading.Event()
        collector = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                with contextlib.suppress(OSError):
                    collector.take(self, body)

            def log_message(self, *args):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_port
        self.tls = tls is not None
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*tls)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def endpoint(self):
        return f"{'https://localhost' if self.tls else 'http://127.0.0.1'}:{self.port}/v1/traces"

    def take(self, handler, body):
        self.requests += 1
        self.headers.append((handler.path, dict(handler.headers)))
        if self.answer is None:
            self.released.wait(60)
            return
        if self.answer == 200:
            self.read(body)
        handler.send_response(self.answer)
        handler.send_header("Content-Type", "application/x-protobuf")
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    def read(self, body):
        request = trace_service_pb2.ExportTraceServiceRequest.FromString(body)
        for resource in request.resource_spans:
            service = attributes(resource.resource.attributes)["service.name"]
            for scope in resource.scope_spans:
                self.spans += [Span(service, span) for span in scope.spans]

    def close(self):
        self.released.set()
        self.server.shutdown()
        self.server.server_close()
