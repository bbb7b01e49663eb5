"""What the kubelet is told of devices: lines 8 to 17 and 45."""

import os
import shutil
import time

from .kubelet import PATIENCE
from .lines import expect, line
from .node import WATCHED, counted, listed, matched

A, B = "example.com/a", "example.com/b"
GOPHER = "example.com/gopher"
PORT = "example.com/port"


def _gophers(node, *names):
    directory = node.root / "gophers"
    directory.mkdir(exist_ok=True)
    for name in names:
        (directory / name).touch()
    return directory


def _ports(node):
    """A directory of links to device nodes, and the entry that lists them."""
    directory = node.root / "dev"
    directory.mkdir()
    return directory, matched(PORT, f"{directory}/tty*")


@line(8, "First list within 100 ms of the stream's opening.", "the kubelet's calls")
def first_list_soon(node):
    node.run(*(counted(f"example.com/r{i}", 500) for i in range(8)))
    for _ in range(5):
        for call in node.kubelet.wire("ListAndWatch"):
            took = call["SERVER_MESSAGE"]["at"] - call["CLIENT_HEADER"]["at"]
            node.measure("the stream opens → its first list arrives", took, limit=0.1)
        node.replace_kubelet()
        node.attached()


@line(9, "The first list is complete, never an empty placeholder.", "the kubelet's lists")
def first_list_complete(node):
    gophers = _gophers(node, *map(str, range(500)))
    node.run(listed(GOPHER, gophers), counted(A, 3000))
    for again in (node.replace_kubelet, lambda: node.kubelet.restart(), node.start_daemon):
        again()
        node.attached()
    every = [event for kubelet in node.kubelets() for event in kubelet.events if event["event"] == "listed"]
    expect(len(every) >= 8, f"{len(every)} lists")  # of two resources, on four streams each
    for event in every:
        count = len(event["devices"])
        expect(
            count == {GOPHER: 500, A: 3000}[event["resource"]],
            f"a list of {event['resource']} had {count} devices",
        )


@line(10, "No devices: an empty list is sent and the stream stays open.", "the kubelet's lists")
def no_devices(node):
    directory = node.root / "not-there-yet"
    node.run(listed(GOPHER, directory))
    expect(node.of(GOPHER).devices == {} and len(node.of(GOPHER).listed) == 1, "no empty list")
    expect(node.kubelet.never(lambda: not node.of(GOPHER).live, WATCHED), "the stream ended")
    directory.mkdir()
    (directory / "first").touch()
    node.lists(GOPHER, {"first": "Healthy"})
    expect(len(node.of(GOPHER).connected) == 1, "the list came on another stream")


@line(11, "A hot-plugged device is listed within 1 s.", "the kubelet's lists")
def hotplug(node):
    gophers = _gophers(node)
    links, ports = _ports(node)
    node.run(listed(GOPHER, gophers), ports)
    for number in range(10):
        begun = time.time()
        (gophers / f"g{number}").touch()
        node.lists(GOPHER, {f"g{number}": "Healthy"})
        node.measure("a file appears → it is listed", node.of(GOPHER).listed[-1] - begun, limit=1)
        begun = time.time()
        (links / f"tty{number}").symlink_to("/dev/null")
        node.lists(PORT, number + 1)
        node.measure("a device node appears → it is listed", node.of(PORT).listed[-1] - begun, limit=1)


@line(
    12,
    "An unplugged one is Unhealthy within 1 s, and has the same id when plugged in again.",
    "the kubelet's lists",
)
def unplugged(node):
    gophers = _gophers(node, *map(str, range(5)))
    links, ports = _ports(node)
    for number in range(5):
        (links / f"tty{number}").symlink_to("/dev/null")
    node.run(listed(GOPHER, gophers), ports)
    before = {name: node.of(name).devices for name in node.names}
    # Each but once: a device that comes and goes is a sick one, and plughost may keep it Unhealthy for that.
    for number in range(5):
        for resource, file in ((GOPHER, gophers / str(number)), (PORT, links / f"tty{number}")):
            begun = time.time()
            file.unlink()
            node.lists(resource, 4)
            node.measure(
                "a device is unplugged → it is Unhealthy", node.of(resource).listed[-1] - begun, limit=1
            )
            expect(node.of(resource).devices.keys() == before[resource].keys(), "another id")
            file.symlink_to("/dev/null") if resource == PORT else file.touch()
            node.lists(resource, 5)
            expect(node.of(resource).devices == before[resource], f"{node.of(resource).devices}")


@line(13, "100 events in 1 s give at most 10 messages.", "the kubelet's lists")
def many_events(node):
    gophers = _gophers(node)
    node.run(listed(GOPHER, gophers))
    before, start = len(node.of(GOPHER).listed), time.monotonic()
    for number in range(100):
        node.until(lambda: time.monotonic() >= start + number / 100, 2, "the next event's time")
        (gophers / str(number)).touch()
    node.lists(GOPHER, 100)
    messages = len(node.of(GOPHER).listed) - before
    expect(messages <= 10, f"{messages} messages")


