"""One resource from several entries: each device as its own entry says, whatever becomes of the others."""

import time

from hung_files import HungFiles, own_mounts

from .kubelet import PATIENCE, Refused
from .lines import NotShown, expect
from .node import counted, listed

A, B = "example.com/a", "example.com/b"
DEADLINE = 5  # seconds that a look may take


def parts(node):
    if reason := own_mounts():
        raise NotShown(reason)
    hung, well = node.root / "hung", node.root / "well"
    for directory in hung, well:
        directory.mkdir()
    files = HungFiles(hung, ["one"])
    node.at_close(files.close)
    (well / "two").touch()

    def entries(of_hung="", *more):
        return (
            listed(A, hung, f'env: {{"FROM_{{n}}": hung{of_hung}}}'),
            listed(A, well, 'env: {"FROM_{n}": well}'),
            counted(B, 1),
            *more,
        )

    def answer(*devices):
        return node.kubelet.ask(f"call {A} allocate {' '.join(devices)}")["container_responses"][0]["envs"]

    def given(device):
        """Its variables, or why it is refused."""
        try:
            return answer(device)
        except Refused as error:
            return str(error)

    def looks_hang(start):
        node.daemon.wait_for_line(lambda text: "takes too long" in text and A in text, PATIENCE + DEADLINE, start)

    node.run(*entries())
    node.lists(A, {"one": "Healthy", "two": "Healthy"})
    expect(answer("one", "two") == {"FROM_0": "hung", "FROM_1": "well"}, "a container has each device's own variables")

    # One that comes, and one that goes: a list each, and no registration.
    third = node.root / "third"
    third.mkdir()
    (third / "three").touch()
    node.reload(*entries("", listed(A, third)))
    node.lists(A, {"one": "Healthy", "two": "Healthy", "three": "Healthy"})
    node.reload(*entries())
    node.lists(A, {"one": "Healthy", "two": "Healthy", "three": "Unhealthy"})
    expect(node.registrations(A) == 1 and node.of(A).live, "its stream is the first one")

    files.hang()
    start = node.daemon.mark()
    node.reload(*entries(", MORE: more"))  # makes it look
    looks_hang(start)
    changed = time.monotonic()
    (well / "four").touch()
    (well / "two").unlink()
    node.lists(A, {"one": "Healthy", "two": "Unhealthy", "three": "Unhealthy", "four": "Healthy"})
    node.measure("beside a part that hangs: another's device comes and goes", time.monotonic() - changed, limit=1)
    expect(answer("four") == {"FROM_0": "well"}, "a device of another entry is given")
    expect("its device scan has not ended" in given("one"), f"one: {given('one')}")

    files.answer()
    node.until(lambda: given("one") == {"FROM_0": "hung", "MORE": "more"}, PATIENCE, "it is given when its directory answers")

    # What has not been seen since the start is not listed, and is waited for as long as a look may take.
    node.end_daemon()
    files.hang()
    node.start_daemon()
    node.attached()
    node.lists(A, {"four": "Healthy"})
    files.answer()
    node.lists(A, {"one": "Healthy", "four": "Healthy"})
    expect(answer("one") == {"FROM_0": "hung", "MORE": "more"}, "it is given when its directory answers")
    expect(node.registrations(A) == 2, "one registration for each start")
