"""A server that gives the page what plughost's would, as a test scripts it."""
import http.server
import json
import queue
import socketserver
import threading


def next_of(said):
    """What is to be said; every 15 s, that the daemon is alive."""
    try:
        return said.get(timeout=15)
    except queue.Empty:
        return b'event: alive\ndata: 1\n\n'


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def do_GET(self):
        feeder = self.server.feeder
        if self.path == '/stream':
            return self.stream(feeder)
        answers = {
            '/': ('text/html; charset=utf-8', lambda: feeder.page),
            '/status.json': ('application/json', lambda: json.dumps(feeder.status).encode()),
            '/events.json': ('application/json', lambda: json.dumps(feeder.events).encode()),
        }
        if self.path not in answers:
            return self.send_error(404)
        kind, content = answers[self.path]
        body = content()
        self.send_response(200)
        self.send_header('Content-Type', kind)
        self.send_header('Content-Length', str(len(body)))
        if self.path == '/':
            self.send_header('Content-Security-Policy', feeder.policy)
        self.end_headers()
        self.wfile.write(body)

    def stream(self, feeder):
        said = queue.Queue()
        feeder.listeners.append(said)
        self.send_response(200)
        self.send_header('Content-Type', 'text/event-stream')
        self.send_header('Connection', 'close')
        self.end_headers()
        self.close_connection = True
        try:
            while (chunk := next_of(said)) is not None:
                self.wfile.write(chunk)
                self.wfile.flush()
        except OSError:
            pass  # the page went away
        finally:
            feeder.listeners.remove(said)

    def log_message(self, *_):
        pass


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    allow_reuse_address = True


class Feeder:
    def __init__(self, page, policy):
        self.page = page
        self.policy = policy
        self.status = {}
        self.events = []
        self.listeners = []
        self.port = 0

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()

    @property
    def url(self):
        return f'http://127.0.0.1:{self.port}/'

    def start(self):
        self.server = Server(('127.0.0.1', self.port), Handler)
        self.server.feeder = self
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, kwargs={'poll_interval': 0.02}, daemon=True).start()

    def stop(self):
        """The port refuses, and every stream ends."""
        self.server.shutdown()
        self.server.server_close()
        for listener in list(self.listeners):
            listener.put(None)

    def say(self, event, data):
        for listener in list(self.listeners):
            listener.put(f'event: {event}\ndata: {json.dumps(data)}\n\n'.encode())

    def set(self, status):
        self.status = status
        self.say('status', status)

    def happen(self, change):
        self.events.append(change)
        self.say('change', change)
