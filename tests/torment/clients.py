"""Clients that nobody wants: on the control socket, HTTP, and the sockets that are the kubelet's."""

import contextlib
import os
import random
import socket
import time

from conformance.lines import expect
from conformance.kubelet import Refused

from . import http2
from .scenes import scene

# What was taken for tens of megabytes of calls does not all go back to the kernel.
PEAK = 4096
LIST_AND_WATCH = "/v1beta1.DevicePlugin/ListAndWatch"
# What is no HTTP, and what is half of it or without end.
HTTP_GARBAGE = [b"", b"\0", b"GET /healthz HTTP/1.1\r\nHost: lo", http2.PREFACE, b"\x16\x03\x01" + bytes(200),
                b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 20000, b"POST /reload HTTP/1.1\r\nContent-Length: 60000\r\n\r\nhalf"]


@scene("Others read the lists, and the kubelet ends its own streams")
def foreign_readers(trial):
    trial.start()
    for _ in trial.rounds():
        trial.go_on_for(1.2)  # one that ends within a second is asked for again with longer and longer pauses
        readers = [http2.Connection(trial.node.plugins / name) for name in trial.node.sockets()]
        for reader in readers:
            call = reader.call(LIST_AND_WATCH)
            expect(reader.read_until(lambda: call in reader.answered, 5), "no list for another reader")
        for name in trial.expected:
            begun = time.monotonic()
            with contextlib.suppress(Refused):  # there is no stream at the moment
                trial.node.kubelet.ask(f"cancel {name}")
            trial.did("streams ended")
            trial.node.kubelet.until(lambda: trial.attached(), 10, "attached again")
            trial.took("back on a stream", begun)
        trial.go_on()
        for reader in readers:
            reader.close()


def _garbage(connect):
    """What is no request, and what is half of one; the connections stay open."""
    half = http2.PREFACE + http2.frame(http2.SETTINGS, 0, 0, b"") + b"\0\0\xff\1\4\0\0\0\1half a frame"
    endless = http2.frame(http2.HEADERS, 0, 1, http2.head_of("/x"))
    flood = http2.PREFACE + endless + http2.frame(http2.CONTINUATION, 0, 1, b"\0\4name\4text" * 1000) * 50
    texts = [b"", b"\0", os.urandom(4096), b"GET / HTTP/1.0\r\n", http2.PREFACE[:10], half, flood]
    held = []
    for text in texts:
        connection = connect()
        if connection:
            held.append(connection)
            with contextlib.suppress(OSError):
                connection.sendall(text)
    return held


def _connect_to(path, family=socket.AF_UNIX):
    def connect():
        connection = socket.socket(family)
        connection.settimeout(2)
        try:
            connection.connect(path)
        except OSError:
            connection.close()
            return None
        return connection

    return connect


def _asked(path, method="GET"):
    return f"{method} {path} HTTP/1.1\r\nHost: plughost\r\n\r\n".encode()


@scene("The control socket: 300 who ask for the status and 300 reloads at once, watchers that do not read, garbage")
def control_clients(trial):
    trial.most_kilobytes = PEAK
    trial.start()
    connect = _connect_to(str(trial.node.control))
    asks = [_asked("/status.json")] * 5 + [_asked("/reload", "POST")] * 5 + [_asked("/stream")] + HTTP_GARBAGE[:1]
    for _ in trial.rounds():
        held = []
        for number in range(660):
            if connection := connect():
                held.append(connection)
                with contextlib.suppress(OSError):
                    connection.sendall(asks[number % len(asks)])
        trial.did("connections", len(held))
        for garbage in HTTP_GARBAGE:
            if connection := connect():
                held.append(connection)
                with contextlib.suppress(OSError):
                    connection.sendall(garbage)
        end = time.monotonic() + 1
        while time.monotonic() < end:
            trial.hotplug()
            trial.allocate()
        trial.go_on()
        for connection in held:
            connection.close()


@scene("HTTP: 300 connections that are idle, slow, garbage, or never read what they asked for")
def http_clients(trial):
    trial.start()
    connect = _connect_to(("127.0.0.1", trial.node.port), socket.AF_INET)
    host = b" HTTP/1.1\r\nHost: localhost\r\n\r\n"
    asks = [b"GET /stream" + host, (b"GET /status.json" + host) * 200, *HTTP_GARBAGE]
    for _ in trial.rounds():
        held = []
        for number in range(300):
            if connection := connect():
                held.append(connection)
                connection.setblocking(False)
                with contextlib.suppress(OSError):
                    connection.send(asks[number % len(asks)])
                trial.did("connections")
        end = time.monotonic() + max(1, trial.seconds / 4)
        while time.monotonic() < end:
            for connection in random.sample(held, 20):
                with contextlib.suppress(OSError):
                    connection.send(b"x")
            trial.go_on()
        for connection in held:
            connection.close()


@scene("The kubelet's sockets: idle, garbage and half frames, floods, a thousand lists that nobody reads")
def plugin_clients(trial):
    trial.most_kilobytes = PEAK
    trial.start()
    for _ in trial.rounds():
        held = []
        for name in trial.node.sockets():
            path = trial.node.plugins / name
            for _ in range(10):
                held += _garbage(_connect_to(str(path)))
            with contextlib.suppress(OSError):
                reader = http2.Connection(path)
                held.append(reader)
                for _ in range(250):
                    reader.call(LIST_AND_WATCH)
                trial.did("lists that nobody reads", 250)
        trial.did("connections", len(held))
        trial.new_kubelet()
        trial.go_on_for(max(1, trial.seconds / 4))
        for connection in held:
            connection.close()
        trial.go_on()
