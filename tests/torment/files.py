"""Files: a file system that hangs at each of its calls, and five thousand events a second."""

import contextlib
import sys

import hung_files as fuse
from conformance.node import Entry

from .scenes import scene
from .trial import PATIENCE

CALLS = {
    "lookup": (fuse.LOOKUP,),
    "getattr": (fuse.GETATTR,),
    "open": (fuse.OPEN, fuse.OPENDIR),
    "read": (fuse.READ,),
    "readdir": (fuse.READDIR,),
}
PROGRAM = """\
#!/bin/sh
case "$1" in
watch) while :; do echo '{"devices": [{"id": "watched"}]}'; sleep 1; done ;;
list) echo '{"devices": [{"id": "discovered"}]}' ;;
*) echo '{}' ;;
esac
"""


def _hung_entries(mount, number):
    """An entry for each way to come to a file system, and how many devices each has.

    number: of devices that are others in each round. One whose health changes too often would be held Unhealthy.
    """
    program = mount / "program"
    listing = '{"devices": [{"id": "triggered"}]}'
    kinds = {
        "directory": (f"directory: {{path: {mount}}}", 3),
        "glob": (f'groups: [{{paths: [{{path: "{mount}/o*", type: Mount}}]}}], id: "{{name}}-by-glob"', 1),
        "triggers": (
            f"exec: {{discover: [/bin/echo, '{listing}'], interval: 1s, triggers: {{paths: [{mount}]}}}}",
            1,
        ),
        "discover": (f"exec: {{discover: [{program}, list], interval: 1s}}", 1),
        "watch": (f"exec: {{watch: [{program}, watch]}}", 1),
        "health": (f'count: 1, id: "checked-{number}", health: {{exec: [{program}], interval: 1s, timeout: 1s}}', 1),
        "prestart": (f"count: 2, preStart: {{exec: [{program}], timeout: 1s}}", 2),
        "allocate": (f"count: 2, allocate: {{exec: [{program}], timeout: 1s}}", 2),
        "mounted": (f'count: 1, mounts: [{{hostPath: "{mount}/one"}}]', 1),
        "cdi": (f'count: 1, id: "specified-{number}", cdi: true', 1),
    }
    names = {word: f"example.com/hung-{word}" for word in kinds}
    entries = [Entry(names[word], f'- {{name: "{names[word]}", {text}}}') for word, (text, _) in kinds.items()]
    return entries, {names[word]: count for word, (_, count) in kinds.items()}


class _ConfigurationThere:
    """The configuration is a link to the mount for the time of a block."""

    def __init__(self, trial, files, mount):
        self.node, self.files, self.mount = trial.node, files, mount

    def __enter__(self):
        self.files.write("config.yaml", self.node.configuration.read_text())
        self.node.configuration.rename(self.node.root / "config.here")
        self.node.configuration.symlink_to(self.mount / "config.yaml")

    def __exit__(self, *_):
        (self.node.root / "config.here").rename(self.node.configuration)


@scene(
    "A file system hangs at each call: under directory, groups, triggers, programs, mounts, CDI, the configuration",
    share=3,
)
def hung_files(trial):
    trial.needs_own_mounts()
    node = trial.node
    mount, elsewhere = node.root / "hung", node.root / "elsewhere"
    mount.mkdir()
    elsewhere.mkdir()
    entries, expected = _hung_entries(mount, 0)
    files = fuse.HungFiles(mount, {"one": "", "program": PROGRAM, "config.yaml": ""})
    node.at_close(files.close)
    node.top += f"cdi: {{directory: {mount}}}\n"
    trial.start(*entries, expected=expected)
    trial.refused = {"example.com/hung-cdi"}  # nothing can be written there even when it answers
    calls = list(CALLS.items())
    each = trial.seconds / (len(calls) + 1)
    for number in trial.rounds(least=len(calls) + 1, warm_after=len(calls)):
        name, opcodes = calls[number % len(calls)]
        files.hang(*opcodes)
        trial.configure(*_hung_entries(mount, number + 1)[0], expected=expected)
        # A mount has every path looked at again.
        fuse.mount("tmpfs", elsewhere, "tmpfs")
        fuse.unmount(elsewhere)
        trial.go_on_for(each * 0.5)
        for hung in expected:
            trial.ask(hung)
        trial.new_kubelet()
        with _ConfigurationThere(trial, files, mount):
            trial.hang_up()
            trial.go_on_for(each * 0.4, reloads=False)
        trial.did(f"hangs at {name}")
        files.answer()
        trial.reload()
        trial.settle()


CHURN = """\
import os, select, sys, time
directory, rate = sys.argv[1], float(sys.argv[2])
begun, count, ended = time.monotonic(), 0, False
while not ended:
    name = f"{directory}/churn-{count}"
    os.close(os.open(name, os.O_CREAT | os.O_WRONLY))
    os.unlink(name)
    count += 1
    if count % 50 == 0:
        print(count * 2, flush=True)
        left = max(0, begun + count * 2 / rate - time.monotonic())
        ended = bool(select.select([sys.stdin], [], [], left)[0])
"""


@contextlib.contextmanager
def churn(trial, directory, rate):
    """Makes and removes so many files a second beside the block, each of another name."""
    child = trial.process([sys.executable, "-c", CHURN, directory, rate])
    try:
        yield
    finally:
        child.write("end")
        child.wait(PATIENCE)
        trial.did("file events", int((child.lines() or ["0"])[-1]))


@scene("Patterns over 10,000 directories, and without end")
def endless_patterns(trial):
    trial.most_kilobytes = 4096  # 50,000 paths are held while it looks
    node = trial.node
    tree = node.root / "tree"
    for number in range(10000):
        (tree / str(number)).mkdir(parents=True)
    trial.start(
        _matching("example.com/wide", f"{tree}/*/tty*"),
        _matching("example.com/endless", "/*" * 12 + "/nothing-is-called-so"),
    )
    for number in trial.rounds():
        (tree / str(number) / "new").touch()  # has everything looked at again
        trial.did("looks at both")
        trial.go_on_for(max(2, trial.seconds / 4))
        trial.new_kubelet()
        trial.reload()


def _matching(name, pattern):
    return Entry(name, f'- {{name: "{name}", groups: [{{paths: [{{path: "{pattern}", type: Mount}}]}}]}}')


@scene("5,000 file events a second in a directory of devices")
def file_events(trial):
    directory = trial.node.root / "churn"
    directory.mkdir()
    (directory / "stays").touch()
    name = "example.com/churn"
    trial.start(
        Entry(name, f'- {{name: "{name}", directory: {{path: {directory}}}, forgetAfter: 1s}}'),
        expected={name: 1},
    )
    for _ in trial.rounds():
        with churn(trial, directory, 5000):
            trial.go_on_for(max(1.0, trial.seconds / 8))
            trial.new_kubelet()
        trial.settle()
