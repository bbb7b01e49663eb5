"""Sticks, links and cards that are plugged and moved at random, against a model: the hot-plug tests' own, with new seeds."""

import contextlib
import random
import re
import sys

from process import Process, TimedOut

from .scenes import Scene

STEPS = 500  # of one run of the test, which begins with another seed
AT_ONCE = 2
LONGEST = 600  # seconds for a run
NOT_SHOWN = 77
SCENE = Scene("plugging", "Sticks, links and cards are plugged and moved at random, against a model", 0, None)
_CASE = "whatever is plugged and moved*"
_COUNTS = re.compile(r"(\d+) pods were given something, (\d+) of their ids")


class Runs:
    def __init__(self, program, count):
        self.program = program
        self.seeds = random.sample(range(1, 1 << 31), count)

    def show(self):
        """The verdict, and its words."""
        if not self.program.is_file():
            return "not shown", f"{self.program} is not built"
        pods = asked = 0
        for first in range(0, len(self.seeds), AT_ONCE):
            with contextlib.ExitStack() as ends:
                runs = {seed: ends.enter_context(self._begin(seed)) for seed in self.seeds[first : first + AT_ONCE]}
                for seed, run in runs.items():
                    code, counts = _end_of(run)
                    if code == NOT_SHOWN:
                        return "not shown", run.lines()[-1]
                    if code != 0 or not counts:
                        print(*run.lines(), sep="\n", file=sys.stderr)
                        told = " ".join(f"{name}={value}" for name, value in _told(seed).items())
                        return "failed", f"exit code {code}; again: {told} {self.program} -tc='{_CASE}'"
                    pods, asked = pods + int(counts[1]), asked + int(counts[2])
        steps, seeds = STEPS * len(self.seeds), ", ".join(map(str, self.seeds))
        return "passed", f"{steps:,} steps, {pods:,} pods, {asked:,} ids asked for again; seeds {seeds}"

    def _begin(self, seed):
        return Process([self.program, f"-tc={_CASE}"], _told(seed))


def _told(seed):
    return {"PLUGHOST_PLUGGING_STEPS": str(STEPS), "PLUGHOST_PLUGGING_SEED": str(seed)}


def _end_of(run):
    """The exit code, and what the run has counted if it came so far."""
    with contextlib.suppress(TimedOut):
        run.wait_for_line(lambda line: "[doctest] Status" in line, LONGEST)
    code = run.wait(LONGEST)
    return code, next(filter(None, map(_COUNTS.search, run.lines())), None)
