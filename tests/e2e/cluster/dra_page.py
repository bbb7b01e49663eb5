"""The lines of Dynamic Resource Allocation in docs/conformance.md: each, what shows it, and with what result."""

import dataclasses
import datetime
import functools
import pathlib
import re

TESTS = pathlib.Path(__file__).resolve().parents[2]
TITLE = "## Dynamic Resource Allocation"
MARKS = {"passed": "✓", "FAILED": "✗", "not shown": "–"}
INTRODUCTION = """
What a driver promises the kubelet, the scheduler and the API server, line by line. Shown in a cluster that `tests/e2e/cluster/run --dra`
makes: etcd, Kubernetes' own servers with their defaults (the Node and RBAC authorizers, NodeRestriction), and nodes with containerd 2.2.9,
a kubelet and plughost. ✓ each replay of the line passed, ✗ one failed, – one was not run or cannot be shown there (its row below says which);
a line without a replay is shown by tests of `./dev test` alone, with a stand-in for the kubelet and for the API server.
""".strip()


@dataclasses.dataclass(frozen=True)
class Line:
    number: int
    words: str
    replays: tuple = ()
    tests: tuple = ()  # parts of the names of test cases


LINES = (
    Line(1, "GetInfo within 1 s from the moment the socket's name exists; v1 before v1beta1; health named only if served.", ("dra-registration", "dra-asked")),
    Line(2, "Registered within 3 s of a start, plughost's or the kubelet's.", ("dra-registration", "dra-kubelet-restart")),
    Line(3, "The kubelet restarts: all slices are back within 1 s of its wipe, and of a late second one.", ("dra-kubelet-restart",)),
    Line(4, "A slice deleted by hand is back within 1 s; edited by hand, repaired; foreign ones untouched.", ("dra-slice-deleted",)),
    Line(5, "plughost restarted by SIGKILL: registered in 3 s, slices never wiped, nothing written if nothing changed.", ("dra-plughost-killed",)),
    Line(6, "API server away: plugin resources unaffected; prepared claims answered; others wait, then an error that says so before 45 s.",
         ("dra-api-away", "dra-sandbox", "dra-claim-waits"), tests=("an API server that is away is asked again, until it is there",)),
    Line(7, "Away and back: one list, only differing slices written.", ("dra-api-away",)),
    Line(8, "410 in both forms; a watch that is silent is renewed.", ("dra-history",),
         tests=("both forms of 410 list anew at once, and what comes is a full replacement",
                "410 in both forms is one list more, and what was done to slices meanwhile is put right",
                "a watch asks the server for an end within five to six minutes, and is dead after seven in silence",
                "a watch that says nothing for too long is made anew, from where it was")),
    Line(9, "Rotated certificate, replaced kubeconfig: used without a restart.", ("dra-credentials",)),
    Line(10, "No credentials at start: plugins serve; DRA begins within 1 s of the file's coming.", ("dra-credentials",)),
    Line(11, "100 hotplugs in 1 s: at most 10 writes; one changed device: one.", ("dra-hotplug",),
         tests=("dra: a thousand hotplugs lose nothing, are few writes, and plugins do not notice",)),
    Line(12, "Never a moment with a missing slice, wrong count or doubled name in a pool that only changes content.", ("dra-hotplug",),
         tests=("whatever happens, a pool that only changes its content is whole, and all is right in the end",)),
    Line(13, "Devices over a slice's limit are split; limits are errors of the configuration, with line, before any request.", ("dra-growth",),
         tests=("a pool has slices of 64 devices, and one if it has none", "a device has 32 attributes and capacities together, and a DNS label as its name",
                "bad configurations are refused in the words that are written beside them")),
    Line(14, "Dropped fields: noticed, logged once, fallback in use, no loop.", ("dra-gates-off",),
         tests=("what the API server drops is noticed and not written again",)),
    Line(15, "Each uid is answered once; wrong uid, no allocation, unknown device: an error for that claim only.", ("dra-asked",),
         tests=("dra: a claim that cannot be is refused with a sentence, and the others are not",
                "a claim that is not the one that was asked for is refused, and one without our devices",
                "an unknown device is waited for within the kubelet's call, and is an error of its claim alone")),
    Line(16, "The same claim twice, also at once: same answer, one effect.", ("dra-shared", "dra-asked"),
         tests=("one claim that is asked for twice at once has one effect and two answers",)),
    Line(17, "After a reboot (empty /run, old kubelet state) the pod runs again.", ("dra-reboot",)),
    Line(18, "Kubelet restart and a new sandbox: the container's CDI names still resolve.", ("dra-kubelet-restart", "dra-sandbox")),
    Line(19, "A device that is Unhealthy, gone or held at prepare is waited for up to 30 s; then a sentence.", ("dra-device-waits", "dra-device-missing")),
    Line(20, "Two claims never hold an exclusive device; adminAccess may.", ("dra-shared", "dra-admin"),
         tests=("two claims that are asked for at once never have one device",)),
    Line(21, "Unprepare of an unknown claim succeeds; a deleted claim needs no GET; order and repetition free.", ("dra-asked", "dra-given-back"),
         tests=("an unknown claim is given back already, and one is given back as often as the kubelet likes",
                "dra: a claim of an entry that is no more can be given back, also by the next plughost")),
    Line(22, "Kubelet state lost: leftovers of claims that no pod holds are cleared in 10 min, none earlier.", ("dra-leftovers",),
         tests=("a claim that is gone is cleared after it was found so twice", "a claim that a pod has is not cleared, nor one that the kubelet knows")),
    Line(23, "Containers get exactly their requests' devices, also by `firstAvailable`.", ("dra-claim", "dra-template")),
    Line(24, "share_id echoed; consumed capacity reaches the container; the sum stays within the capacity.", ("dra-replicas", "dra-memory"),
         tests=("claims share a device up to its last share, and no further",)),
    Line(25, "A held device that vanishes stays in its slice, tainted; replug takes the taint away.", ("dra-unhealthy",)),
    Line(26, "Unhealthy: taint or withdrawal within 1 s, pod status within 2 s; recovery, too.", ("dra-unhealthy", "dra-drained", "dra-evict")),
    Line(27, "The first CDI name is another one for each device; all resolve before the answer.", ("dra-claim",)),
    Line(28, "An old pod (`limits`) runs by DRA on a node with `advertise: dra`, and by the plugin on another.", ("dra-extended",)),
    Line(29, "Leaving `plugin` for `dra` removes the zero key.", ("dra-move",)),
    Line(30, "One device is never in both lists, in any order of reloads.", ("dra-move",)),
    Line(31, "Reload: only changed pools are written; a removed entry's slices go, unless claims hold its devices.", ("dra-growth", "dra-move")),
    Line(32, "SIGTERM: own sockets unlinked, slices left; they go 30 s later.", ("dra-stopped",)),
    Line(33, "Two old health streams: the newest state stands 5 s after one ends.", ("dra-health-streams",),
         tests=("what readers know is told once more after one has come or gone",)),
    Line(34, "1,000 devices: start to published below 2 s.", ("dra-thousand",)),
    Line(35, "A Node deleted and made again: slices have the new owner.", ("dra-node-remade",)),
)
BEYOND = ("Beyond the list, `dra-faults` and `dra-faults-long`: faults in random order: afterwards slices equal the devices and every claim resolves. "
          "`dra-account`: what `plughost dra rbac` prints is enough, and for the slices of one node alone. "
          "`dra-net`: a network interface that pods have, one after the other.")


