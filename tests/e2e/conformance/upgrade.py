"""plughost replaced by another process while pods are admitted all the time."""

import os
import random
import shutil
import signal
import statistics
import subprocess
import threading
import time

from process import TimedOut

from .kubelet import PATIENCE, Refused
from .lines import expect
from .node import counted, listed
from .stress import free_pods

RESOURCES = 16
EVERY = 10  # of so many upgrades one has a program that fails


class Upgrades:
    """Upgrades one daemon after the other, as `plughost upgrade` does after a package has replaced the program."""

    def __init__(self, node, seed):
        self.node = node
        self.seed = seed
        self.random = random.Random(seed)
        self.installed = node.root / "bin" / "plughost"
        self.original = node.programs.plughost
        self.directory = node.root / "files"
        self.wanted = {f"example.com/u{number}": 2 + number % 3 for number in range(RESOURCES)}
        self.gapless = node.version >= (1, 37)
        self.pods = self.refused = 0
        self.killing = False  # the successor is killed when it may have registered
        self.fewest = ""  # what the kubelet counted when that was too few

    def begin(self):
        node = self.node
        self.installed.parent.mkdir()
        self._install()
        self.directory.mkdir()
        for number in range(3):
            (self.directory / f"f{number}").touch()
        node.programs = node.programs._replace(plughost=self.installed)
        node.run(*self._entries())
        self.wanted["example.com/files"] = 3

    def _entries(self):
        entries = [counted(name, count) for name, count in self.wanted.items() if name != "example.com/files"]
        return [*entries, listed("example.com/files", self.directory)]

    def _install(self):
        new = self.installed.with_suffix(".new")
        shutil.copy2(self.original, new)
        new.rename(self.installed)

    def upgrade(self, meanwhile):
        """Calls meanwhile() until the command has ended; returns its exit code and what it printed."""
        command = [self.original, "upgrade", "--control", self.node.control]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as running:
            while running.poll() is None:
                meanwhile()
            said = running.stdout.read()
        if running.returncode == 0:
            pid = int(said.split("as process ")[1].split()[0])
            self.node.adopt_daemon(pid)
        return running.returncode, said

    def admit(self):
        """A pod for one of the resources, and what the kubelet counts."""
        node, name = self.node, self.random.choice(list(self.wanted))
        counts = node.kubelet.allocatable()
        if self.gapless:
            expect(counts == self.wanted, f"the kubelet counts {counts}")
        self.pods += 1
        pod = f"pod-{self.pods}"
        try:
            node.kubelet.ask(f"allocate {name} {self.random.randint(1, self.wanted[name])} {pod}")
            node.kubelet.ask(f"free {pod}")
        except Refused as refused:
            # What a killed process was answering is lost, as with every crash.
            expect(self.killing or not self.gapless, f"{name} for {pod}: {refused}")
            self.refused += 1

    # Programs that fail

    def fails_at_its_start(self):
        self.installed.unlink()
        self.installed.write_text("#!/bin/sh\nexit 3\n")
        self.installed.chmod(0o755)

    def is_missing(self):
        self.installed.unlink()

    def has_a_bad_configuration(self):
        self.node.write_configuration("- {name: example.com/u0, count: none}\n")

    def is_killed(self):
        """At any time from when it asks to take over to just before it alone serves."""
        start, after = self.node.daemon.mark(), self.random.uniform(0, 0.08)
        self.killing = True

        def kill():
            asked = self.node.daemon.wait_for_line("successor asks to take over", PATIENCE, start)
            time.sleep(after)  # the time is the scenario
            os.kill(int(asked.rpartition("pid=")[2]), signal.SIGKILL)

        threading.Thread(target=kill, daemon=True).start()

    def settled(self):
        node = self.node
        node.until(lambda: node.kubelet.allocatable() == self.wanted, PATIENCE, "everything is counted")
        node.until(self._one_socket_each, PATIENCE, "one socket for each resource")

    def _one_socket_each(self):
        return len(self.node.sockets()) == len(self.wanted)


def upgrades(node, count, seed):
    """Upgrades so often; every tenth new program fails, and the running one serves on."""
    those, times, gaps = Upgrades(node, seed), [], []
    those.begin()
    failing = [those.fails_at_its_start, those.is_missing, those.has_a_bad_configuration]
    # Up to 1.36 there is no way back from the moment at which it asks.
    failing += [those.is_killed] * 2 * those.gapless
    for number in range(count):
        fails = failing[number // EVERY % len(failing)] if number % EVERY == EVERY - 1 else None
        if fails:
            fails()
        began, seen = time.monotonic(), len(node.kubelet.events)
        code, said = those.upgrade(those.admit)
        expect(code == (1 if fails else 0), f"upgrade {number + 1} of seed {seed}, {fails}: exit code {code}, {said}")
        those.killing = False
        if fails:
            those._install()
            node.configure(*those._entries())
        else:
            times.append(time.monotonic() - began)
        those.settled()
        those.admit()
        gaps.append(longest_gap(node.kubelet.events[seen:]))
        del node.kubelet.events[:]
    node.verified()
    whole = sorted(1000 * each for each in times)
    node.notes.append(
        f"{count} upgrades with seed {seed}, every tenth by a program that fails; {those.pods} pods, {those.refused} refused"
        f"{' by a new process that was killed' if those.gapless and those.refused else ''}; "
        f"the command took {statistics.median(whole):.0f} ms (median), {whole[-1]:.0f} (longest); "
        f"the longest time without a resource's stream {1000 * max(gaps):.0f} ms, median {1000 * statistics.median(gaps):.0f}"
    )


def longest_gap(events):
    """Seconds from the end of a resource's only stream to the next list."""
    ended, longest = {}, 0
    for event in events:
        name = event.get("resource")
        if event["event"] == "disconnected" and not event.get("left"):
            ended[name] = event["at"]
        elif event["event"] == "listed" and name in ended:
            longest = max(longest, event["at"] - ended.pop(name))
    return longest


def kubelet_restarts(node, count, seed):
    """Kills the kubelet at any time of so many hand-overs."""
    those = Upgrades(node, seed)
    those.begin()
    done = 0
    for number in range(count):
        after, began, replaced = those.random.uniform(0, 0.25), time.monotonic(), False

        def meanwhile():
            nonlocal replaced
            if not replaced and time.monotonic() >= began + after:
                node.replace_kubelet()
                replaced = True

        code, said = those.upgrade(meanwhile)
        done += code == 0
        if not replaced:
            node.replace_kubelet()
        expect(code == 0, f"hand-over {number + 1} of seed {seed}: exit code {code}, {said}")
        try:
            those.settled()
        except TimedOut as stuck:
            story = "\n".join(node.kubelet.story(list(those.wanted)))
            raise TimedOut(f"hand-over {number + 1} of seed {seed}, killed after {after:.3f} s: {stuck}\n{story}") from None
        free_pods(node)
        for name in those.wanted:
            those.pods += 1
            node.kubelet.ask(f"allocate {name} {those.wanted[name]} pod-{those.pods}")
            node.kubelet.ask(f"free pod-{those.pods}")
        node.forget_kubelets()
    node.notes.append(f"{count} kubelets killed during hand-overs with seed {seed}; {those.pods} pods, none refused")
