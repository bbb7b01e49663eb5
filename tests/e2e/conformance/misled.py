"""A kubelet that is made to count wrong: plughost asks it, and puts it right by registering anew."""

import collections
import random
import time

from process import TimedOut

from .kubelet import PATIENCE
from .lines import Failed, expect
from .node import REGISTERED_ANEW, listed

RESOURCES = 20
LIMIT = 10  # seconds


class Misled:
    """Makes the kubelet wrong about several resources at once, and waits until it is right about all of them.

    Nothing but a list that changed makes plughost ask before a minute is over, and it asks for all resources
    at once: the witness's list changes each time, and the kubelet is never wrong about that one.
    """

    def __init__(self, node, seed):
        self.node = node
        self.random = random.Random(seed)
        self.seed = seed
        self.witness = "example.com/witness"
        self.names = [f"example.com/m{number}" for number in range(RESOURCES)]
        self.files = collections.Counter()  # so many each resource has
        self.streams = collections.Counter()  # so many each must have had

    def run(self, count):
        node = self.node
        node.misleads = True
        node.run(*(self._directory(name) for name in [*self.names, self.witness]))
        self.streams.update(node.names)
        node.verified()
        left = count
        while left:
            chosen = self.random.sample(self.names, min(left, self.random.randint(10, RESOURCES)))
            left -= len(chosen)
            self._round(chosen)
        for name in node.names:
            times, needed = node.registrations(name), self.streams[name]
            expect(times == needed, f"{name} was registered {times} times instead of {needed}")
        told = sum(REGISTERED_ANEW in each and "ERROR" in each.upper() for each in node.log())
        expect(told == count, f"{told} errors were logged instead of {count}")

    def _directory(self, name):
        directory = self._path(name)
        directory.mkdir()
        for _ in range(3):
            self._touch(name)
        return listed(name, directory)

    def _path(self, name):
        return self.node.root / name.rpartition("/")[2]

    def _touch(self, name):
        (self._path(name) / f"{self._path(name).name}-{self.files[name]}").touch()
        self.files[name] += 1

    def _round(self, chosen):
        node, begun = self.node, {}
        start = node.daemon.mark()
        kinds = [self.keep, self.swallow, self.swallow_first]
        # A kubelet of 1.26 dies when the stream of what it has forgotten ends (PluginDisconnected in its manager.go).
        if node.version >= (1, 27):
            kinds.append(self.forget)
        done = {name: self.random.choice(kinds) for name in chosen}
        for name, mislead in done.items():
            begun[name] = time.time()
            mislead(name)
            self.streams[name] += 1
        self._touch(self.witness)
        try:
            for name, mislead in done.items():
                node.kubelet.until(lambda: self._is_right(name), 2 * LIMIT, f"{name}: {mislead.__doc__}")
                took = node.of(name).listed[-1] - begun[name]
                node.measure(f"{mislead.__doc__} → it counts right", took, LIMIT)
            node.lists(self.witness, self.files[self.witness])
            self._counts_right()
            for name in chosen:  # only then is it at rest
                node.daemon.wait_for_line(lambda line: _agrees(line, name), PATIENCE, start)
        except (TimedOut, Failed) as wrong:
            story = node.kubelet.story(chosen)
            raise Failed(f"seed {self.seed}, {len(chosen)} at once: {wrong}\n" + "\n".join(story)) from wrong

    def _is_right(self, name):
        resource = self.node.kubelet.resources[name]
        streams, devices = len(resource.connected), len(resource.devices)
        return resource.fed and streams == self.streams[name] and devices == self.files[name]

    def _counts_right(self):
        for name, devices in self.node.kubelet.ask("devices").items():
            healthy, wanted = sum(each["healthy"] for each in devices.values()), self.files[name]
            expect(healthy == wanted, f"the kubelet counts {healthy} of {wanted} devices of {name}")

    def forget(self, name):
        """the kubelet forgets a resource"""
        self.node.kubelet.ask(f"forget {name}")

    def keep(self, name):
        """the kubelet keeps an old list"""
        self._touch(name)
        self.node.lists(name, self.files[name])
        self.node.kubelet.ask(f"keep {name}")
        self._touch(name)  # and that one it does not take in either

    def swallow(self, name):
        """the kubelet swallows a list"""
        self.node.kubelet.ask(f"swallow {name}")
        self._touch(name)

    def swallow_first(self, name):
        """the kubelet swallows a stream's first list"""
        self.node.kubelet.ask(f"swallow {name}")
        self.streams[name] += 1
        self.node.kubelet.ask(f"cancel {name}")


def _agrees(line, name):
    return "kubelet counts the devices it was sent" in line and line.endswith(f"resource={name}")


def misled(node, count, seed):
    Misled(node, seed).run(count)
    node.notes.append(f"{count} times with seed {seed}, and put right each time")
