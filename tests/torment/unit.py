"""What systemd is to the daemon: who hears that it is ready, and kills it when it falls silent."""

import os
import re
import socket
import threading
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]


def watchdog_seconds():
    """As the unit has it."""
    (unit,) = (REPOSITORY / "systemd").glob("*.service")
    return int(re.search(r"^WatchdogSec=(\d+)$", unit.read_text(), re.M)[1])


class Unit:
    """Thread-safe. One daemon's, until close()."""

    def __init__(self, directory):
        self.limit = watchdog_seconds()
        self._path = Path(directory) / f"notify-{time.monotonic_ns()}"
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(str(self._path))
        os.chmod(self._path, 0o777)  # for a daemon of another user's
        self._ready = threading.Event()
        self._heard = None  # when it pinged last
        self._pauses = [0.0]
        self.pings = 0
        threading.Thread(target=self._listen, daemon=True).start()

    def environment(self):
        return {"NOTIFY_SOCKET": str(self._path), "WATCHDOG_USEC": str(self.limit * 1_000_000)}

    def wait_until_ready(self, seconds):
        return self._ready.wait(seconds)

    def longest_pause(self):
        """Between two pings, the one that is under way included."""
        now = time.monotonic()
        return max(*self._pauses, now - (self._heard or now))

    def close(self):
        self._socket.close()
        self._path.unlink(missing_ok=True)

    def _listen(self):
        while True:
            try:
                said = self._socket.recv(4096)
            except OSError:
                return
            if b"READY=1" in said:
                self._ready.set()
            if b"WATCHDOG=1" in said:
                now = time.monotonic()
                self._pauses.append(now - (self._heard or now))
                self._heard = now
                self.pings += 1
