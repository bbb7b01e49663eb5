#!/usr/bin/env python3
"""How long the daemon's loop lets others wait: /healthz, which it answers itself, asked every 20 ms.

A program, so that nothing of the scene's delays it: loop_watch.py PID PORT. It reads commands from its standard
input: `rest`, `go on` and `tell`, and answers each with what it has seen so far as JSON.
"""

import http.client
import json
import os
import select
import sys
import time

EVERY = 0.02
SILENCE = 30.0  # seconds; then nobody waits any longer


def scheduling(task):
    """Seconds for which a thread wanted to run and no core was free, and how often it ran; zeros where nobody tells."""
    try:
        with open(f"/proc/{task}/schedstat") as file:
            _, waited, runs = file.read().split()
            return int(waited) / 1e9, int(runs)
    except (OSError, ValueError):
        return 0.0, 0


class LoopWatch:
    def __init__(self, pid, port):
        self.port = port
        self.connection = None
        self.seen = {"asked": 0, "worst": 0.0, "worst_own": 0.0, "late": 0.0, "lost": 0}
        self.on_the_way = [f"{pid}/task/{pid}", self.http_thread(pid), "thread-self"]

    def http_thread(self, pid):
        """The one that runs when it is asked, beside the loop."""
        threads = [f"{pid}/task/{each}" for each in os.listdir(f"/proc/{pid}/task") if each != str(pid)]
        before = {each: scheduling(each)[1] for each in threads}
        for _ in range(20):
            self.ask()
        return max(threads, key=lambda each: scheduling(each)[1] - before[each])

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
        """Of whoever has a part in an answer."""
        return sum(scheduling(each)[0] for each in self.on_the_way)

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
