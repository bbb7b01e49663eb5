"""What became of the scenes, as a table for a person or a page."""

import dataclasses

from .scenes import Scene
from .trial import Trial

HEAD = ("scene", "load", "the loop's worst wait", "worst hot-plug", "pod", "status", "reload", "growth", "")


@dataclasses.dataclass
class Outcome:
    scene: Scene
    verdict: str  # passed, failed, not shown
    reason: str  # or, of one that passed without a trial, what was done
    trial: Trial | None
    seconds: float

    def text(self):
        if self.verdict != "passed" or not self.trial:
            return f"{self.verdict}: {self.reason}"
        trial = self.trial
        went_on = ", ".join(f"{what} {milliseconds(worst)}" for what, worst in trial.worst.items())
        notes = "".join(f"; {note}" for note in trial.notes)
        return f"passed: {load(trial)}; loop {wait(trial)}; worst {went_on}; {growth(trial)}{notes}"


def milliseconds(seconds):
    return f"{seconds * 1000:.0f} ms"


def load(trial):
    return ", ".join(f"{count:,} {what}" for what, count in trial.done.items())


def wait(trial):
    """The daemon's own, and in brackets with what the machine took."""
    own, whole = trial.loop["worst_own"], trial.loop["worst"]
    return milliseconds(own) if whole - own < 0.001 else f"{milliseconds(own)} ({milliseconds(whole)})"


def growth(trial):
    if not trial.warm:
        return ""
    grown = [now - then for now, then in zip(trial.end, trial.warm)]
    return f"{grown[0]:+} kB, {grown[1]:+} fds, {grown[2]:+} threads, {trial.end.zombies} zombies"


def table(outcomes):
    rows = [HEAD, ["---"] * len(HEAD)]
    for each in outcomes:
        trial, words = each.trial, f"{each.scene.words} ({each.seconds:.0f} s)"
        if not trial and each.verdict == "passed":
            rows.append([words, each.reason, *[""] * 6, "passed"])
            continue
        if each.verdict != "passed":
            rows.append([words, load(trial) if trial else "", *[""] * 6, f"{each.verdict}: {each.reason}"])
            continue
        went_on = [milliseconds(trial.worst.get(what, 0)) for what in ("hot-plug", "a pod", "status", "reload")]
        rows.append([words, load(trial), wait(trial), *went_on, growth(trial), "passed"])
    late = max((each.trial.loop["late"] for each in outcomes if each.trial and each.trial.loop), default=0)
    text = "".join(f"| {' | '.join(str(cell) for cell in row)} |\n" for row in rows)
    return f"{text}\nA bare thread beside it was late by at most {milliseconds(late)}."
