"""A child process and what it writes, line by line; and waiting for a condition."""

import ctypes
import os
import signal
import subprocess
import threading
import time


class TimedOut(Exception):
    """What was waited for did not come."""


def until(condition, seconds, what, every=0.005):
    """Waits until condition() is true, and returns its value. Raises TimedOut, with what in its text.

    The condition is looked at every so many seconds.
    """
    end = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > end:
            raise TimedOut(f"{what}: not within {seconds:g} s")
        time.sleep(every)
    return value


def _end_with_parent():
    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)


class Process:
    """Standard output and, unless errors is a file's name or a descriptor, standard error are read as one stream of lines.

    Thread-safe. The child is killed when its parent dies, and by close(), which also ends a with-statement.
    """

    def __init__(self, arguments, environment=None, errors=None):
        self.arguments = [str(argument) for argument in arguments]
        self._lines = []
        self._changed = threading.Condition()
        self._closed = False
        if errors is None:
            errors = subprocess.STDOUT
        elif not isinstance(errors, int):
            errors = open(errors, "ab")
        self._child = subprocess.Popen(
            self.arguments,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            env={**os.environ, **(environment or {})},
            preexec_fn=_end_with_parent,
        )
        self._successor = None
        threading.Thread(target=self._read, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _read(self):
        for line in self._child.stdout:
            with self._changed:
                self._lines.append(line.decode(errors="replace").rstrip("\n"))
                self._changed.notify_all()
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    @property
    def pid(self):
        return self._successor or self._child.pid

    def continue_as(self, pid):
        """The child has started another process, which has its output and is no child of this one."""
        self._successor = pid

    def write(self, line):
        self._child.stdin.write(line.encode() + b"\n")
        self._child.stdin.flush()

    def lines(self, start=0):
        with self._changed:
            return self._lines[start:]

    def mark(self):
        """The number of lines so far: where a later search can begin."""
        with self._changed:
            return len(self._lines)

    def wait_for_line(self, wanted, seconds, start=0):
        """The first line, from start on, for which wanted(line) is true; wanted may be a part of it, too.

        Raises TimedOut, also when the process ended without such a line.
        """
        matches = wanted if callable(wanted) else lambda line: wanted in line
        end = time.monotonic() + seconds
        with self._changed:
            while True:
                for line in self._lines[start:]:
                    if matches(line):
                        return line
                start = len(self._lines)
                if self._closed or not self._changed.wait(max(0, end - time.monotonic())):
                    if self._closed or time.monotonic() >= end:
                        raise TimedOut(f"{self.arguments[0]} wrote no such line within {seconds:g} s: {wanted}")

    def signal(self, number):
        if self._successor:
            os.kill(self._successor, number)
        else:
            self._child.send_signal(number)

    def running(self):
        return self._child.poll() is None

    def wait(self, seconds):
        """The exit code, or minus the signal's number."""
        try:
            return self._child.wait(seconds)
        except subprocess.TimeoutExpired:
            raise TimedOut(f"{self.arguments[0]} still runs after {seconds:g} s") from None

    def close(self):
        if self._successor:
            try:
                os.kill(self._successor, signal.SIGKILL)
            except ProcessLookupError:
                pass
        if self.running():
            self._child.kill()
        self._child.wait()
