"""Time: the process stands still, and the wall clock jumps."""

import shutil
import signal
import struct
import subprocess
import time

from conformance.lines import NotShown

from .scenes import scene
from .trial import WELL

DAY = 86400
JUMPS = (DAY, -DAY, 30 * 365 * DAY, -time.time(), 1, -1, 0)

# The wall clock of a process, moved by as many seconds as a file says.
WALL_CLOCK = """\
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile long long *moved;

__attribute__((constructor)) static void map(void) {
  int fd = open(getenv("MOVED"), O_RDONLY | O_CLOEXEC);
  moved = mmap(0, sizeof *moved, PROT_READ, MAP_SHARED, fd, 0);
  close(fd);
}
int clock_gettime(clockid_t clock, struct timespec *now) {
  int result = (int)syscall(SYS_clock_gettime, clock, now);
  if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) now->tv_sec += moved ? *moved : 0;
  return result;
}
int gettimeofday(struct timeval *restrict now, void *restrict zone) {
  struct timespec exact;
  (void)zone;
  clock_gettime(CLOCK_REALTIME, &exact);
  now->tv_sec = exact.tv_sec;
  now->tv_usec = exact.tv_nsec / 1000;
  return 0;
}
time_t time(time_t *to) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (to) *to = now.tv_sec;
  return now.tv_sec;
}
"""


@scene("The daemon is stopped for a second or two while a kubelet dies, a device comes and it is to reload")
def stopped_process(trial):
    trial.start()
    for number in trial.rounds():
        with trial.loop_unwatched():
            trial.node.daemon.signal(signal.SIGSTOP)
            if number % 2:
                trial.node.replace_kubelet()
            (trial.files / f"meanwhile-{number}").touch()
            trial.hang_up()
            time.sleep(1 + number % 2)  # it is the load: a machine that slept
            trial.node.daemon.signal(signal.SIGCONT)
            trial.did("stops")
            trial.node.until(trial.attached, 10, "all resources are attached")
            trial.free_all()
        trial.node.lists(WELL, 2)
        (trial.files / f"meanwhile-{number}").unlink()
        trial.node.lists(WELL, 1)
        trial.go_on()


@scene("The wall clock jumps: a day, 30 years, to 1970, and back")
def wall_clock(trial):
    compiler = shutil.which("cc") or shutil.which("clang")
    if not compiler:
        raise NotShown("no C compiler, and so no clock that can be moved for one process")
    source, library, moved = (trial.node.root / name for name in ("clock.c", "clock.so", "moved"))
    source.write_text(WALL_CLOCK)
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", library, source], check=True)
    moved.write_bytes(struct.pack("=q", 0))
    trial.start(environment={"LD_PRELOAD": str(library), "MOVED": str(moved)})
    for number in trial.rounds(least=len(JUMPS)):
        beside = trial.files / f"beside-{number}"
        beside.touch()
        trial.node.lists(WELL, 2)
        with open(moved, "r+b") as file:
            file.write(struct.pack("=q", int(JUMPS[number % len(JUMPS)])))
        trial.did("jumps")
        beside.unlink()  # to be forgotten a second later
        trial.node.lists(WELL, 1)
        trial.go_on()
