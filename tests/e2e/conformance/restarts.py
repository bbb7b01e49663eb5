"""The kubelet goes and comes, or does not answer: lines 18 to 21, 24 to 27, and 29."""

import os
import signal
import socket
import time

from process import TimedOut

from .kubelet import PATIENCE
from .lines import Failed, NotShown, expect, line
from .node import WATCHED, accepts, counted, empty_and_remove, listed, seconds_in

A, B = "example.com/a", "example.com/b"
GOPHER = "example.com/gopher"


def mixed(node, count):
    """Entries of so many resources: half of them are counts, half directories."""
    entries = []
    for number in range(count // 2):
        directory = node.root / f"directory-{number}"
        directory.mkdir()
        for file in range(4):
            (directory / f"d{number}-{file}").touch()
        entries += [
            counted(f"example.com/count-{number}", 8),
            listed(f"example.com/directory-{number}", directory),
        ]
    return entries


def _three(node):
    (node.root / "gophers").mkdir()
    (node.root / "gophers" / "one").touch()
    return [counted(A, 2), counted(B, 3), listed(GOPHER, node.root / "gophers")]


def _registered_once(node):
    for name in node.names:
        count = node.registrations(name)
        expect(count == 1, f"{name} was registered {count} times with this kubelet")


@line(18, "A new kubelet.sock: all resources stream again within 1 s.", "the kubelet is killed, 16 resources")
def new_kubelet(node):
    node.run(*mixed(node, 16))
    for again in [node.replace_kubelet] * 10 + [lambda: node.kubelet.restart()] * 5:
        again()
        node.attached()
        node.measure("a kubelet listens → 16 resources are listed", node.recovery(), limit=1)
    node.kubelet.ask("allocate example.com/count-0 8 pod")


@line(19, "No kubelet at start: wait; register within 1 s of its coming.", "the kubelet's events")
def no_kubelet(node):
    for directory_is_there in (True, False, True, False):
        node.configure(*(_three(node) if not node.names else [counted(A, 2), counted(B, 3)]))
        if directory_is_there:
            node.plugins.mkdir(exist_ok=True)
        else:
            empty_and_remove(node, node.plugins)
        node.start_daemon()
        node.daemon.wait_for_line("waiting for the kubelet", PATIENCE)
        node.start_kubelet()
        node.attached()
        last = max(node.of(name).connected[0] for name in node.names)
        node.measure("the first kubelet listens → all are connected", last - node.kubelet.started_at, limit=1)
        node.end_daemon()
        node.kill_kubelet()
        (node.plugins / "kubelet.sock").unlink()


@line(
    20,
    "Stale kubelet.sock: retry at most 5 s apart, no exit.",
    "a killed kubelet's socket, the daemon's log, and a socket that begins to listen without an event",
)
def stale_socket(node):
    node.start_kubelet()
    node.kill_kubelet()
    node.configure(counted(A, 2))
    node.start_daemon("--log-level", "debug")

    def attempts():
        return [seconds_in(text) for text in node.daemon.lines() if "not attached yet" in text]

    # 1 ms, 2 ms … 4096 ms, 5 s
    node.until(lambda: len(attempts()) >= 15, 40, "fifteen attempts")
    times = attempts()
    # A night's midnight is a day back.
    gaps = [(after - before) % 86400 for before, after in zip(times, times[1:])]
    for gap in gaps:
        node.measure("between two attempts at a stale socket", gap, limit=5.2)
    expect(max(gaps) > 4, f"the longest gap is only {max(gaps):.3f} s")
    node.start_kubelet()
    node.attached(seconds=1)

    node.kill_kubelet()
    with socket.socket(socket.AF_UNIX) as nobody:
        (node.plugins / "kubelet.sock").unlink()
        nobody.bind(str(node.plugins / "kubelet.sock"))
        node.until(lambda: "does not answer" in "".join(node.daemon.lines()[-5:]), PATIENCE, "an attempt")
        nobody.settimeout(5.2)
        nobody.listen()
        nobody.accept()[0].close()
    expect(node.daemon.running(), "the daemon has ended")
    node.start_kubelet()
    node.attached(seconds=1)


@line(21, "The directory is removed and made again: recovered within 5 s.", "the kubelet's events")
def directory_removed(node):
    node.run(*_three(node))

    directories = {node.plugins, node.socket_directory()}

    def removed():
        for directory in directories:
            empty_and_remove(node, directory)

    def removed_and_seen():
        start = node.daemon.mark()
        removed()
        if not node.by_registry:  # there is no kubelet's socket to miss there
            node.daemon.wait_for_line("waiting for a new one", PATIENCE, start)

    def replaced():
        for directory in directories:
            directory.rename(node.root / f"former-{time.monotonic_ns()}")

    def moved_and_removed():
        for directory in directories:
            directory.rename(node.root / "elsewhere")
            empty_and_remove(node, node.root / "elsewhere")

    for provoke in (removed, removed_and_seen, replaced, moved_and_removed) * 2:
        node.kill_kubelet()
        provoke()
        node.start_kubelet()
        node.attached()
        node.measure("a kubelet makes the directory again → all are listed", node.recovery(), limit=5)
    # The kubelet lives on while its directory goes: nobody can reach it until its next start.
    removed()
    node.plugins.mkdir()
    node.replace_kubelet()
    node.attached(seconds=5)
    node.kubelet.ask(f"allocate {A} 1 pod")


@line(24, "A late CREATE with the same identity: no registration.", "the kubelet's events")
def late_event(node):
    node.run(*_three(node))
    for _ in range(5):
        # The daemon sleeps through two kubelets, and finds the second when it reads of the first.
        node.daemon.signal(signal.SIGSTOP)
        node.kubelet.restart()
        node.replace_kubelet()
        node.daemon.signal(signal.SIGCONT)
        node.attached()
        _registered_once(node)
    sock, away = node.plugins / "kubelet.sock", node.plugins / "moved"
    for _ in range(5):
        os.chmod(sock, 0o777)
        sock.rename(away)
        away.rename(sock)
        os.link(sock, away)
        away.unlink()
    moreover = max(node.registrations(name) for name in node.names)
    expect(moreover == 1, "registered again at once")
    watched = node.kubelet.never(
        lambda: max(node.registrations(name) for name in node.names) > 1, 2 * WATCHED
    )
    expect(watched, "registered again")
    expect(all(node.of(name).live for name in node.names), "a stream ended")


@line(
    25,
    "Stream cancelled by the kubelet: a new stream within 1 s.",
    "the kubelet, which ends streams that lived for 1 s, and then three at once",
)
def cancelled(node):
    node.run(*_three(node))
    # A stream that ends within its first second is a sign of trouble: plughost waits longer each time.
    for age in (1, 1, 1, 1, 1, 0, 0, 0):
        opened = node.of(A).connected[-1]
        node.until(lambda: time.time() >= opened + age, 2, "a stream's first second")
        asked, streams = time.time(), len(node.of(A).connected)
        node.kubelet.ask(f"cancel {A}")
        try:
            node.kubelet.until(
                lambda: len(node.of(A).connected) > streams and node.of(A).fed, PATIENCE, "a new stream"
            )
        except TimedOut as late:
            raise Failed(f"{late}\n" + "\n".join(node.kubelet.story([A], 12))) from late
        what = "the kubelet ends a stream → a new one brings a list" + ("" if age else ", at once again")
        node.measure(what, node.of(A).listed[-1] - asked, limit=1)
    expect(node.kubelet.allocatable()[A] == 2, "not allocatable again")
    expect(len(node.of(B).connected) == 1, f"{B}'s stream ended, too")


@line(
    26,
    "To 1.36: never Register while a stream to this kubelet lives.",
    "the kubelet's events, here and in every other scenario",
)
def never_while_a_stream_lives(node):
    gophers = node.root / "gophers"
    node.run(*_three(node))
    for number in range(6):
        node.kubelet.ask(f"cancel {A}")
        (gophers / f"file-{number}").touch()
        entries = [counted(A, 3 + number), listed(GOPHER, gophers)] + [counted(B, 3)] * (number % 2)
        node.reload(*entries)
        if number == 2:
            node.replace_kubelet()
        if number == 3:
            node.start_daemon()
        if number == 4:
            os.chmod(node.plugins / "kubelet.sock", 0o700)
        for each in node.sockets():
            (node.plugins / each).unlink(missing_ok=True)
        node.lists(A, 3 + number)
        node.lists(GOPHER, {f"file-{number}": "Healthy"})
    node.attached()
    expect(node.kubelet.never(lambda: not node.kubelet.is_attached(node.names), WATCHED), "a stream ended")
    if node.version >= (1, 37):
        raise NotShown("From 1.37 on a resource may have two registrations: line 50.")


@line(
    27, "Ten kubelet restarts in 10 s: settled within 2 s of the last.", "the kubelet is killed each second"
)
def ten_restarts(node):
    node.run(*mixed(node, 16))
    start = time.monotonic()
    for number in range(10):
        node.until(lambda: time.monotonic() >= start + number, 2, "the next restart's time")
        node.replace_kubelet()
    node.attached()
    node.measure("the last of ten restarts → all are listed", node.recovery(), limit=2)
    expect(
        node.kubelet.never(lambda: not node.kubelet.is_attached(node.names), 2 * WATCHED), "a stream ended"
    )


def _answers(path):
    """Does a gRPC server behind the socket answer? Sends HTTP/2's preface and an empty SETTINGS frame."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(2)
        connection.connect(str(path))
        connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0]))
        header = connection.recv(9)
        return len(header) == 9 and header[3] == 4


@line(
    29,
    "Kubelet stopped (SIGSTOP): other resources and signals still work.",
    "the kubelet's process is stopped while one resource's Register is pending",
)
def stopped_kubelet(node):
    gophers = node.root / "gophers"
    gophers.mkdir()
    node.run(listed(GOPHER, gophers), counted(A, 2))
    node.kubelet.process.signal(signal.SIGSTOP)
    (gophers / "one").touch()
    before = set(node.sockets())
    node.reload(listed(GOPHER, gophers), counted(A, 4), counted(B, 1))
    node.until(lambda: len(node.sockets()) == 3, PATIENCE, f"{B}'s socket")
    for each in node.sockets():
        expect(_answers(node.socket_directory() / each), f"{each} does not answer")
    expect(before < set(node.sockets()), "another resource's socket was bound anew")
    node.kubelet.process.signal(signal.SIGCONT)
    node.attached()
    node.lists(GOPHER, {"one": "Healthy"})
    node.lists(A, 4)
    expect(len(node.of(A).connected) == 1, f"{A}'s stream ended")

    node.kubelet.process.signal(signal.SIGSTOP)
    node.reload(counted(A, 4), counted("example.com/c", 1))
    code, took = node.end_daemon()
    expect(code == 0, f"exit code {code} after SIGTERM")
    node.measure("SIGTERM while the kubelet is stopped → the daemon's end", took, limit=5)
    node.kubelet.process.signal(signal.SIGCONT)
    expect(not accepts(node.socket_directory() / min(before)), "a socket still accepts")
