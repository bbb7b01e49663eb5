"""Programs that do not end, or do not die."""

import hung_files as fuse
from conformance.lines import expect
from conformance.node import Entry

from .http2 import Connection
from .scenes import scene
from .trial import PATIENCE

STUBBORN = """\
#!/bin/sh
trap '' TERM INT HUP QUIT USR1
for n in 1 2 3 4 5 6 7 8 9 10; do sleep 1000 & done
while :; do sleep 1000; done
"""
PRE_START = "/v1beta1.DevicePlugin/PreStartContainer"


def _entry(name, text):
    return Entry(name, f'- {{name: "{name}", {text}}}')


def _ids(ids):
    """PreStartContainerRequest: the ids are its first field."""
    return b"".join(b"\x0a" + bytes([len(each)]) + each.encode() for each in ids)


def _start_at_once(trial, name, count, seconds):
    """So many containers start with all devices of a resource; each is answered."""
    node = trial.node
    connection = Connection(node.plugins / _socket_of(trial, name))
    message = _ids(sorted(map(str, _devices(trial, name))))
    calls = {connection.call(PRE_START, message) for _ in range(count)}
    all_ended = connection.read_until(lambda: calls <= connection.ended, seconds)
    connection.close()
    expect(all_ended, f"{len(calls - connection.ended)} of {count} starts have no answer after {seconds:g} s")
    answered = len(calls & connection.answered.keys())
    trial.did("starts answered", answered)
    trial.did("starts refused", count - answered)


def _socket_of(trial, name):
    word = name.rpartition("/")[2]
    (found,) = [each for each in trial.node.sockets() if word in each]
    return found


def _devices(trial, name):
    word = name.rpartition("/")[2]
    return [f"{word}-{number}" for number in range(8)]


@scene("Programs of health, discover, watch, preStart and allocate ignore every signal and leave children")
def stubborn_programs(trial):
    script = trial.node.root / "stubborn"
    script.write_text(STUBBORN)
    script.chmod(0o755)
    names = {word: f"example.com/stubborn-{word}" for word in ("health", "prestart", "allocate")}
    trial.start(
        _entry(names["health"], f"count: 4, health: {{exec: [{script}], interval: 1s, timeout: 500ms}}"),
        _entry(names["prestart"], f"count: 4, preStart: {{exec: [{script}], timeout: 500ms}}"),
        _entry(names["allocate"], f"count: 4, allocate: {{exec: [{script}], timeout: 500ms}}"),
        _entry("example.com/stubborn-discover", f"exec: {{discover: [{script}], interval: 1s, timeout: 500ms}}"),
        _entry("example.com/stubborn-watch", f"exec: {{watch: [{script}], timeout: 500ms}}"),
        expected={names["prestart"]: 4, names["allocate"]: 4},
    )
    trial.refused = {names["prestart"], names["allocate"]}
    for _ in trial.rounds():
        trial.ask(names["prestart"])
        trial.ask(names["allocate"])
        trial.go_on()


@scene("Programs of preStart hang in a file system, and cannot be killed: 10 containers of 8 devices at once")
def unkillable_programs(trial):
    trial.needs_own_mounts()
    mount = trial.node.root / "hung"
    mount.mkdir()
    files = fuse.HungFiles(mount, {"one": "text"})
    trial.node.at_close(files.close)
    name = "example.com/unkillable"
    trial.start(
        _entry(name, f'count: 8, id: "unkillable-{{n}}", preStart: {{exec: [/bin/cat, {mount}/one], timeout: 1s}}'),
        expected={name: 8},
    )
    for _ in trial.rounds():
        files.hang(fuse.READ)
        with trial.beside(lambda ended: _start_at_once(trial, name, 10, PATIENCE)):
            trial.go_on_for(max(2, trial.seconds / 8))
        files.answer()
        trial.go_on()


@scene("500 containers with 8 devices start at once, each device with a program of preStart")
def many_starts(trial):
    trial.most_kilobytes = 4096  # of the calls' peak not all goes back to the kernel
    name = "example.com/started"
    trial.start(
        _entry(name, 'count: 8, id: "started-{n}", preStart: {exec: [/bin/true], timeout: 25s}'), expected={name: 8}
    )
    for _ in trial.rounds():
        with trial.beside(lambda ended: _start_at_once(trial, name, 500, 60)):
            trial.go_on_for(2)
