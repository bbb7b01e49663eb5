"""Sockets, processes, and who holds the directory: lines 22, 23, and 42 to 44."""

import os
import signal
import time

from .kubelet import PATIENCE, Refused
from .lines import expect, line
from .node import WATCHED, accepts, counted, listed

A, B = "example.com/a", "example.com/b"
GOPHER = "example.com/gopher"


def _run_two(node):
    gophers = node.root / "gophers"
    gophers.mkdir()
    (gophers / "one").touch()
    node.run(counted(A, 4, 'env: {IDS: "{id}"}'), listed(GOPHER, gophers))
    return gophers


@line(
    22,
    "Own socket unlinked while the kubelet lives: bound anew and streaming within 2 s.",
    "the kubelet, which then dials the name again",
)
def unlinked(node):
    gophers = _run_two(node)
    for number in range(2, 12):
        path = node.of(GOPHER).socket
        start = time.monotonic()
        os.unlink(path)
        node.until(lambda: os.path.exists(path) and accepts(path), PATIENCE, f"{path} is there again")
        node.measure("our socket is unlinked → it accepts again", time.monotonic() - start, limit=2)
        (gophers / f"g{number}").touch()
        node.lists(GOPHER, number)
    expect(len(node.of(GOPHER).connected) == 1, "the stream had to be opened again")
    node.kubelet.ask(f"double {GOPHER}")  # it dials the name that it knows
    expect(node.of(GOPHER).live and node.of(A).live, "a stream ended")
    node.kubelet.ask(f"allocate {GOPHER} 1 pod")


@line(23, "Other files touched in the directory: no registration.", "the kubelet's events")
def other_files(node):
    _run_two(node)
    for number in range(20):
        temporary = node.plugins / ".kubelet_internal_checkpoint-1"  # as the kubelet writes its checkpoint
        temporary.write_text("{}")
        temporary.rename(node.plugins / "some_checkpoint")
        (node.plugins / "plughost-of-somebody-else").touch()
        (node.plugins / "plughost-of-somebody-else").unlink()
        (node.plugins / "DEPRECATION").write_text(str(number))
    node.kubelet.ask(f"allocate {A} 1 pod")  # writes the real one
    expect(
        node.kubelet.never(lambda: any(node.registrations(name) > 1 for name in node.names), 2 * WATCHED),
        "registered again",
    )
    for name in node.names:
        expect(len(node.of(name).listed) == 1 and node.of(name).live, f"{name} was listed again")


@line(
    42,
    "SIGKILL and start again: streams within 2 s, same ids, pods keep their devices.",
    "the kubelet's events, devices and pods",
)
def killed_daemon(node):
    _run_two(node)
    node.kubelet.ask(f"allocate {A} 3 pod")
    held = {id: each for id, each in node.kubelet.ask("devices")[A].items() if "pod" in each}
    before = {name: node.of(name).devices for name in node.names}
    for _ in range(5):
        node.end_daemon(signal.SIGKILL)
        node.detached()
        expect(node.kubelet.allocatable()[A] == 0, "allocatable without a stream")
        started = time.time()
        node.start_daemon()
        node.attached()
        took = max(node.of(name).listed[-1] for name in node.names) - started
        node.measure("the daemon starts again → all are listed", took, limit=2)
        expect({name: node.of(name).devices for name in node.names} == before, "other devices than before")
        now = {id: each for id, each in node.kubelet.ask("devices")[A].items() if "pod" in each}
        expect(now == held and len(held) == 3, f"the pod held {held}, and holds {now}")
        expect(len(node.sockets()) == 2, f"left behind: {node.sockets()}")
    try:
        node.kubelet.ask(f"allocate {A} 2 other")
        expect(False, "a pod got devices that another holds")
    except Refused:
        pass
    node.kubelet.ask(f"allocate {A} 1 other")


@line(
    43,
    "SIGTERM: own sockets unlinked and nothing else, within 5 s.",
    "the directory, and the kubelet's events",
)
def terminated(node):
    _run_two(node)
    for name in ("somebody.sock", "plughost-notes", "checkpoint"):
        (node.plugins / name).touch()
    for number in (signal.SIGTERM, signal.SIGINT):
        others = set(os.listdir(node.plugins)) - set(node.sockets())
        code, took = node.end_daemon(number)
        expect(code == 0, f"exit code {code}")
        node.measure("SIGTERM → the daemon's end", took, limit=5)
        left = set(os.listdir(node.plugins))
        # The kubelet's own checkpoint comes when it likes.
        expect(
            left - {"kubelet_internal_checkpoint"} == others - {"kubelet_internal_checkpoint"},
            f"left: {left}",
        )
        node.detached()
        expect(node.kubelet.allocatable() == {A: 0, GOPHER: 0}, "allocatable without a daemon")
        node.start_daemon()
        node.attached()


@line(
    44, "A second host on the same directory refuses to start, and says who holds it.", "exit code and text"
)
def second_host(node):
    _run_two(node)
    for _ in range(3):
        second = node.plughost("run", "--config", node.configuration)
        expect(second.returncode == 1, f"exit code {second.returncode}")
        for wanted in (str(node.socket_directory()), str(node.daemon.pid)):
            expect(wanted in second.stdout, f"no {wanted} in its error: {second.stdout}")
    expect(node.kubelet.never(lambda: not node.kubelet.is_attached(node.names), WATCHED), "a stream ended")
    expect(node.registrations(A) == 1, "registered again")
    node.end_daemon(signal.SIGKILL)  # what it held is free
    node.detached()
    node.start_daemon()
    node.attached(seconds=PATIENCE)
