"""What of a process may not grow."""

import os
from typing import NamedTuple


class Vitals(NamedTuple):
    kilobytes: int  # private memory: pages that are neither a file's nor shared (RssAnon)
    descriptors: int
    threads: int
    zombies: int  # children that nobody has reaped

    def __str__(self):
        return f"{self.kilobytes} kB, {self.descriptors} fds, {self.threads} threads, {self.zombies} zombies"


def vitals(pid):
    with open(f"/proc/{pid}/status") as file:
        status = dict(line.split(":", 1) for line in file)
    zombies = 0
    for each in os.listdir("/proc"):
        if each.isdigit():
            try:
                with open(f"/proc/{each}/stat") as file:
                    state, parent = file.read().rpartition(")")[2].split()[:2]
            except OSError:
                continue  # gone meanwhile
            zombies += state == "Z" and int(parent) == pid
    return Vitals(
        int(status["RssAnon"].split()[0]),
        len(os.listdir(f"/proc/{pid}/fd")),
        int(status["Threads"]),
        zombies,
    )
