#!/usr/bin/env python3
"""How long the daemon's loop lets others wait: /healthz, which it answers itself, asked every 20 ms.

A program, so that nothing of the scene's delays it: loop_watch.py PID PORT. It reads commands from its standard
input: `rest`, `go on` and `tell`, and answers each with what it has seen so far as JSON.
"""

import http.client
import json
import select
import sys
import time

EVERY = 0.02
SILENCE = 30.0  # seconds; then nobody waits any longer


def unscheduled(task):
    """Seconds for which a thread wanted to run and no core was free; 0 where the kernel does not tell."""
    try:
        with open(f"/proc/{task}/schedstat") as file:
            return int(file.read().split()[1]) / 1e9
    except (OSError, IndexError):
        return 0.0


class LoopWatch:
    def __init__(self, pid, port):
        self.loop = f"{pid}/task/{pid}"
        self.port = port
        self.connection = None
        self.seen = {"asked": 0, "worst": 0.0, "worst_own": 0.0, "late": 0.0, "lost": 0}

    def ask(self):
        """True when the loop has answered, False when it is busy still."""
        try:
            if not self.connection:
                self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=SILENCE)
            self.connection.request("GET", "/healthz")
            return b"busy" not in self.connection.getresponse().read()
        except (OSError, http.client.HTTPException):
            self.connection = None
            self.seen["lost"] += 1
            return False

    def sample(self):
        begun, before = time.monotonic(), self.delays()
        while not self.ask() and time.monotonic() - begun < SILENCE:
            pass  # "busy" comes after 40 ms, and a refused connection is asked for at the next try
        waited = time.monotonic() - begun
        seen = self.seen
        seen["asked"] += 1
        seen["worst"] = max(seen["worst"], waited)
        seen["worst_own"] = max(seen["worst_own"], waited - (self.delays() - before))

    def delays(self):
        return unscheduled(self.loop) + unscheduled("thread-self")

    def run(self):
        resting, due = False, time.monotonic()
        while True:
            readable, _, _ = select.select([sys.stdin], [], [], max(0, due - time.monotonic()))
            if readable:
                command = sys.stdin.readline().strip()
                if not command:
                    return
                resting = command == "rest" or (resting and command != "go on")
                print(json.dumps(self.seen), flush=True)
                continue
            if not resting:
                # A bare thread's own lateness: what a wait may be longer for.
                self.seen["late"] = max(self.seen["late"], time.monotonic() - due)
                self.sample()
            due = time.monotonic() + EVERY


if __name__ == "__main__":
    LoopWatch(int(sys.argv[1]), int(sys.argv[2])).run()