@line(14, "No change, no message.", "the kubelet's lists")
def no_change(node):
    gophers = _gophers(node, "one")
    links, ports = _ports(node)
    (links / "tty0").symlink_to("/dev/null")
    node.run(listed(GOPHER, gophers), ports, counted(A, 2))
    for _ in range(10):
        (gophers / "no-device").mkdir()
        (gophers / "no-device").rmdir()
        (gophers / "one").write_text("another content")
        (links / "tty-no-device").touch()
        (links / "tty-no-device").unlink()
    node.reload()
    lists = lambda: max(len(node.of(name).listed) for name in node.names)  # noqa: E731
    expect(node.kubelet.never(lambda: lists() > 1, 2 * WATCHED), "a list was sent again")


@line(
    15,
    "Ids: unique on the node, at most 63 characters, UTF-8, stable over a reboot.",
    "the kubelet's lists, here and in every other scenario",
)
def ids(node):
    names = [
        b"plain",
        b"with space",
        b"with\nnewline",
        b"with,comma",
        b"\xff\xfe not UTF-8",
        b"\xff\xff other",
    ]
    names += ["grüß".encode(), b"x" * 63, b"x" * 64, b"x" * 255, b"x" * 253 + b"yz", b"100%"]
    gophers = _gophers(node)
    for name in names:
        with open(os.path.join(os.fsencode(gophers), name), "wb"):
            pass
    links, ports = _ports(node)
    for number in range(3):
        (links / f"tty{number}").symlink_to("/dev/null")
    entries = (listed(GOPHER, gophers), ports, counted(A, 100, "replicas: 3"))
    node.run(*entries)
    before = {name: node.of(name).devices for name in node.names}
    expect(len(before[GOPHER]) == len(names), f"{len(before[GOPHER])} ids for {len(names)} files")
    expect({"plain", "grüß", "x" * 63} <= before[GOPHER].keys(), "an id that needs no change was changed")

    node.kill_kubelet()
    node.end_daemon()
    shutil.rmtree(node.plugins)
    for number in (2, 0, 1):  # devices come in another order
        (links / f"tty{number}").unlink()
        (links / f"tty{number}").symlink_to("/dev/null")
    node.run(*entries)
    after = {name: node.of(name).devices for name in node.names}
    expect(after == before, "other ids after a reboot")

    node.configure(counted(A, 2, 'id: "same-{n}"'), counted(B, 2, 'id: "same-{n}"'))
    finished = node.plughost("check", node.configuration)
    expect(finished.returncode == 1 and "same-0" in finished.stdout, "two resources may have one id")


@line(16, "No NUMA -1.", "the kubelet's lists and hints, here and in every other scenario's lists")
def numa(node):
    gophers = _gophers(node, "one", "two")
    links, ports = _ports(node)
    (links / "tty0").symlink_to("/dev/null")
    node.run(
        listed(GOPHER, gophers),
        ports,
        counted(A, 4),
        kubelet_flags=["-numa", "0,1", "-topology-policy", "best-effort"],
    )
    for name in node.names:
        hints = node.kubelet.ask(f"hints {name} 1 pod")
        expect(hints == {name: None}, f"{name} has a preference: {hints}")
        node.kubelet.ask(f"allocate {name} 1 pod-{name.rpartition('/')[2]}")
    devices = node.kubelet.ask("devices")
    expect(not any("numa" in each for name in node.names for each in devices[name].values()), f"{devices}")


@line(
    17,
    "Two streams at once both get updates; the host ends neither.",
    "the kubelet, which opens a second stream",
)
def two_streams(node):
    gophers = _gophers(node, "one")
    node.run(listed(GOPHER, gophers))
    kubelet, resource = node.kubelet, node.of(GOPHER)
    kubelet.ask(f"double {GOPHER}")
    kubelet.until(lambda: len(resource.listed) == 2, PATIENCE, "the second stream's first list")
    for number in (2, 3, 4):
        (gophers / str(number)).touch()
        # Both streams bring the same list.
        kubelet.until(lambda: len(resource.listed) == 2 * number, PATIENCE, f"list {number} on both streams")
        expect(len(resource.devices) == number, f"{resource.devices}")
    streams = kubelet.wire("ListAndWatch")
    expect(len(streams) == 2, f"{len(streams)} streams")
    ended = [each for each in streams if {"CANCEL", "SERVER_TRAILER"} & each.keys()]
    expect(resource.live and not ended, "a stream ended")
    expect(len(resource.registrations) <= 1, "it was registered again")


@line(
    45,
    "A list over 4 MiB: a config error, not a dead stream.",
    "exit codes; the kubelet takes the largest that fits",
)
def too_large(node):
    # 63 bytes each, the longest that ids can be.
    long_id = 'id: "{n}-' + "x" * 57 + '"'
    fits, too_many = counted(A, 50_000, long_id), counted(B, 200_000)
    node.configure(fits, too_many)
    for command in (["check", node.configuration], ["run", "--config", node.configuration]):
        finished = node.plughost(*command)
        expect(finished.returncode == 1 and "4 MiB" in finished.stdout, f"{command[0]}: {finished.stdout}")
        expect(f"{node.configuration}:5:" in finished.stdout, "the error does not name its line")
        expect(f"{node.configuration}:4:" not in finished.stdout, "what fits is refused, too")
    node.run(fits)
    expect(node.kubelet.allocatable()[A] == 50_000, "the kubelet does not count 50,000 devices")
    node.reload(counted(A, 49_999, long_id))
    node.lists(A, 49_999)
    expect(len(node.of(A).connected) == 1, "the stream ended")
