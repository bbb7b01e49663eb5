"""One scene with one daemon: what must go on whatever is done to it, and what is measured meanwhile."""

import contextlib
import json
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

from conformance.kubelet import ENDING, Interrupted, Refused
from conformance.lines import Failed, NotShown, expect
from conformance.node import Entry
from process import Process, TimedOut, until

from .vitals import vitals

STOPPED = 5.0  # seconds: what takes longer has stopped
PATIENCE = 20.0  # for what comes back after a load
MOST_WAIT = 0.2  # of the loop, beside what the machine itself is late
# gRPC starts threads where its own are late, and ends them some time later.
MOST_GROWTH = {"kilobytes": 1024, "descriptors": 2, "threads": 8, "zombies": 0}

_LOOP_WATCH = Path(__file__).with_name("loop_watch.py")
WELL, COUNT, PREPARED, CHECKED = (f"example.com/{name}" for name in ("well", "count", "prepared", "checked"))


class Trial:
    """For one thread."""

    def __init__(self, node, seconds, no_own_mounts):
        """no_own_mounts: why this process cannot mount what only it sees; nothing if it can."""
        self.node = node
        self._no_own_mounts = no_own_mounts
        self.seconds = seconds  # how long the scene is to last
        self.done = {}  # by load: how often
        self.worst = {}  # seconds, by what went on
        self.notes = []
        self.warm = None  # Vitals after the first rounds
        self.end = None  # and at the end
        self.most_kilobytes = MOST_GROWTH["kilobytes"]
        self.kilobytes = []  # of private memory, meanwhile
        self.loop = None  # what LoopWatch has seen
        self.expected = {}  # allocatable devices by resource
        self.refused = set()  # resources of which no pod gets a device
        self._watch = None
        self._number = 0
        self.files = node.root / "files"
        self.files.mkdir()
        (self.files / "always").touch()
        (node.root / "checked").mkdir()
        (node.root / "checked" / "checked-device").touch()

    def needs_own_mounts(self):
        if self._no_own_mounts:
            raise NotShown(self._no_own_mounts)

    # What runs

    def start(self, *entries, expected=None, kubelet=True, **daemon):
        """A kubelet and a daemon with what must go on, and these entries. expected: how many devices of theirs."""
        self.configure(*entries, expected=expected)
        if kubelet:
            self.node.start_kubelet()
        self.start_daemon(**daemon)
        self.settle()

    def start_daemon(self, **how):
        self.node.start_daemon(**how)
        self._watch = self.process([sys.executable, _LOOP_WATCH, self.pid, self.node.port])
        self._tell_watch("tell")

    @property
    def pid(self):
        return self.node.daemon.pid

    def configure(self, *entries, expected=None):
        self.expected = {WELL: 1, COUNT: 8, PREPARED: 4, CHECKED: 1, **(expected or {})}
        self.node.configure(
            Entry(WELL, f'- {{name: "{WELL}", directory: {{path: {self.files}}}, forgetAfter: 1s}}'),
            Entry(COUNT, f'- {{name: "{COUNT}", count: 8}}'),
            Entry(
                PREPARED,
                f'- {{name: "{PREPARED}", count: 4, preStart: {{exec: [/bin/true]}}, '
                'allocate: {exec: [/bin/echo, "{{}}"]}}',
            ),
            Entry(
                CHECKED,
                f'- {{name: "{CHECKED}", directory: {{path: {self.node.root}/checked}}, '
                "health: {exec: [/bin/true], interval: 1s}}",
            ),
            *entries,
        )

    # What must go on

    def go_on(self, reloads=True):
        """Each of them once; whoever takes longer than a moment has stopped."""
        if ENDING.is_set():
            raise Interrupted()
        self.hotplug()
        self.allocate()
        self.status()
        if reloads:
            self.reload()

    def go_on_for(self, seconds, reloads=True):
        """Again and again, and once at least."""
        end = time.monotonic() + seconds
        self.go_on(reloads)
        while time.monotonic() < end:
            self.go_on(reloads)

    def took(self, what, begun, limit=STOPPED):
        seconds = time.monotonic() - begun
        self.worst[what] = max(self.worst.get(what, 0), seconds)
        expect(seconds <= limit, f"{what} took {seconds:.2f} s")

    @contextlib.contextmanager
    def _timed(self, what):
        begun = time.monotonic()
        try:
            yield
        except TimedOut as stuck:
            raise Failed(f"{what} has stopped: {stuck}") from None
        self.took(what, begun)

    def hotplug(self):
        """A device comes, and goes."""
        self._number += 1
        file = self.files / f"file-{self._number}"
        with self._timed("hot-plug"):
            file.touch()
            self.node.lists(WELL, 2, PATIENCE)
        with self._timed("hot-plug"):
            file.unlink()
            self.node.lists(WELL, 1, PATIENCE)

    def allocate(self, pairs=f"{COUNT} 1 {PREPARED} 1"):
        self._number += 1
        pod = f"pod-{self._number}"
        with self._timed("a pod"):
            try:
                self.node.kubelet.ask(f"allocate {pairs} {pod}", PATIENCE)
            except Refused as refused:
                self._free(pod)
                raise Failed(f"a pod was refused: {refused}") from None
        self._free(pod)

    def _free(self, pod):
        with contextlib.suppress(Refused):  # one that was rejected is gone already, or will be with the next
            self.node.kubelet.ask(f"free {pod}")

    def ask(self, name):
        """A pod of a resource that may be in trouble: it is answered, or refused with a reason."""
        self._number += 1
        with self._timed("an answer in trouble"):
            try:
                self.node.kubelet.ask(f"allocate {name} 1 pod-{self._number}", PATIENCE)
                self.did("pods answered")
            except Refused as refused:
                expect(str(refused).strip(), "refused without a reason")
                self.did("pods refused")
        self._free(f"pod-{self._number}")

    def status(self):
        with self._timed("status"):
            self._plughost("status")

    def status_by_http(self):
        """Where a connection to the control socket cannot be had: that takes a thread."""
        with self._timed("status"):
            with urllib.request.urlopen(f"http://127.0.0.1:{self.node.port}/status.json", timeout=PATIENCE) as answer:
                expect(answer.status == 200, f"/status.json: {answer.status}")

    def reload(self):
        with self._timed("reload"):
            self._plughost("reload")

    def _plughost(self, command):
        try:
            ran = self.node.plughost(command, "--control", self.node.control)
        except subprocess.TimeoutExpired:
            raise Failed(f"plughost {command} has no answer") from None
        expect(ran.returncode == 0, f"plughost {command}: {ran.stdout.strip()[-300:]}")

    # The load

    def process(self, command):
        """Ends with the scene."""
        process = Process(command)
        self.node.at_close(process.close)
        return process

    def did(self, what, count=1):
        self.done[what] = self.done.get(what, 0) + count

    def rounds(self, least=2, warm_after=1, warm_share=0.0):
        """As many as there is time for. Growth is what comes after the first ones, and that share of the time."""
        begun, number = time.monotonic(), 0
        while not self.warm or number < least or time.monotonic() < begun + self.seconds:
            if ENDING.is_set():
                raise Interrupted()
            self._note_memory(time.monotonic() - begun)
            if not self.warm and number >= warm_after and time.monotonic() >= begun + self.seconds * warm_share:
                self.warm = self.at_rest()
            yield number
            number += 1

    def _note_memory(self, passed):
        """After each tenth of the time."""
        if passed >= self.seconds * len(self.kilobytes) / 10:
            self.kilobytes.append(vitals(self.pid).kilobytes)

    @contextlib.contextmanager
    def beside(self, load):
        """load(ended) runs beside the block, and shall return when ended is set."""
        ended, error = threading.Event(), []

        def run():
            try:
                load(ended)
            except Exception as problem:  # told by whoever waits for it
                error.append(problem)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        try:
            yield ended
        finally:
            ended.set()
            thread.join(60)
        if error:
            raise error[0]
        expect(not thread.is_alive(), "the load does not end")

    def hang_up(self):
        """SIGHUP, of which nobody waits for the end."""
        self.node.daemon.signal(signal.SIGHUP)
        self.did("SIGHUPs")

    def new_kubelet(self):
        with self._timed("a new kubelet"):
            self.node.replace_kubelet()
            self.node.until(self.attached, PATIENCE, "all resources are attached")
        self.node.forget_kubelets()
        self.free_all()
        self.did("kubelets killed")

    def free_all(self):
        """A kubelet that starts brings back from its checkpoint what was freed since that was written."""
        for pod in self.node.pods():
            self._free(pod)

    def attached(self):
        return self.node.kubelet.is_attached(self.expected)

    @contextlib.contextmanager
    def loop_unwatched(self):
        """While the daemon is stopped on purpose, or cannot take the connection that asks it."""
        self._tell_watch("rest")
        try:
            yield
        finally:
            self._tell_watch("go on")

    def _tell_watch(self, command):
        """Returns what it has seen so far."""
        mark = self._watch.mark()
        self._watch.write(command)
        return json.loads(self._watch.wait_for_line(lambda line: True, PATIENCE, mark))

    # The end

    def settle(self):
        """Nothing is lost: each device is allocatable, and each resource gives a pod one."""
        have = {}

        def all_there():
            have.clear()
            have.update({name: count for name, count in self.node.kubelet.allocatable().items() if count})
            return have == self.expected

        try:
            self.node.until(all_there, PATIENCE, "all devices are allocatable")
        except TimedOut:
            names = {*have, *self.expected}
            wrong = [f"{n}: {have.get(n, 0)} of {self.expected.get(n, 0)}" for n in sorted(names)
                     if have.get(n, 0) != self.expected.get(n, 0)]
            raise Failed(f"lost after {PATIENCE:g} s: {', '.join(wrong)}") from None

    def at_rest(self):
        """What the daemon has when nothing is done to it: when two looks agree, and nobody waits to be reaped."""
        looks = [vitals(self.pid)]

        def steady():
            looks.append(vitals(self.pid))
            return looks[-1][1:] == looks[-2][1:] and not looks[-1].zombies

        try:
            until(steady, STOPPED, "at rest", every=0.25)
        except TimedOut:
            pass  # told by the figures
        return looks[-1]

    def finish(self):
        """After the scene, while the daemon runs."""
        self.settle()
        self.free_all()
        self._give_of_each()
        self.go_on()
        expect(self.node.daemon.running(), "the daemon has ended")
        self.end = self._grown_back()
        self.loop = self._tell_watch("tell")
        self.notes.append(f"private memory meanwhile, in kB: {', '.join(map(str, self.kilobytes))}")
        self._judge()
        self.node.stop_daemon()

    def _give_of_each(self):
        """An endpoint that the kubelet believes to be gone gives nothing, whatever is allocatable."""
        begun, reasons = time.monotonic(), []

        def given():
            try:
                self.allocate(" ".join(f"{name} 1" for name in self.expected if name not in self.refused))
                return True
            except Failed as refused:
                reasons.append(refused)
                return False

        try:
            self.node.until(given, PATIENCE, "a pod of each resource")
        except TimedOut:
            raise reasons[-1] from None
        if reasons:
            self.notes.append(f"a pod of each resource after {time.monotonic() - begun:.1f} s, before: {reasons[-1]}")

    def _grown_back(self):
        """gRPC keeps a thread for some seconds, and a client's connection until it is seen to be closed."""
        found = [self.at_rest()]

        def small():
            found.append(vitals(self.pid))
            return not self._too_much(found[-1])

        try:
            until(small, PATIENCE, "as before", every=0.5)
        except TimedOut:
            pass
        return found[-1]

    def _too_much(self, now):
        if not self.warm:
            return {}
        grown = {what: getattr(now, what) - getattr(self.warm, what) for what in MOST_GROWTH}
        grown["zombies"] = now.zombies
        most = {**MOST_GROWTH, "kilobytes": self.most_kilobytes}
        return {what: by for what, by in grown.items() if by > most[what]}

    def _judge(self):
        if grown := self._too_much(self.end):
            raise Failed(f"grown by {grown}: {self.warm} when it was warm, {self.end} at the end")
        limit = MOST_WAIT + self.loop["late"]
        own = self.loop["worst_own"]
        expect(own <= limit, f"the loop let others wait for {own:.3f} s, and the limit here is {limit:.3f} s")
        pause, most = self.node.unit.longest_pause(), self.node.unit.limit
        self.notes.append(f"{self.node.unit.pings} pings of the watchdog, {pause:.1f} s apart at most, of {most} s")
        expect(pause <= most, f"the watchdog heard nothing for {pause:.1f} s: {most} s are allowed")
        if broken := self.node.broken_rules():
            raise Failed(f"against line {broken[0][0]} of the kubelet's contract: {broken[0][1]}")
