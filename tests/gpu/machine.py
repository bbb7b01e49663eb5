"""A machine with NVIDIA's driver, as nvidia-smi and plughost see it."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))

from process import Process, TimedOut, until  # noqa: E402

CARDS = "nvidia.com/gpu"


class NoDriver(Exception):
    def __init__(self):
        super().__init__("not run: there is no NVIDIA driver on this machine")


class Failed(Exception):
    pass


class NotShown(Exception):
    pass


def expect(condition, what):
    if not condition:
        raise Failed(what)


def memory(process):
    """kB, private and resident. process: its number, or 'self'."""
    status = Path(f"/proc/{process}/status").read_text()
    return tuple(int(re.search(rf"{name}:\s+(\d+)", status)[1]) for name in ("RssAnon", "VmRSS"))


class Machine:
    def __init__(self, plughost, work):
        self._plughost, self.work = plughost, work
        try:
            smi = subprocess.run(["nvidia-smi", "-q", "-x"], capture_output=True)
        except FileNotFoundError:
            raise NoDriver from None
        if smi.returncode != 0:
            raise NoDriver
        self.cards = ElementTree.fromstring(smi.stdout).findall("gpu")

    def configuration(self, name, gpu, cdi=None):
        """With a kubelet's directory of its own: one daemon serves a directory. cdi: where specifications go."""
        path, kubelet = self.work / f"{name}.yaml", self.work / name
        kubelet.mkdir(exist_ok=True)
        entry = {"name": CARDS, "gpu": {"vendor": "nvidia", **gpu}}
        whole = {"kubelet": {"directory": str(kubelet)}, "include": [], "resources": [entry]}
        if cdi:
            whole["cdi"] = {"directory": str(cdi)}
        path.write_text(json.dumps(whole))
        return path

    def ask(self, *arguments):
        done = subprocess.run([self._plughost, *arguments, "-o", "json"], capture_output=True, text=True)
        expect(done.returncode == 0, f"{' '.join(map(str, arguments))}: {done.stderr}")
        return json.loads(done.stdout)

    def found(self, configuration):
        return self.ask("discover", "--config", configuration)[0]["devices"]

    def daemon(self, configuration):
        return Daemon(self, self._plughost, configuration)


class Plugin(Process):
    def processor_time(self):
        """seconds"""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


class Daemon(Plugin):
    def __init__(self, machine, plughost, configuration):
        self._machine, self._control = machine, configuration.with_suffix(".sock")
        state = configuration.with_suffix(".state")
        run = ["run", "--config", configuration, "--control", self._control, "--state-directory", state]
        super().__init__([plughost, *run])
        try:
            until(self.devices, 10, "the cards in its status", every=0.1)
        except TimedOut as error:
            raise TimedOut(f"{error}; it wrote {self.lines()}") from None

    def devices(self):
        """id → (health, reason)"""
        if not self._control.exists():
            return {}
        resources = self._machine.ask("status", "--control", self._control)["resources"]
        listed = [device for resource in resources for device in resource["list"]]
        return {device["id"]: (device["health"], device["reason"]) for device in listed}


def text(card, name):
    return card.find(name).text.strip()
