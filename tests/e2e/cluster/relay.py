"""A way to the API server for one program, which can be cut or fall silent while all others still have theirs."""

import contextlib
import socket
import threading


def _pass_on(source, target, flows):
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            flows.wait()
            target.sendall(data)
    for end in (source, target):
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)


class Relay:
    """From a port of the server's own address, so that its certificate is right here, too. For a with-statement."""

    def __init__(self, host, server_port, port):
        self.address = f"https://{host}:{port}"
        self._port = (host, port)
        self._server = (host, server_port)
        self._pairs = []
        self._flows = threading.Event()
        self._flows.set()
        self._open()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._close()

    def _open(self):
        listener = socket.create_server(self._port)
        self._listener = listener
        threading.Thread(target=self._accept, args=(listener,), daemon=True).start()

    def _accept(self, listener):
        with contextlib.suppress(OSError):
            while True:
                client, _ = listener.accept()
                try:
                    server = socket.create_connection(self._server)
                except OSError:
                    client.close()
                    continue
                self._pairs.append((client, server))
                for source, target in ((client, server), (server, client)):
                    threading.Thread(target=_pass_on, args=(source, target, self._flows), daemon=True).start()

    def _close(self):
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # ends accept()
        self._listener.close()
        for pair in self._pairs:
            for end in pair:
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
        self._pairs.clear()

    @contextlib.contextmanager
    def cut(self):
        """Who comes this way is refused, and who was there is cut off."""
        self._close()
        try:
            yield
        finally:
            self._open()

    @contextlib.contextmanager
    def silent(self):
        """Connections are taken and stay, and nothing comes through."""
        self._flows.clear()
        try:
            yield
        finally:
            self._flows.set()
