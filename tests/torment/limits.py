"""What the machine lacks: descriptors, inotify, processes."""

import contextlib
import os
import socket
import subprocess
import time

from conformance.lines import NotShown, expect

from .scenes import scene
from .trial import CHECKED, COUNT, PATIENCE, PREPARED, WELL

UID = 61234  # somebody who has no processes


@scene("No descriptor is left: new clients, new kubelets, devices, reloads and checks come all the same")
def descriptors(trial):
    node = trial.node
    trial.start()
    for _ in trial.rounds():
        with trial.loop_unwatched():  # each question is a connection
            _without_descriptors(trial)
        begun = time.monotonic()
        node.until(trial.attached, PATIENCE, "all resources are attached")
        trial.settle()
        trial.took("all there when there is room again", begun, PATIENCE)
        trial.free_all()
        trial.go_on()


def _without_descriptors(trial):
    node, held = trial.node, []
    node.limit("nofile", 3)
    trial.did("times without")
    for _ in range(100):
        connection = socket.socket(socket.AF_UNIX)
        connection.setblocking(False)
        held.append(connection)
        with contextlib.suppress(OSError):
            connection.connect(str(node.control))
    end = time.monotonic() + max(2, trial.seconds / 4)
    while time.monotonic() < end:
        trial.allocate(f"{COUNT} 1")
        trial.ask(PREPARED)
        (trial.files / "late").touch()
        trial.hang_up()
    # A check that cannot be started says nothing of its device.
    expect(node.kubelet.allocatable()[CHECKED] == 1, "a device is Unhealthy because its check cannot be started")
    node.replace_kubelet()
    trial.did("kubelets killed")
    (trial.files / "late").unlink()
    node.limit("nofile", 1024)
    for connection in held:
        connection.close()


def _user_limit(pid, which, value):
    """A limit of the daemon's own user namespace."""
    command = ["nsenter", "-t", str(pid), "-U", "sh", "-c", f"echo {value} > /proc/sys/user/{which}"]
    subprocess.run(command, check=True)


def _needs_user_namespaces():
    write = "echo 1 > /proc/sys/user/max_inotify_instances"
    tried = subprocess.run(["unshare", "-Ur", "sh", "-c", write], capture_output=True, text=True)
    if tried.returncode != 0:
        raise NotShown(f"no user namespace, and so no inotify limit of its own: {tried.stderr.strip()}")


def _without_inotify(trial, which, few, plenty):
    """It polls every 10 s where it has to, and comes back by itself."""
    _needs_user_namespaces()
    trial.start(prefix=["unshare", "-Ur", "sh", "-c", f'echo {few} > /proc/sys/user/{which}; exec "$@"', "sh"])
    for number in trial.rounds(warm_after=1):
        _user_limit(trial.pid, which, few)
        trial.did(f"times {which} was {few}")
        begun = time.monotonic()
        while time.monotonic() < begun + max(1, trial.seconds / 4):
            trial.allocate()
            trial.status()
            trial.reload()
        if number == 0:
            _seen_by_polling(trial)
        _user_limit(trial.pid, which, plenty)
        _back_to_events(trial)
        trial.new_kubelet()
        trial.go_on()


def _seen_by_polling(trial):
    file = trial.files / "polled"
    begun = time.monotonic()
    file.touch()
    trial.node.lists(WELL, 2, PATIENCE)
    trial.notes.append(f"a file was seen after {time.monotonic() - begun:.1f} s without")
    file.unlink()
    trial.node.lists(WELL, 1, PATIENCE)


def _back_to_events(trial):
    """Events are there again when a file is seen at once, twice."""
    begun = time.monotonic()
    quick = 0
    while quick < 2:
        file = trial.files / f"again-{time.monotonic_ns()}"
        for act, count in ((file.touch, 2), (file.unlink, 1)):
            acted = time.monotonic()
            act()
            trial.node.lists(WELL, count, PATIENCE)
            quick = quick + 1 if time.monotonic() - acted < 0.5 else 0
        expect(time.monotonic() < begun + 40, "events have not come back 40 s after there was room")


@scene("No inotify instance is left")
def inotify_instances(trial):
    _without_inotify(trial, "max_inotify_instances", 0, 128)


@scene("No inotify watch is left")
def inotify_watches(trial):
    _without_inotify(trial, "max_inotify_watches", 0, 1000)


@scene("No process and no thread can be started")
def processes(trial):
    node = trial.node
    os.chmod(node.root, 0o777)
    node.plugins.mkdir()
    os.chown(node.plugins, UID, UID)
    umask = os.umask(0)
    node.at_close(lambda: os.umask(umask))
    trial.start(prefix=["setpriv", "--reuid", str(UID), "--clear-groups"])
    for _ in trial.rounds():
        node.limit("nproc", 1)
        trial.did("times without")
        end = time.monotonic() + max(2, trial.seconds / 4)
        while time.monotonic() < end:
            trial.hotplug()
            trial.allocate(f"{COUNT} 1")
            trial.ask(PREPARED)
            trial.status_by_http()
        # A check that cannot be started says nothing of its device.
        trial.settle()
        node.limit("nproc", 1000)
        trial.go_on()
