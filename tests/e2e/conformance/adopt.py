"""Another plugin's pod holds a device when plughost takes the resource over: nobody else gets it until the pod has gone.

The other plugin is plughost itself with other ids, or generic-device-plugin's program.
"""

import os
import subprocess
from pathlib import Path

from process import Process

from .kubelet import CALMED, PATIENCE, Refused
from .lines import Failed, NotShown, expect
from .node import listed as listed_by

A = "example.com/serial"
MODULE = "github.com/squat/generic-device-plugin"
SHOWN = "taken over from {}: held, not given twice, and given when its pod had gone"


def fetched(scratch):
    """Builds generic-device-plugin from its Go module."""
    program = scratch / "generic-device-plugin"
    toolchain = Path(__file__).resolve().parents[1] / "toolchain"
    go = subprocess.run([toolchain], capture_output=True, text=True)
    if go.returncode != 0:
        raise NotShown(f"there is no Go: {go.stderr.strip()}")
    command = [go.stdout.strip(), "install", f"{MODULE}@latest"]
    built = subprocess.run(
        command,
        capture_output=True,
        text=True,
        cwd="/",  # outside every module
        env={**os.environ, "GOBIN": str(scratch)},
    )
    if built.returncode != 0:
        raise NotShown(f"{MODULE} cannot be fetched: {(built.stderr.strip().splitlines() or ['?'])[-1]}")
    return program


def listed(directory, more=""):
    mounts = 'mounts: [{hostPath: "{path}", containerPath: "/serial/{n}"}]'
    return listed_by(A, directory, mounts + (f", {more}" if more else ""))


class TakenOver:
    """Two devices, of which the first pod holds one from the other plugin."""

    def __init__(self, node, peer):
        self.node = node
        self.peer = peer
        self.devices = node.root / "serial"
        self.devices.mkdir()
        for name in "amy", "bob":
            (self.devices / name).touch()

    def run(self):
        node = self.node
        node.start_kubelet()
        self._serve_as_another()
        first = self._allocate("first")
        self._other.close()
        node.detached([A])
        node.configure(listed(self.devices))
        node.start_daemon()
        node.attached()
        held = self._name_of(first)
        other = {"amy": "bob", "bob": "amy"}[held]
        expect(
            node.of(A).devices == {held: "Unhealthy", other: "Healthy"},
            f"{held} is held, and the first list is {node.of(A).devices}",
        )
        self._reason(held, first)
        second = self._allocate("second")
        expect(self._name_of(second) == other, f"the second pod has {second}")
        self._refused("third")
        self._over_restarts(held, first)
        self._refused("third")
        node.kubelet.ask("free first")
        node.lists(A, {held: "Healthy", other: "Healthy"}, PATIENCE + CALMED)
        node.until(lambda: node.kubelet.allocatable()[A] == 2, PATIENCE, f"{held} is allocatable")
        third = self._allocate("third")
        expect(self._name_of(third) == held, f"the third pod has {third}")

    def _serve_as_another(self):
        node = self.node
        if self.peer:
            paths = f'{{"paths": [{{"path": "{self.devices}/*", "type": "Mount"}}]}}'
            command = [self.peer, "--domain", "example.com", "--plugin-directory", f"{node.plugins}/"]
            command += ["--listen", "127.0.0.1:0", "--device", f'{{"name": "serial", "groups": [{paths}]}}']
        else:
            node.configure(listed(self.devices, 'id: "theirs-{name}"'))
            command = [node.programs.plughost, "run", "--config", node.configuration]
            command += ["--control", node.root / "theirs.sock"]
        self._other = Process(command)
        node.at_close(self._other.close)
        try:
            node.kubelet.until(
                lambda: len(node.of(A).devices) == 2 and node.of(A).fed, PATIENCE, "the other plugin's list"
            )
        except Exception as error:
            raise Failed(f"the other plugin does not serve: {error}; {self._other.lines()[-3:]}") from error

    def _allocate(self, pod):
        return self.node.kubelet.ask(f"allocate {A} 1 {pod}")["allocations"][A]

    def _refused(self, pod):
        try:
            got = self._allocate(pod)
        except Refused:
            return
        raise Failed(f"{pod} got {got}")

    def _name_of(self, allocation):
        """The file that a pod was given, by whichever plugin."""
        text = str(allocation["response"])
        names = [each.name for each in self.devices.iterdir() if f"{self.devices}/{each.name}" in text]
        expect(len(names) == 1, f"one device in {text}")
        return names[0]

    def _reason(self, device, allocation):
        def said():
            devices = [each for each in self.node.status()["resources"][0]["list"] if each["id"] == device]
            return devices and devices[0]["reason"]

        (theirs,) = allocation["ids"]
        wanted = f"/first since before plughost, as {theirs}"
        self.node.until(lambda: said().endswith(wanted), PATIENCE, f"{said()!r} ends with {wanted!r}")

    def _over_restarts(self, held, first):
        """Of plughost, and of the kubelet."""
        node = self.node
        node.start_daemon()
        node.attached()
        expect(node.of(A).devices[held] == "Unhealthy", f"after plughost's restart: {node.of(A).devices}")
        node.replace_kubelet()
        node.attached()
        expect(node.of(A).devices[held] == "Unhealthy", f"after the kubelet's restart: {node.of(A).devices}")
        self._reason(held, first)


def taken_over(node, peer):
    TakenOver(node, peer).run()
    node.notes.append(SHOWN.format("generic-device-plugin" if peer else "other ids of the same devices"))
