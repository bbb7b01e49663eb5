"""Whoever takes the log does not take it: a full pipe, a journal that stands still."""

import os
import socket
import threading

import hung_files as fuse
from conformance.lines import expect
from process import until

from .scenes import scene
from .trial import PATIENCE


def _fill(trial):
    """More lines than anybody keeps for us: 1 MiB of them is full after two rounds."""
    wrong = "".join(f"- {{name: example.com/wrong-{number}, count: none}}\n" for number in range(200))
    for _ in trial.rounds(warm_after=3):
        kept = trial.node.configuration.read_text()
        trial.node.write_configuration(wrong)  # each of them is a line
        for _ in range(30):
            trial.hang_up()
            trial.status()
        trial.node.configuration.write_text(kept)
        trial.go_on()
        trial.new_kubelet()


@scene("Standard error is a pipe that nobody reads")
def full_stderr(trial):
    reader, writer = os.pipe()
    trial.start(errors=writer)
    os.close(writer)
    _fill(trial)
    taken = []

    def take():
        while text := os.read(reader, 1 << 16):
            taken.append(text)

    # A pipe is full when a reader has to take something before another line comes.
    threading.Thread(target=take, daemon=True).start()
    trial.reload()
    until(lambda: sum(map(len, taken)) > 1 << 16, PATIENCE, "the lines that waited")
    trial.notes.append(f"{sum(map(len, taken)):,} bytes of log were taken at the end")


@scene("The journal's sockets take nothing")
def stuck_journal(trial):
    trial.needs_own_mounts()
    fuse.mount("tmpfs", "/run", "tmpfs")
    trial.node.at_close(lambda: fuse.unmount("/run"))
    os.makedirs("/run/systemd/journal")
    journal = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    journal.bind("/run/systemd/journal/socket")
    ours, theirs = socket.socketpair()
    file = os.fstat(theirs.fileno())
    stream = {"JOURNAL_STREAM": f"{file.st_dev}:{file.st_ino}"}
    trial.start(errors=theirs.fileno(), environment=stream)
    theirs.close()
    _fill(trial)
    first = journal.recv(1 << 16)
    expect(b"MESSAGE=" in first, f"no line of the journal's: {first[:80]}")
    ours.close()
    journal.close()
