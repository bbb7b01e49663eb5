"""Sticks, links and cards that are plugged and moved at random, against a model: the hot-plug tests' own, with new seeds."""

import concurrent.futures
import os
import random
import re
import subprocess
import sys
import threading

from .scenes import Scene

STEPS = 500  # of one run of the test, which begins with another seed
AT_ONCE = 2
NOT_SHOWN = 77
SCENE = Scene("plugging", "Sticks, links and cards are plugged and moved at random, against a model", 0, None)
_CASE = "whatever is plugged and moved*"


class Runs:
    def __init__(self, program, count):
        self.program = program
        self.seeds = random.sample(range(1, 1 << 31), count)
        self._running, self._lock = set(), threading.Lock()

    def show(self):
        """The verdict, and its words."""
        if not self.program.is_file():
            return "not shown", f"{self.program} is not built"
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            try:
                done = list(pool.map(self._run, self.seeds))
            except KeyboardInterrupt:
                self._end()
                raise
        if failed := [(seed, text) for seed, (code, text) in zip(self.seeds, done) if code not in (0, NOT_SHOWN)]:
            for seed, text in failed:
                print(text, file=sys.stderr)
            again = f"PLUGHOST_PLUGGING_STEPS={STEPS} PLUGHOST_PLUGGING_SEED={failed[0][0]} {self.program} -tc='{_CASE}'"
            return "failed", f"with {len(failed)} of {len(done)} seeds; again: {again}"
        if hidden := [text for code, text in done if code == NOT_SHOWN]:
            return "not shown", hidden[0].strip()
        counts = [re.search(r"(\d+) pods were given something, (\d+) of their ids", text).groups() for _, text in done]
        pods, asked = (sum(map(int, column)) for column in zip(*counts))
        seeds = ", ".join(map(str, self.seeds))
        steps = STEPS * len(done)
        return "passed", f"{steps:,} steps, {pods:,} pods, {asked:,} ids asked for again; seeds {seeds}"

    def _run(self, seed):
        told = {"PLUGHOST_PLUGGING_STEPS": str(STEPS), "PLUGHOST_PLUGGING_SEED": str(seed)}
        command = [self.program, f"-tc={_CASE}"]
        process = subprocess.Popen(
            command, env={**os.environ, **told}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        with self._lock:
            self._running.add(process)
        text = process.communicate()[0]
        with self._lock:
            self._running.discard(process)
        return process.returncode, text

    def _end(self):
        with self._lock:
            for process in self._running:
                process.terminate()
