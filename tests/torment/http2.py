"""As much of gRPC as somebody needs who wants to annoy a server: calls by hand, on one connection."""

import select
import socket
import struct
import time

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = 0, 1, 3, 4, 6, 7, 8, 9
_END_STREAM, _ACK, _END_HEADERS = 1, 1, 4


def frame(kind, flags, stream, payload):
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def _literal(name, value):
    """A header that nobody keeps, without Huffman's code."""
    return b"\0" + bytes([len(name)]) + name.encode() + bytes([len(value)]) + value.encode()


def head_of(method):
    fields = {":method": "POST", ":scheme": "http", ":path": method, ":authority": "localhost"}
    fields |= {"content-type": "application/grpc", "te": "trailers"}
    return b"".join(_literal(*field) for field in fields.items())


class Connection:
    """For one thread. Answers are taken in by read_until() alone."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(10)
        self.socket.connect(str(path))
        self.socket.sendall(PREFACE + frame(SETTINGS, 0, 0, b""))
        self.answered = {}  # by call: how many bytes came
        self.ended = set()  # calls
        self.closed = False
        self._next = 1
        self._buffer = b""

    def call(self, method, message=b""):
        """Begins a call, and returns its number."""
        number, self._next = self._next, self._next + 2
        body = b"\0" + struct.pack(">I", len(message)) + message
        self.socket.sendall(
            frame(HEADERS, _END_HEADERS, number, head_of(method)) + frame(DATA, _END_STREAM, number, body)
        )
        return number

    def read_until(self, condition, seconds):
        """Takes answers in until condition() is true; False: it has not become so."""
        end = time.monotonic() + seconds
        while not condition():
            left = end - time.monotonic()
            if self.closed or left <= 0:
                return False
            if select.select([self.socket], [], [], left)[0]:
                self._take_in()
        return True

    def close(self):
        self.socket.close()

    def _take_in(self):
        try:
            received = self.socket.recv(1 << 20)
        except OSError:
            received = b""
        self.closed = not received
        self._buffer += received
        while len(self._buffer) >= 9:
            length = int.from_bytes(self._buffer[:3], "big")
            if len(self._buffer) < 9 + length:
                return
            kind, flags, stream = struct.unpack_from(">BBI", self._buffer, 3)
            self._take(kind, flags, stream & 0x7FFFFFFF, self._buffer[9 : 9 + length])
            self._buffer = self._buffer[9 + length :]

    def _take(self, kind, flags, stream, payload):
        if kind == SETTINGS and not flags & _ACK:
            self._send(frame(SETTINGS, _ACK, 0, b""))
        elif kind == PING and not flags & _ACK:
            self._send(frame(PING, _ACK, 0, payload))
        elif kind == DATA and payload:
            self.answered[stream] = self.answered.get(stream, 0) + len(payload)
            more = struct.pack(">I", len(payload))
            self._send(frame(WINDOW_UPDATE, 0, 0, more) + frame(WINDOW_UPDATE, 0, stream, more))
        if kind == RST_STREAM or (kind in (DATA, HEADERS) and flags & _END_STREAM):
            self.ended.add(stream)

    def _send(self, data):
        try:
            self.socket.sendall(data)
        except OSError:
            self.closed = True
