"""A node of a scenario's own: directories, a configuration, a kubelet and plughost's daemon."""

import json
import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import process
from process import Process, TimedOut

from .kubelet import ENDING, PATIENCE, Interrupted, Kubelet, version_of
from .lines import Failed, expect

AS_PACKAGED = {"GLIBC_TUNABLES": "glibc.malloc.tcache_count=0"}  # what the unit and the image set
WATCHED = 1.0  # seconds for which nothing must happen
REGISTERED_ANEW = "kubelet counts other devices than it was sent: registering again"


class Entry(NamedTuple):
    """One resource of a configuration."""

    name: str
    text: str


def counted(name, count, more=""):
    return Entry(name, f'- {{name: "{name}", count: {count}{", " + more if more else ""}}}')


def listed(name, directory, more=""):
    return Entry(name, f'- {{name: "{name}", directory: {{path: {directory}}}{", " + more if more else ""}}}')


def matched(name, pattern, more=""):
    """Device nodes, or links to them."""
    return Entry(
        name,
        f'- {{name: "{name}", groups: [{{paths: [{{path: "{pattern}"}}]}}]{", " + more if more else ""}}}',
    )


class Programs(NamedTuple):
    plughost: Path
    kubelet: Path  # the device manager of the version


class Node:
    """For one thread. Ends and removes everything when it is closed."""

    def __init__(self, programs, by_registry=False, wire=True):
        """by_registry: the kubelet finds plughost's sockets, instead of being called. wire: as Kubelet's."""
        self.programs = programs
        self.wire = wire
        self.by_registry = by_registry
        self.root = Path(tempfile.mkdtemp(prefix="plughost-"))
        self.plugins = self.root / "plugins"  # the kubelet's directory
        self.registry = self.root / "registry"
        self.pod_resources = self.root / "pod-resources" / "kubelet.sock"
        self.pods_api = self.root / "pods-api" / "pods-api.sock"
        self.control = self.root / "control.sock"
        self.configuration = self.root / "config.yaml"
        self.kubelet = None
        self.daemon = None
        self.figures = {}  # by what was measured: its limit in seconds, and the values
        self.notes = []  # figures in words
        self.names = []  # of the resources in the configuration
        self.serves_pod_resources = True  # the kubelet does; False: plughost cannot ask what is counted
        self.misleads = False  # the kubelet counts wrong because the test wants it to
        self.environment = {}  # more of the daemon's
        self.top = ""  # more lines of the configuration, before the resources
        self._kubelets = []  # the former ones
        self._broken = []  # by kubelets that are forgotten
        self._said = []  # by former daemons
        self._daemon_ends = []
        self._at_close = []

    @property
    def version(self):
        """Of Kubernetes: (1, 36)."""
        return version_of(self.programs.kubelet)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        for undo in reversed(self._at_close):
            undo()
        if self.daemon:
            self._end_process()
        self.kill_kubelet()
        shutil.rmtree(self.root, ignore_errors=True)

    def at_close(self, undo):
        """undo() is called before the processes are ended."""
        self._at_close.append(undo)

    def broken_rules(self):
        """What happened against the rules of every scenario, as pairs of a line's number and a text."""
        now = [each for kubelet in self.kubelets() for each in kubelet.rules.broken(self._daemon_ends)]
        return self._broken + now + self._needless()

    def _needless(self):
        """Registrations because of what the kubelet counts, when nothing was wrong with that."""
        found = [] if self.misleads else [each for each in self.log() if REGISTERED_ANEW in each]
        return [("misled", each) for each in found]

    def forget_kubelets(self):
        """Drops what the former ones said, so that a long scenario does not fill the memory."""
        for kubelet in self._kubelets:
            self._broken += kubelet.rules.broken(self._daemon_ends)
        self._kubelets = []

    def log(self):
        return self._said + (self.daemon.lines() if self.daemon else [])

    def until(self, condition, seconds, what, every=0.005):
        def value_or_end():
            if ENDING.is_set():
                raise Interrupted()
            return condition()

        return process.until(value_or_end, seconds, what, every)

    # Configuration

    def configure(self, *entries):
        self.names = [entry.name for entry in entries]
        self.write_configuration("".join(entry.text + "\n" for entry in entries))

    def write_configuration(self, resources):
        """resources: the lines after `resources:`."""
        kubelet = f"directory: {self.plugins}, podResources: {self.pod_resources}"
        if self.by_registry:
            kubelet += f", pluginsRegistry: {self.registry}, registration: pluginsRegistry"
        head = f"kubelet: {{{kubelet}}}\ninclude: []\n{self.top}resources:\n"
        written = self.root / "config.new"
        written.write_text(head + resources)
        written.rename(self.configuration)

    def output(self, *command):
        """What a program prints, which must succeed."""
        done = subprocess.run(
            [*map(str, command)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        expect(done.returncode == 0, f"{command}: {done.stderr}")
        return done.stdout

    def plughost(self, *arguments):
        """Runs the program to its end; both of its outputs are stdout."""
        return subprocess.run(
            [self.programs.plughost, *map(str, arguments)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=PATIENCE,
        )

    # The kubelet

    def start_kubelet(self, *flags):
        if ENDING.is_set():
            raise Interrupted()
        flags = [*flags, *self._flags()]
        self.kubelet = Kubelet(self.programs.kubelet, self.plugins, flags, wire=self.wire)
        return self.kubelet

    def spare_kubelet(self):
        """A process that is ready to be the next kubelet."""
        return Kubelet(self.programs.kubelet, self.plugins, self._flags(), waits=True, wire=self.wire)

    def _flags(self):
        registry = ["-plugins-registry", self.registry] if self.by_registry else []
        served = ["-pod-resources", self.pod_resources] if self.serves_pod_resources else []
        return ["-pods-api", self.pods_api, *served, *registry]

    def kill_kubelet(self):
        """SIGKILL: the socket stays behind."""
        if self.kubelet:
            self.kubelet.kill()
            self._kubelets.append(self.kubelet)
            self.kubelet = None

    def replace_kubelet(self, spare=None):
        """A kubelet is killed, and another process takes its place."""
        self.kill_kubelet()
        if not spare:
            return self.start_kubelet()
        self.kubelet = spare
        spare.start()
        return spare

    def kubelets(self):
        """All that there were."""
        return self._kubelets + ([self.kubelet] if self.kubelet else [])

    def of(self, resource):
        self.kubelet.catch_up()
        return self.kubelet.resources[resource]

    def registrations(self, resource):
        """How often this kubelet was asked. What it finds by itself, it connects to."""
        resource = self.of(resource)
        return len(resource.connected if self.by_registry else resource.registrations)

    def attached(self, names=None, seconds=PATIENCE):
        """Waits until every resource has a stream to the kubelet, and has sent a list on it."""
        names = self.names if names is None else names
        kubelet = self.kubelet
        try:
            self.until(lambda: kubelet.is_attached(names), seconds, "attached")
        except TimedOut:
            missing = [name for name in names if not kubelet.resources[name].fed]
            raise Failed(f"not attached within {seconds:g} s: {', '.join(missing)}") from None

    def detached(self, names=None):
        """Waits until the kubelet has no stream of these resources."""
        names = self.names if names is None else names
        resources = self.kubelet.resources
        self.kubelet.until(
            lambda: not any(resources[name].live for name in names), PATIENCE, "no stream left"
        )

    def lists(self, resource, wanted, seconds=PATIENCE):
        """Waits until the last list is so: health by id, or a number of healthy devices."""
        self.kubelet.until(
            lambda: _is_so(self.kubelet.resources[resource].devices, wanted),
            seconds,
            f"{resource} lists {wanted}",
        )

    def verified(self):
        """Waits until plughost has asked this kubelet what it counts, and says that they agree."""
        self.kubelet.until(self._was_asked, PATIENCE, "the kubelet is asked what it counts")

        def agrees():
            status = self.status()
            differ = [each["name"] for each in status["resources"] if each["disagreement"]]
            return not status["kubelet"]["unverified"] and not differ

        self.until(agrees, PATIENCE, "plughost's status says that they agree")

    def _was_asked(self):
        """With a good answer, after the last list had come in: that it was taken is told once it is on the disk."""
        last = self.kubelet.last_list_came_in()
        for call in self.kubelet.wire("GetAllocatableResources"):
            answer = call.get("SERVER_TRAILER")
            if answer and "status" not in answer and answer["at"] >= last:
                return True
        return False

    def status(self):
        return json.loads(self.plughost("status", "--control", self.control, "-o", "json").stdout)

    def recovery(self, names=None):
        """Seconds from the kubelet's start to the last resource's first list."""
        names = self.names if names is None else names
        return max(self.kubelet.resources[name].listed[0] for name in names) - self.kubelet.started_at

    # The daemon

    def start_daemon(self, *arguments, at_once=False):
        """A former one is killed first, and unless at_once the kubelet takes note of that."""
        if self.daemon:
            self._end_process()
            if not at_once:
                self.detached()
        command = [
            *(self.programs.plughost, "run"),
            *("--config", self.configuration, "--control", self.control, "--state-directory", f"{self.root}/state"),
            *arguments,
        ]
        self.daemon = Process(command, {**AS_PACKAGED, **self.environment})
        # Before its first line a signal would end it.
        self.daemon.wait_for_line(lambda line: True, PATIENCE)

    def adopt_daemon(self, pid):
        """The daemon is another process now, with the former one's output."""
        self.daemon.continue_as(pid)

    def end_daemon(self, number=signal.SIGTERM):
        """Returns the exit code, and after how many seconds it came."""
        start = time.monotonic()
        self._daemon_ends.append(time.time())
        self.daemon.signal(number)
        code = self.daemon.wait(PATIENCE)
        took = time.monotonic() - start
        self._end_process()
        return code, took

    def _end_process(self):
        self._daemon_ends.append(time.time())
        self.daemon.close()
        self._said += self.daemon.lines()
        self.daemon = None

    def run(self, *entries, kubelet_flags=()):
        """A kubelet and a daemon with these resources, all attached."""
        self.configure(*entries)
        self.start_kubelet(*kubelet_flags)
        self.start_daemon()
        self.attached()

    def reload(self, *entries):
        """SIGHUP, with another configuration if there are entries; returns when it is in force."""
        if entries:
            self.configure(*entries)
        start = self.daemon.mark()
        self.daemon.signal(signal.SIGHUP)
        self.daemon.wait_for_line("configuration reloaded", PATIENCE, start)

    def socket_directory(self):
        return self.registry if self.by_registry else self.plugins

    def sockets(self):
        """The names of plughost's sockets."""
        found = []
        for each in os.scandir(self.socket_directory()):
            try:
                is_socket = stat.S_ISSOCK(each.stat(follow_symlinks=False).st_mode)
            except FileNotFoundError:
                continue  # unlinked meanwhile
            if each.name.startswith("plughost-") and is_socket:
                found.append(each.name)
        return sorted(found)

    # Figures

    def measure(self, what, seconds, limit=None):
        """Keeps a figure, and fails when it is above its limit."""
        self.figures.setdefault(what, (limit, []))[1].append(seconds)
        if limit is not None:
            expect(seconds <= limit, f"{what}: {seconds:.3f} s, and the limit is {limit:g} s")


def _is_so(devices, wanted):
    if isinstance(wanted, int):
        return list(devices.values()).count("Healthy") == wanted
    return all(devices.get(each) == health for each, health in wanted.items())


def accepts(path):
    """Does somebody listen on the socket?"""
    with socket.socket(socket.AF_UNIX) as connection:
        try:
            connection.connect(str(path))
        except OSError:
            return False
        return True


def empty_and_remove(node, directory):
    """The daemon may put a socket in while the directory is being emptied."""

    def gone():
        shutil.rmtree(directory, ignore_errors=True)
        return not directory.exists()

    node.until(gone, PATIENCE, f"{directory} removed")


def seconds_in(log_line):
    """When a line of the daemon's log was written, in seconds of that day."""
    hours, minutes, seconds = re.search(r"(\d\d):(\d\d):(\d\d\.\d+)", log_line).groups()
    return int(hours) * 3600 + int(minutes) * 60 + float(seconds)
