"""An admission webhook that lets nothing through, with a code of the test's choice."""

import base64
import http.server
import json
import ssl
import threading

from identities import new_key, openssl

ADDRESS = "192.0.2.1"  # where the API server is, too


class Webhook:
    """client: how a webhook's configuration names it."""

    def __init__(self, cluster, code):
        folder = cluster.node_a.fresh_folder()
        key, certificate = folder / "webhook.key", folder / "webhook.crt"
        new_key(key)
        openssl("req", "-x509", "-key", key, "-subj", "/CN=webhook", "-addext", f"subjectAltName=IP:{ADDRESS}",
                "-days", "1", "-out", certificate)

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                answer = {"uid": review["request"]["uid"], "allowed": False, "status": {"code": code, "message": "not today"}}
                body = json.dumps({"apiVersion": review["apiVersion"], "kind": review["kind"], "response": answer}).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        self._server = http.server.ThreadingHTTPServer((ADDRESS, 0), Handler)
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.client = {"url": f"https://{ADDRESS}:{self._server.server_port}/no",
                       "caBundle": base64.b64encode(certificate.read_bytes()).decode()}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()
