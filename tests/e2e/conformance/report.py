"""One scenario's outcome, and the page of all of them."""

import datetime
import os
import platform
import statistics


class Outcome:
    def __init__(self, verdict, reason, node=None):
        self.verdict = verdict  # passed, failed, not shown
        self.reason = reason
        self.figures = node.figures if node else {}
        self.notes = node.notes if node else []
        self.broken = node.broken_rules() if node else []
        self.log = node.log()[-15:] if node and verdict == "failed" else []

    def text(self):
        lines = [self.verdict + (f": {self.reason}" if self.reason else "")]
        lines += self.notes
        for what, (limit, values) in self.figures.items():
            lines.append(f"{what}: {figure(values)}" + (f", limit {limit:g} s" if limit else ""))
        lines += [f"  | {each}" for each in self.log]
        return "\n                ".join(lines)


def figure(values):
    milliseconds = [value * 1000 for value in values]
    return f"{statistics.median(milliseconds):.1f} / {max(milliseconds):.1f} ms of {len(values)}"


MARKS = {"passed": "✓", "failed": "✗", "not shown": "–"}


INTRODUCTION = """
plughost's daemon against the kubelet's own device manager, which `tests/e2e/devicemanager` runs unchanged
from `k8s.io/kubernetes`. The lines are those of the kubelet contract (its §7). *By registry*: the kubelet
finds plughost's sockets in `plugins_registry`, instead of being called. ✓ passed, ✗ failed, – not shown.
"""
TRAPS = """
Beyond the list: the trap of §2 (an old stream's end takes the new one with it), provoked in every round, in
a random order with up to five of these: streams cancelled, sockets unlinked, reloads, kubelets killed and
restarted, the directory removed, kubelet.sock touched and renamed, other files, a daemon that sleeps or is
killed. After each round all devices are allocatable, and each resource admits a pod.

And a kubelet that is made to count wrong, of several resources at once: it forgets one, keeps an old list,
swallows a list or a stream's first one. plughost asks it what it counts (`GetAllocatableResources`) when a list
has changed, and registers anew what differs for 5 s: that resource, once. In no other scenario does it.

"""


def write_page(options, versions, lines, outcomes):
    footnotes = []

    def cell(number, version):
        outcome = outcomes[number, version]
        if not outcome.reason:
            return MARKS[outcome.verdict]
        if outcome.reason not in footnotes:
            footnotes.append(outcome.reason)
        return f"{MARKS[outcome.verdict]} [{footnotes.index(outcome.reason) + 1}](#notes)"

    def table(head, rows):
        yield "| " + " | ".join(head) + " |"
        yield "|" + "---|" * len(head)
        for row in rows:
            yield "| " + " | ".join(row) + " |"

    now = datetime.datetime.now(datetime.timezone.utc)
    page = [
        "# Conformance",
        "",
        f"Written on {now:%Y-%m-%d} by `{command(options)}`; not edited by hand.",
        "",
        *INTRODUCTION.strip().splitlines(),
        "",
        *table(
            ["line", "", "shown by", *versions],
            (
                [str(each.number), each.words, each.shown_by, *(cell(each.number, v) for v in versions)]
                for each in sorted(lines, key=lambda each: each.number)
            ),
        ),
        *table_of_traps(versions, cell, table),
        "",
        "## Notes",
        "",
        *(f"{number}. {one_line(text)}" for number, text in enumerate(footnotes, start=1)),
        "",
        "## Figures",
        "",
        "Median and worst, in milliseconds, and of how many.",
        f"On {platform.system()} {platform.release()}, {os.cpu_count()} processors.",
        "",
        *table(["line", "what", "limit", *versions], figures(versions, outcomes)),
        "",
        *(f"- Line {n}, {v}: {note}." for n, v, note in notes(versions, outcomes) if n == 46),
        *(f"- The traps, {v}: {note}." for n, v, note in notes(versions, outcomes) if n == "traps"),
        *(f"- Misled, {v}: {note}." for n, v, note in notes(versions, outcomes) if n == "misled"),
        *(f"- Reloads, {v}: {note}." for n, v, note in notes(versions, outcomes) if n == "reloads"),
        *(f"- Cards, {v}: {note}." for n, v, note in notes(versions, outcomes) if n == "cards"),
        *(f"- Converted, {v}: {note}." for n, v, note in notes(versions, outcomes) if n == "differential"),
    ]
    options.write.write_text("\n".join(page) + "\n")


def one_line(text):
    """A failure's story is in the run's output; the page has its beginning."""
    return text.splitlines()[0].replace("|", "\\|")


def table_of_traps(versions, cell, table):
    yield from TRAPS.splitlines()
    rows = {
        "never stuck": "traps",
        "put right within 10 s, and no registration without need": "misled",
        "1,000 reloads that each change something: memory does not grow": "reloads",
        "taken over from a plugin with other ids: what its pod holds is given to nobody until it has gone": "adopt",
        "the same from generic-device-plugin": "adopt peer",
        "two sticks with one serial number: who was first keeps its id and its nodes, with the kubelet down meanwhile": "twins",
        "a pod's node is another stick's now: nobody is given either until the pod has gone": "moved",
        "what two entries list, and cards of one IOMMU group: given once": "ledger",
        "one resource from several entries: each device as its own says, while the directory of one hangs": "parts",
        "units of cards of 16 and 80 GiB are one card's; one card in two entries is refused; `emptyAtStop` counts at once; "
        "shares of 8 devices are of 8": "cards",
        "generic-device-plugin's configurations, converted: the same names, counts and nodes, or a difference that "
        "[migrate.md](migrate.md#what-differs-from-generic-device-plugin) names": "differential",
    }
    yield from table(["", *versions], [[words, *(cell(n, v) for v in versions)] for words, n in rows.items()])


def figures(versions, outcomes):
    rows = {}
    for (number, version), outcome in outcomes.items():
        for what, (limit, values) in outcome.figures.items():
            rows.setdefault((number, what, limit), {})[version] = figure(values).replace(" ms", "")
    for (number, what, limit), by_version in sorted(
        rows.items(), key=lambda row: (str(row[0][0]).zfill(5), row[0][1])
    ):
        yield [
            str(number),
            what,
            f"{limit * 1000:g}" if limit else "",
            *(by_version.get(v, "") for v in versions),
        ]


def notes(versions, outcomes):
    told = (46, "traps", "misled", "reloads", "cards", "differential")
    return [(n, v, one_line(note)) for v in versions for n in told for note in outcomes[n, v].notes]


def command(options):
    words = ["tests/e2e/conformance/run", f"--restarts {options.restarts}", f"--traps {options.traps}"]
    words += [f"--misled {options.misled}", f"--fewer {options.fewer}", f"--seed {options.seed}"]
    words += [f"--write {options.write}"]
    words += [f"--version {version}" for version in options.version]
    return " ".join(words)