def write_page(path, version, docs, outcomes):
    """Writes the section into the page. outcomes: of this run, replay → (verdict, words); docs: what each replay shows.

    What the page has of other versions, and of replays that were not run now, stays, with its date.
    """
    page = path.read_text()
    before, _, old = page.partition(f"\n{TITLE}\n")
    known = _rows(old)
    today = f"{datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d}"
    for name, (verdict, words) in outcomes.items():
        known[name, version] = (MARKS[verdict], today, " ".join(words.replace("|", "\\|").split()))
    versions = sorted({version for _, version in known}, key=lambda text: [int(part) for part in text.split(".")], reverse=True)
    path.write_text(f"{before.rstrip()}\n\n{TITLE}\n\n{INTRODUCTION}\n\n" + "\n".join(_tables(versions, known, docs)) + "\n")


def _rows(text):
    """The results that the page has already: (replay, version) → mark, date, words."""
    pattern = re.compile(r"^\| (dra-\S+) \| ([0-9.]+) \| ([✓✗–]) \| (\S+) \| (.*) \|$", re.MULTILINE)
    return {(name, version): (mark, date, words) for name, version, mark, date, words in pattern.findall(text)}


def _tables(versions, known, docs):
    yield from _table(["line", "", "shown by", *versions], (
        [str(line.number), line.words, _shown_by(line), *(_cell(line, version, known) for version in versions)] for line in LINES))
    yield from ("", BEYOND, "", "### The replays", "")
    yield from _table(["replay", "Kubernetes", "", "on", "figures"], (
        [name, version, *known[name, version]] for name in docs for version in versions if (name, version) in known))
    yield from ("", *(f"- `{name}`: {text}." for name, text in docs.items() if any(each == name for each, _ in known)))


def _table(head, rows):
    yield "| " + " | ".join(head) + " |"
    yield "|" + "---|" * len(head)
    for row in rows:
        yield "| " + " | ".join(row) + " |"


def _shown_by(line):
    _require_tests(line)
    return ", ".join([*(f"`{name}`" for name in line.replays), *(f"“{name}”" for name in line.tests)])


@functools.cache
def _all_tests():
    return "\n".join(source.read_text() for source in TESTS.rglob("*_test.cpp"))


def _require_tests(line):
    """Who renames a test renames it here."""
    for name in line.tests:
        if name not in _all_tests():
            raise ValueError(f"line {line.number}: no test case is called {name!r}")


def _cell(line, version, known):
    if not line.replays:
        return "tests" if line.tests else "–"
    marks = [known.get((name, version), ("–",))[0] for name in line.replays]
    return next((mark for mark in ("✗", "–") if mark in marks), "✓")
