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
from `k8s.io/kubernetes`. *By registry*: the kubelet finds plughost's sockets in `plugins_registry`, instead of
being called; of the newest version alone. *Older*: versions that Kubernetes no longer supports; a mark stands for
each that is not named beside it. ✓ passed, ✗ failed, – not shown.
"""
TRAPS = """
In the traps an old stream's end would, to 1.36, take the new one with it. Each round provokes that, in a random order with up
to five of these: streams cancelled, sockets unlinked, reloads, kubelets killed and restarted, the directory removed,
kubelet.sock touched and renamed, other files, a daemon that sleeps or is killed. After each round all devices are
allocatable, and each resource admits a pod.

The daemon is killed and started again 5 to 50 ms later, with 32 resources, on a kubelet that serves no pod
resources and in every other round is stopped until the new daemon has started. Then every resource is allocatable and
admits a pod.

A misled kubelet counts wrong, of several resources at once: it forgets one, keeps an old list, swallows a list or a
stream's first one. plughost asks it what it counts (`GetAllocatableResources`) when a list has changed, and registers
again what differs for 5 s: that resource, once. In no other scenario does it.
"""

# What the contract's list does not have.
BEYOND = {
    "traps: never stuck": "traps",
    "killed and started again within 50 ms: every resource admits a pod": "kills",
    "upgraded 1,000 times while pods are admitted, every tenth time by a program that fails: from 1.37 on every device is counted "
    "throughout": "upgrades",
    "a kubelet is killed during a hand-over, 200 times: every resource admits a pod": "hand-overs",
    "misled: put right within 10 s, and no registration without need": "misled",
    "1,000 reloads that each change something: memory does not grow": "reloads",
    "taken over from a plugin with other ids: a device that its pod holds is not given until the pod has gone": "adopt",
    "the same from generic-device-plugin": "adopt peer",
    "two sticks with one serial number: the first keeps its id and its nodes, with the kubelet down meanwhile": "twins",
    "a pod's node is another stick's now: neither is given until the pod has gone": "moved",
    "what two entries list, and cards of one IOMMU group: given once": "ledger",
    "one resource from several entries: each device as its own says, while the directory of one hangs": "parts",
    "units of cards of 16 and 80 GiB are one card's; one card in two entries is refused; `emptyAtStop` counts at once; "
    "shares of 8 devices are of 8": "cards",
    "generic-device-plugin's configurations, converted: the same names, counts and nodes, or a difference that "
    "[migrate.md](migrate.md#what-differs-from-generic-device-plugin) names": "differential",
}


def write_page(options, registry, older, lines, outcomes):
    """registry: the newest version's runs by registry. older: versions that have one column together."""
    verdicts = Verdicts(outcomes)
    newest, *others = options.version
    oldest = [version for version in others if version in older]
    called = {version: [version] for version in options.version if version not in oldest}
    if oldest:
        called[f"older ({oldest[-1]} to {oldest[0]})"] = oldest
    columns = {newest: [newest], "by registry": [registry], **called}
    page = [
        "# Conformance",
        "",
        f"Written on {datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d} by `{command(options, older)}`; not edited by hand.",
        "",
        *INTRODUCTION.strip().splitlines(),
        "",
        *table(
            ["line", "of the kubelet contract", "shown by", *columns],
            (
                [str(each.number), each.words, each.shown_by, *verdicts.cells(each.number, columns)]
                for each in sorted(lines, key=lambda each: each.number)
            ),
        ),
        "",
        "Beyond the contract, not by registry:",
        "",
        *table(["what", *called], ([words, *verdicts.cells(number, called)] for words, number in BEYOND.items())),
        *TRAPS.splitlines(),
        "",
        "## Notes",
        "",
        *(f"{number}. {text}" for number, text in enumerate(verdicts.footnotes, start=1)),
        "",
        "## Figures",
        "",
        "In milliseconds: the versions' medians, the worst of all, and of how many.",
        f"On {platform.system()} {platform.release()}, {os.cpu_count()} processors.",
        "",
        *table(["line", "what", "limit", "", "by registry"], figures(registry, outcomes)),
        "",
        f"Of {newest}" + (f"; the others had at most {options.fewer} rounds:" if others else ":"),
        "",
        *(
            f"- {f'Line {number}' if number == 46 else number.capitalize()}: {one_line(note)}."
            for number in (46, "traps", "kills", "upgrades", "hand-overs", "misled", "reloads", "cards", "differential")
            for note in outcomes[number, newest].notes
        ),
    ]
    options.write.write_text("\n".join(page) + "\n")


def table(head, rows):
    yield "| " + " | ".join(head) + " |"
    yield "|" + "---|" * len(head)
    for row in rows:
        yield "| " + " | ".join(row) + " |"


class Verdicts:
    """Marks of lines, and the notes to which they refer."""

    def __init__(self, outcomes):
        self.outcomes = outcomes
        self.footnotes = []

    def cells(self, number, columns):
        return [self._cell(number, versions) for versions in columns.values()]

    def _cell(self, number, versions):
        """The mark that most of the versions have, and the others with their names."""
        by_mark = {}
        for version in versions:
            by_mark.setdefault(self.mark(self.outcomes[number, version]), []).append(version)
        most, *others = sorted(by_mark, key=lambda mark: -len(by_mark[mark]))
        return "; ".join([most, *(f"{', '.join(by_mark[mark])} {mark}" for mark in others)])

    def mark(self, outcome):
        if not outcome.reason:
            return MARKS[outcome.verdict]
        reason = one_line(outcome.reason)
        if reason not in self.footnotes:
            self.footnotes.append(reason)
        return f"{MARKS[outcome.verdict]} [{self.footnotes.index(reason) + 1}](#notes)"


def one_line(text):
    """A failure's story is in the run's output; the page has its beginning."""
    return " ".join(text.splitlines()[0].split()).replace("|", "\\|")


def figures(registry, outcomes):
    rows = {}
    for (number, version), outcome in outcomes.items():
        for what, (limit, values) in outcome.figures.items():
            columns = rows.setdefault((str(number).zfill(5), what, limit), ([], []))
            columns[version == registry].append([value * 1000 for value in values])
    for (number, what, limit), columns in sorted(rows.items(), key=lambda row: row[0][:2]):
        yield [number.lstrip("0"), what, f"{limit * 1000:g}" if limit else "", *(together(each) for each in columns)]


def together(runs):
    """Of one figure in several versions: the least and the largest median, the worst value, and how many there were."""
    if not runs:
        return ""
    medians = sorted({f"{statistics.median(run):.1f}" for run in runs}, key=float)
    between = " to ".join(medians[:1] + medians[1:][-1:])
    return f"{between}; {max(map(max, runs)):.1f} of {sum(map(len, runs))}"


def command(options, older):
    words = ["tests/e2e/conformance/run", f"--restarts {options.restarts}", f"--traps {options.traps}"]
    words += [f"--kills {options.kills}", f"--upgrades {options.upgrades}"]
    words += [f"--misled {options.misled}", f"--fewer {options.fewer}", f"--seed {options.seed}"]
    words += [f"--write {options.write}"]
    words += ["--older"] if options.older else []
    words += [f"--version {version}" for version in options.version if not (options.older and version in older)]
    return " ".join(words)
