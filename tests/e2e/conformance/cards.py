"""Cards in units of memory, by the library of tests/fakes/nvml: a container's units are one card's, whatever the
device manager takes."""

import random
import signal

from fake_cards import FakeCards
from .kubelet import Refused
from .lines import expect
from .node import Entry, counted

MEMORY = "nvidia.com/gpu-memory"
GIB = {"GPU-small": 16, "GPU-large": 80}
REQUESTS = 200
VISIBLE = "NVIDIA_VISIBLE_DEVICES"


def in_units(more=""):
    return Entry(MEMORY, f"- {{name: {MEMORY}, gpu: {{vendor: nvidia, unit: {{memory: 1GiB}}}}{more}}}")


def _show_cards(node):
    """The daemons that are started from now on have the library."""
    lines = [f"card {uuid} minor={n} memory={gib * 1024}" for n, (uuid, gib) in enumerate(GIB.items())]
    node.environment = FakeCards(node.root, lines).environment


class Pods:
    """Those that have units, and what is free of each card."""

    def __init__(self, node):
        self.node = node
        self.held = {}  # by pod: its card, and how many units
        self.refused = 0
        self._asked = 0

    def free(self):
        taken = dict.fromkeys(GIB, 0)
        for card, units in self.held.values():
            taken[card] += units
        return {card: gib - taken[card] for card, gib in GIB.items()}

    def ask(self, units):
        """Has the pod a card, or does it get a sentence, as it should?"""
        self._asked += 1
        pod, free = f"pod-{self._asked}", self.free()
        fits = [card for card in free if free[card] >= units]
        try:
            given = self.node.kubelet.ask(f"allocate {MEMORY} {units} {pod}")["allocations"][MEMORY]
        except Refused as refused:
            self.refused += 1
            expect(not fits, f"{units} of {free}: {refused}")
            if sum(free.values()) >= units:  # otherwise the kubelet does not ask
                told = "Free are " + ", ".join(f"{number} on {card}" for card, number in sorted(free.items()) if number)
                expect(told in str(refused), f"{units} of {free}: {refused}")
            return None
        cards = {each.partition("::")[0] for each in given["ids"]}
        seen = given["response"]["envs"][VISIBLE]
        expect(len(given["ids"]) == units and cards == {seen}, f"{units}: {cards}, and it sees {seen}")
        smallest = min(free[card] for card in fits)
        expect(free[seen] == smallest, f"{units} of {free} are of {seen}")
        self.held[pod] = seen, units
        return seen

    def end(self, pod):
        self.node.kubelet.ask(f"free {pod}")
        del self.held[pod]


def cards(node, seed):
    _show_cards(node)
    node.run(in_units())
    node.lists(MEMORY, sum(GIB.values()))
    pods = Pods(node)
    expect(pods.ask(70) == "GPU-large", "70 units fit the large card alone")
    expect(pods.ask(20) is None, "neither card has 20")
    chance = random.Random(seed)
    for _ in range(REQUESTS):
        if pods.held and chance.random() < 0.6:
            pods.end(chance.choice(sorted(pods.held)))
        pods.ask(chance.choice((1, 2, 4, 8, 12, 16, 24, 40, 70)))
    expect(REQUESTS / 20 < pods.refused < REQUESTS * 3 / 4, f"{pods.refused} of {REQUESTS} were refused: that shows little")
    node.notes.append(f"{REQUESTS} requests of 16 + 80 units, {pods.refused} refused, none of two cards")
    _one_card_twice(node)
    _gone_at_once(node)
    _spread(node)


def _one_card_twice(node):
    """Memory and whole cards, of which each would set the variable that brings the card."""
    whole = Entry("nvidia.com/gpu", "- {name: nvidia.com/gpu, gpu: {vendor: nvidia}}")
    node.configure(in_units(), whole)
    checked = node.plughost("check", node.configuration)
    expect(checked.returncode == 1 and VISIBLE in checked.stdout, f"{checked.returncode}: {checked.stdout}")
    lines = node.configuration.read_text().splitlines()
    for entry in (in_units(), whole):
        place = f"{node.configuration}:{lines.index(entry.text) + 1}:"
        expect(place in checked.stdout, f"{place} is not in {checked.stdout}")
    start = node.daemon.mark()
    node.daemon.signal(signal.SIGHUP)
    node.daemon.wait_for_line(lambda text: VISIBLE in text and "error" in text, 20, start)
    expect(node.of(MEMORY).live, "what was in force goes on")


def _gone_at_once(node):
    """A stop, with `emptyAtStop` and without."""
    kept = "example.com/kept"
    node.reload(in_units(", emptyAtStop: true"), counted(kept, 3))
    node.attached()
    node.lists(kept, 3)
    node.end_daemon()
    node.detached()
    counts = node.kubelet.ask("capacity")
    expect(counts["capacity"][MEMORY] == 0, f"the empty list was sent, and: {counts}")
    expect(counts["capacity"][kept] == 3 and counts["allocatable"][kept] == 0, f"without it: {counts}")


def _spread(node):
    """Shares, with nothing said."""
    shared = "example.com/shared"
    node.configure(counted(shared, 8, "replicas: 10"))
    node.start_daemon()
    node.attached()
    node.lists(shared, 80)
    given = node.kubelet.ask(f"allocate {shared} 8 spread")["allocations"][shared]["ids"]
    expect(len({each.partition("::")[0] for each in given}) == 8, f"eight shares: {given}")
