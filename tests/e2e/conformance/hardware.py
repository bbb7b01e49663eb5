"""An id is one piece of hardware, and a piece of hardware one pod's, whatever is plugged while the kubelet is down."""

from process import TimedOut

from .kubelet import CALMED, PATIENCE, Refused
from .lines import Failed, expect
from .made_machine import MadeMachine
from .node import Entry

A, B = "example.com/a", "example.com/b"
CARD, OTHER = "example.com/card", "example.com/other"
UART = ("10c4", "ea60")
HELD = "10c4:ea60:0001"


class Machine:
    """A node on a made machine, of whose hardware pods are given something."""

    def __init__(self, node):
        self.node = node
        self.made = MadeMachine(node.root)
        node.at_close(self.made.close)

    def while_down(self, change, restarted):
        """The kubelet is killed, change() made, and a kubelet comes. restarted: plughost is down meanwhile, too."""
        node = self.node
        node.kill_kubelet()
        if restarted:
            node.end_daemon()
        change()
        if restarted:
            node.start_daemon(at_once=True)
        node.start_kubelet()
        node.attached()

    def allocate(self, pod, resource=A):
        """The pod's ids, and its nodes."""
        given = self.node.kubelet.ask(f"allocate {resource} 1 {pod}")["allocations"][resource]
        return given["ids"], _nodes(given["response"])

    def answer(self, resource, device):
        return _nodes(self.node.kubelet.ask(f"call {resource} allocate {device}")["container_responses"][0])

    def refused(self, pod, resource=A):
        try:
            got = self.allocate(pod, resource)
        except Refused:
            return
        raise Failed(f"{pod} got {got} of {resource}")

    def reason(self, resource, device, *wanted):
        """Waits until status says of an unhealthy device what is wanted."""
        said = ""

        def says():
            nonlocal said
            listed = next(each["list"] for each in self.node.status()["resources"] if each["name"] == resource)
            said = next((each["reason"] for each in listed if each["id"] == device), "")
            return all(each in said for each in wanted)

        try:
            self.node.until(says, PATIENCE, f"{device} of {resource}")
        except TimedOut:
            raise Failed(f"{device} of {resource}: {said!r}, and not {wanted}") from None

    def freed(self, pod, resource, wanted):
        self.node.kubelet.ask(f"free {pod}")
        self.node.lists(resource, wanted, PATIENCE + CALMED)


def _nodes(response):
    return sorted(each["host_path"] for each in response["devices"])


def _node(number):
    return f"/dev/bus/usb/001/{number:03}"


def twins(node):
    """A stick that a pod holds, and another with the same serial number."""
    machine = Machine(node)
    machine.made.plug_in("2-1", *UART, "0001", 21)
    node.run(Entry(A, f'- {{name: {A}, groups: [{{usb: [{{vendor: "10c4"}}]}}]}}'))
    node.lists(A, {HELD: "Healthy"})
    first = machine.allocate("first")
    expect(first == ([HELD], [_node(21)]), f"the first pod has {first}")
    machine.while_down(lambda: machine.made.plug_in("2-2", *UART, "0001", 22), restarted=False)
    node.lists(A, 2)
    (newcomer,) = node.of(A).devices.keys() - {HELD}
    second = machine.allocate("second")
    expect(second == ([newcomer], [_node(22)]), f"the second pod has {second}")
    for restarted in (True, False):
        machine.while_down(lambda: None, restarted)
        expect(machine.allocate("first") == first, "the first pod is started with what it had")
        found = machine.answer(A, HELD), machine.answer(A, newcomer)
        expect(found == (first[1], second[1]), f"their ids are answered with {found}")
    machine.while_down(lambda: machine.made.unplug("2-1"), restarted=True)
    listed = node.of(A).devices
    expect(listed == {newcomer: "Healthy"}, f"without the first pod's stick {listed} are listed")
    expect(machine.answer(A, newcomer) == second[1], "the second pod's id is the second pod's stick")
    machine.refused("third")


def moved(node):
    """Another stick has the node that a pod's answer leads to."""
    machine, node_of = Machine(node), {}

    def plug_in(numbers):
        for port, number in numbers.items():
            if node_of:
                machine.made.unplug(port)
        for port, number in numbers.items():
            machine.made.plug_in(port, *UART, f"S{port[-1]}", number)
        node_of.update({f"10c4:ea60:S{port[-1]}": _node(number) for port, number in numbers.items()})

    plug_in({"2-1": 21, "2-2": 22})
    node.run(Entry(A, f'- {{name: {A}, groups: [{{usb: [{{vendor: "10c4"}}]}}]}}'))
    numbers = (22, 21)
    for restarted in (False, True):
        node.lists(A, 2)
        pod = f"pod-{restarted}"
        (held,), given = machine.allocate(pod)
        (other,) = node_of.keys() - {held}
        expect(given == [node_of[held]], f"{held} has {given}")
        swapped = dict(zip(("2-1", "2-2"), numbers))
        machine.while_down(lambda: plug_in(swapped), restarted)
        node.lists(A, {held: "Unhealthy", other: "Unhealthy"})
        machine.reason(A, held, f"default/{pod} was given {given[0]}", f"is {node_of[held]} now")
        machine.reason(A, other, f"held by default/{pod} as {A} {held}")
        machine.refused("second")
        machine.freed(pod, A, 2)
        for times in range(2):
            (device,), given = machine.allocate(f"new-{times}")
            expect(given == [node_of[device]], f"{device} has {given}")
        for times in range(2):
            machine.freed(f"new-{times}", A, 2)
        numbers = numbers[::-1]


def ledger(node):
    """Hardware that two entries list, and cards of one IOMMU group."""
    machine = Machine(node)
    machine.made.plug_in("2-1", *UART, "0001", 21)
    for address in "0000:00:03.0", "0000:00:03.1":
        machine.made.add_card(address, "10de", 7)
    entries = [
        Entry(A, f'- {{name: {A}, groups: [{{usb: [{{vendor: "10c4"}}]}}]}}'),
        Entry(B, f'- {{name: {B}, groups: [{{paths: [{{path: "{_node(21)}"}}]}}]}}'),
        Entry(CARD, f'- {{name: {CARD}, pci: {{vendors: ["10de"]}}}}'),
        Entry(OTHER, f'- {{name: {OTHER}, id: "other-{{id}}", pci: {{vendors: ["10de"]}}}}'),
    ]
    node.run(*entries)
    for resource, elsewhere, restarted in (A, B, True), (B, A, False), (CARD, OTHER, True), (OTHER, CARD, False):
        count = len(node.of(resource).devices)
        node.lists(resource, count)
        node.lists(elsewhere, count)
        pod = f"pod-of-{resource[12:]}"
        machine.allocate(pod, resource)
        node.lists(elsewhere, 0)
        machine.while_down(lambda: None, restarted)
        node.lists(elsewhere, 0)
        node.lists(resource, 1)
        for device in node.of(elsewhere).devices:
            machine.reason(elsewhere, device, f"held by default/{pod} ")
        machine.refused("second", elsewhere)
        if count > 1:
            (other,) = (each for each, health in node.of(resource).devices.items() if health == "Unhealthy")
            machine.reason(resource, other, f"its IOMMU group 7 is held by default/{pod} ")
            machine.refused("second", resource)
        machine.freed(pod, elsewhere, count)
