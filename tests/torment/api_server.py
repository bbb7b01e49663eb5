"""As much of an API server as `assume` needs: one Node, and pods that are listed, watched and patched."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

NODE = "worker-1"
ENDED = ("Succeeded", "Failed")


class ApiServer:
    """Thread-safe. A pod is the text of its object, because the large ones take long to make."""

    def __init__(self):
        self._changed = threading.Condition()
        self._pods = {}  # by name: its phase, and its text
        self._events = []  # of all versions: the pod's phase, and the text for a live and for an ended pod
        self.patched = set()  # names of pods
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def kubeconfig(self, file):
        cluster = {"name": "k", "cluster": {"server": f"http://127.0.0.1:{self._server.server_port}"}}
        context = {"name": "c", "context": {"cluster": "k", "user": "u"}}
        file.write_text(json.dumps({"clusters": [cluster], "contexts": [context], "current-context": "c",
                                    "users": [{"name": "u", "user": {"token": "t"}}]}))
        return file

    def put(self, name, phase, text):
        with self._changed:
            kind = "MODIFIED" if name in self._pods else "ADDED"
            self._pods[name] = (phase, text)
            self._note(phase, kind, text)

    def remove(self, name):
        with self._changed:
            phase, text = self._pods.pop(name)
            self._note(phase, "DELETED", text)

    def _note(self, phase, kind, text):
        """A live pod's event is of its kind, an ended one's tells a watch of live pods that it is gone."""
        self._events.append((phase, *(f'{{"type":"{each}","object":{text}}}\n' for each in (kind, "DELETED"))))
        self._changed.notify_all()

    def items(self, selector):
        with self._changed:
            chosen = [text for phase, text in self._pods.values() if _selects(selector, phase)]
            return f'{{"metadata":{{"resourceVersion":"{len(self._events)}"}},"items":[{",".join(chosen)}]}}'

    def events(self, version, selector):
        """Yields them for ever, with an empty text when there was none for a second."""
        while True:
            with self._changed:
                if version == len(self._events):
                    self._changed.wait(1)
                new, version = self._events[version:], len(self._events)
            yield "".join(live if _selects(selector, phase) else ended for phase, live, ended in new)

    def close(self):
        self._server.shutdown()
        self._server.server_close()


def _selects(selector, phase):
    if "status.phase=Pending" in selector:
        return phase == "Pending"
    return "status.phase!=Succeeded" not in selector or phase not in ENDED


def _handler(server):
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *words):
            pass

        def do_GET(self):  # noqa: N802
            url = urlsplit(self.path)
            asked = {key: values[0] for key, values in parse_qs(url.query).items()}
            selector = asked.get("fieldSelector", "")
            if url.path != "/api/v1/pods":
                return self._answer(f'{{"metadata":{{"resourceVersion":"1"}},"items":[{{"metadata":{{"name":"{NODE}"}}}}]}}')
            if asked.get("watch") != "true":
                return self._answer(server.items(selector))
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            try:
                for text in server.events(int(asked.get("resourceVersion") or 0), selector):
                    if text:
                        self.wfile.write(f"{len(text):x}\r\n{text}\r\n".encode())
            except OSError:
                self.close_connection = True

        def do_PATCH(self):  # noqa: N802
            self.rfile.read(int(self.headers["Content-Length"]))
            server.patched.add(self.path.split("/")[-2])
            self._answer("{}")

        def _answer(self, text):
            self.send_response(200)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            try:
                self.wfile.write(text.encode())
            except OSError:
                self.close_connection = True

    return Handler
