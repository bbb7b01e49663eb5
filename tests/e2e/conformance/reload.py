"""SIGHUP: lines 30 to 34."""

import signal

from .kubelet import PATIENCE
from .lines import NotShown, expect, line
from .node import WATCHED, counted

A, B, C = "example.com/a", "example.com/b", "example.com/c"


def _untouched(node, name, lists=1):
    """One registration, one stream, and so many lists."""
    resource = node.of(name)
    seen = node.registrations(name), len(resource.connected), len(resource.listed)
    expect(seen == (1, 1, lists), f"{name}: (registrations, streams, lists) are {seen}, not {(1, 1, lists)}")
    expect(resource.live, f"{name}'s stream ended")


@line(30, "SIGHUP, no change: no message, same process, same streams.", "the kubelet's events")
def no_change(node):
    node.run(counted(A, 2), counted(B, 3))
    for _ in range(3):
        node.reload(counted(A, 2), counted(B, 3))
    expect(
        node.kubelet.never(lambda: len(node.of(A).listed) + len(node.of(B).listed) > 2, WATCHED),
        "a list came",
    )
    _untouched(node, A)
    _untouched(node, B)
    expect(node.daemon.running(), "the daemon has ended")


@line(31, "SIGHUP, a device changed: one list, no Register.", "the kubelet's events")
def device_changed(node):
    node.run(counted(A, 2), counted(B, 3))
    for number in range(3, 8):
        node.reload(counted(A, number), counted(B, 3))
        node.lists(A, number)
    expect(node.kubelet.never(lambda: len(node.of(A).listed) > 6, WATCHED), "a list came twice")
    _untouched(node, A, lists=6)
    _untouched(node, B)


@line(32, "SIGHUP that adds or removes a resource touches only that one.", "the kubelet's events")
def added_and_removed(node):
    node.run(counted(A, 2), counted(B, 3))
    node.reload(counted(B, 3), counted(C, 1), counted(A, 2))
    node.attached()
    node.reload(counted(A, 2), counted(C, 1))
    node.detached([B])
    for _ in range(3):  # at once: it must wait until the kubelet has done with the old stream
        node.reload(counted(A, 2), counted(C, 1), counted(B, 3))
        node.attached()
        node.reload(counted(A, 2), counted(C, 1))
        node.reload(counted(A, 2), counted(C, 1), counted(B, 3))
        streams = len(node.of(B).connected)
        node.kubelet.until(
            lambda: len(node.of(B).connected) >= streams and node.of(B).fed, PATIENCE, f"{B} is back"
        )
        node.until(lambda: node.kubelet.allocatable()[B] == 3, PATIENCE, f"{B} is allocatable")
    _untouched(node, A)
    _untouched(node, C)


@line(
    33,
    "A removed resource: stream ended, socket unlinked; allocatable 0 within 15 s.",
    "the kubelet's events and counts, the directory",
)
def removed(node):
    node.run(counted(A, 2), counted(B, 3))
    node.reload(counted(B, 3))
    start = node.daemon.lines()  # the reload is in force
    expect(start, "no log")
    node.until(lambda: node.kubelet.allocatable() == {A: 0, B: 3}, 15, f"{A} has 0 allocatable")
    node.detached([A])
    node.until(lambda: len(node.sockets()) == 1, PATIENCE, "its socket is unlinked")
    _untouched(node, B)


@line(
    34,
    "SIGHUP with a bad config: the old one stays live, and every error is logged with its line.",
    "the daemon's log, and the kubelet's events",
)
def bad_config(node):
    node.run(counted(A, 2), counted(B, 3))
    bad = (
        counted(A, 5).text
        + "\n- {name: example.com/Upper_, count: none}\n- {name: kubernetes.io/x, count: 1, colour: red}\n"
    )
    for text in (bad, "none", "{[}", "\x00"):
        start = node.daemon.mark()
        node.write_configuration(text)
        node.daemon.signal(signal.SIGHUP)
        node.daemon.wait_for_line("not reloaded", PATIENCE, start)
        if text == bad:
            for number, word in ((5, "name"), (5, "count"), (6, "kubernetes.io"), (6, "colour")):
                wanted = f"{node.configuration}:{number}:"
                found = [each for each in node.daemon.lines(start) if wanted in each and word in each]
                expect(found, f"no error that names {wanted} and {word}")
    node.configuration.unlink()
    start = node.daemon.mark()
    node.daemon.signal(signal.SIGHUP)
    node.daemon.wait_for_line("not reloaded", PATIENCE, start)
    expect(
        node.kubelet.never(lambda: len(node.of(A).listed) + len(node.of(B).listed) > 2, WATCHED),
        "a list came",
    )
    _untouched(node, A)
    _untouched(node, B)
    node.kubelet.ask(f"allocate {B} 3 pod")
    node.reload(counted(A, 5), counted(B, 3))
    node.lists(A, 5)


@line(
    50,
    "From 1.37 on: a resource that is registered again is counted all the time, and lists again on the new stream.",
    "the kubelet's counts, asked all the time, and its events",
)
def counted_throughout(node):
    if node.version < (1, 37):
        raise NotShown("To 1.36 the stream must end before the resource is registered again.")
    if node.by_registry:
        raise NotShown("There the stream ends before the kubelet finds another socket.")
    node.run(counted(A, 3), counted(B, 2))
    others = ["allocationPolicy: packed", "preStart: {exec: [/bin/true]}", ""]
    for number in range(30):
        streams, start = len(node.of(A).connected), node.daemon.mark()
        node.configure(counted(A, 3, others[number % len(others)]), counted(B, 2))
        node.daemon.signal(signal.SIGHUP)

        def moved():
            counts = node.kubelet.allocatable()
            expect(counts == {A: 3, B: 2}, f"round {number}: {counts} while it is registered again")
            resource = node.of(A)
            # The kubelet takes in the former stream's end and the second list in any order.
            since = _since_connected(node)
            return len(resource.connected) == streams + 1 and since.count("listed") == 2 and "disconnected" in since

        node.until(moved, PATIENCE, f"round {number}: another stream, and its list again", every=0)
        node.daemon.wait_for_line("configuration reloaded", PATIENCE, start)
    _untouched(node, B)


def _since_connected(node):
    """What happened to A since its newest stream was about to open."""
    kinds = [each["event"] for each in node.kubelet.events if each.get("resource") == A]
    return kinds[len(kinds) - kinds[::-1].index("connected") :]
