"""A scene's node: the conformance suite's, with a unit around the daemon, or the stand-in for a kubelet."""

import os
import signal
import socket
import subprocess

from conformance import node as conformance
from conformance.lines import expect
from process import Process

from .standin import StandIn
from .unit import Unit

PATIENCE = 20


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


class Node(conformance.Node):
    def __init__(self, programs):
        super().__init__(programs)
        self.port = free_port()
        self.top = f"listen: 127.0.0.1:{self.port}\n"
        self.control = self.root / "control.sock"
        self.unit = None
        os.chmod(self.root, 0o755)

    def start_kubelet(self, *flags):
        if self.programs.kubelet:
            return super().start_kubelet(*flags)
        self.kubelet = StandIn(f"{self.programs.plughost}-kubelet", self.plugins)
        return self.kubelet

    def start_daemon(self, prefix=(), environment=None, errors=None):
        """prefix: a command that becomes the daemon. errors: as Process has it; nobody sees the log then."""
        self.unit = Unit(self.root)
        command = [*prefix, self.programs.plughost, "run", "--config", self.configuration, "--control", self.control,
                   "--state-directory", f"{self.root}/state"]
        environment = {**(environment or {}), **self.unit.environment()}
        self.daemon = Process(command, environment, errors)
        expect(self.unit.wait_until_ready(PATIENCE), f"not ready within {PATIENCE} s: {self.daemon.lines()[-3:]}")

    def stop_daemon(self, seconds=5):
        """As the unit does: SIGTERM, and TimeoutStopSec= later it would be killed."""
        self.daemon.signal(signal.SIGTERM)
        code = self.daemon.wait(seconds)
        expect(code == 0, f"the daemon ended with {code}")
        self._end_process()

    def limit(self, which, soft):
        """Of the running daemon, by somebody who is who it is: root alone may not have the right."""
        user = os.stat(f"/proc/{self.daemon.pid}").st_uid
        be = ["setpriv", "--reuid", str(user), "--clear-groups"] if user else []
        subprocess.run([*be, "prlimit", "--pid", str(self.daemon.pid), f"--{which}={soft}:"], check=True)

    def pods(self):
        """Those that hold a device."""
        if not self.programs.kubelet:
            return {each["pod"] for each in self.kubelet.ask("pods")["pods"]}
        known = self.kubelet.ask("devices").values()
        return {each["pod"] for devices in known for each in devices.values() if "pod" in each}

    def close(self):
        super().close()
        if self.unit:
            self.unit.close()
