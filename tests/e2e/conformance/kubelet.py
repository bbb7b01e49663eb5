"""A real device manager in a process of its own: what it said, and questions to it."""

import collections
import dataclasses
import datetime
import json
import threading
import time

from process import Process, TimedOut

from .rules import Rules

PATIENCE = 20  # seconds for what has no limit in the contract
CALMED = 12  # seconds after a kubelet's start in which its word about pods is not final
ENDING = threading.Event()  # the whole run is being ended: whatever waits shall fail


class Interrupted(Exception):
    """The whole run is being ended."""


class Refused(Exception):
    """The kubelet's answer was an error."""


def version_of(program):
    """Of Kubernetes, of which a device manager is: (1, 36)."""
    return tuple(map(int, program.name.removeprefix("kubelet-").split(".")[:2]))


@dataclasses.dataclass
class Attachment:
    """One resource, as this kubelet sees it."""

    registrations: list = dataclasses.field(default_factory=list)  # when each request came
    connected: list = dataclasses.field(default_factory=list)  # when each stream was about to open
    listed: list = dataclasses.field(default_factory=list)  # when each list was taken in
    devices: dict = dataclasses.field(default_factory=dict)  # health by id, in the last list
    socket: str = ""
    options: tuple = ()  # preStart, getPreferredAllocation
    live: bool = False  # there is a stream
    fed: bool = False  # and it brought a list
    late: bool = False  # the last list was taken in when its stream had ended, and counts until the next one


class Kubelet:
    """For one thread. The events are read when something is waited for or asked."""

    def __init__(self, program, directory, flags=(), waits=False, wire=True):
        """waits: there is no manager until start(). wire: wire() tells of calls, which takes time."""
        more = ["-wire"] * wire + ["-wait"] * waits
        self.process = self._begin(program, directory, [*more, *flags])
        self.events = []
        self.complaints = []  # lines that are no events
        self.resources = collections.defaultdict(Attachment)
        self.rules = Rules(several=version_of(program) >= (1, 37))
        self.started_at = None  # of the newest manager
        self._stopped = 0  # the number of the newest manager that has
        self._read = 0
        self._sent = 0
        self._answers = {}
        if not waits:
            self.until(lambda: self.started_at, PATIENCE, "a kubelet's start")

    def _begin(self, program, directory, flags):
        return Process([program, "-directory", directory, *flags])

    def ready(self):
        """Waits until a process that waits for start() has started itself."""
        try:
            self.ask("capacity")
        except Refused:
            pass  # there is no manager yet

    def start(self):
        self.started_at = None
        self.tell("start")
        self.until(lambda: self.started_at, PATIENCE, "a kubelet's start")

    def restart(self):
        """Within the process: streams and socket end in order."""
        self.ask("restart")

    def kill(self):
        self.process.close()
        self.catch_up()

    def until(self, condition, seconds, what):
        """Waits until condition(), a function of what the kubelet said, is true, and returns its value."""
        end = time.monotonic() + seconds
        self.catch_up()
        while not (value := condition()):
            left = end - time.monotonic()
            if ENDING.is_set():
                raise Interrupted()
            if not self.process.running():
                raise TimedOut(f"{what}: the kubelet's process has ended: {self.complaints[-1:]}")
            if left <= 0:
                raise TimedOut(f"{what}: not within {seconds:g} s")
            try:
                self.process.wait_for_line(lambda line: True, min(left, 0.5), self._read)
            except TimedOut:
                pass  # looked at above
            self.catch_up()
        return value

    def never(self, condition, seconds):
        """Watches for so long whether condition() stays false."""
        try:
            self.until(condition, seconds, "watched")
        except TimedOut:
            return self.process.running()
        return False

    def catch_up(self):
        lines = self.process.lines(self._read)
        self._read += len(lines)
        for line in lines:
            if line.startswith("{"):
                self._take(json.loads(line))
            else:
                self.complaints.append(line)

    def _take(self, said):
        said["at"] = datetime.datetime.fromisoformat(said["time"]).timestamp()
        if "answer" in said:
            self._answers[said["line"]] = said
            return
        self.events.append(said)
        # A manager that has stopped may still take in what was under way, and tell of no end.
        if "resource" in said and said["kubelet"] <= self._stopped:
            return
        self.rules.take(said)
        kind, at = said["event"], said["at"]
        if kind == "started":
            self.started_at = at
        elif kind == "stopping":
            self.resources.clear()
            self._stopped = said["kubelet"]
        elif kind == "log" and said["log"]["msg"].startswith("Got registration request"):
            self.resources[said["log"]["resourceName"]].registrations.append(at)
        if "resource" not in said:
            return
        resource = self.resources[said["resource"]]
        if kind == "connected":
            resource.connected.append(at)
            resource.socket = said["socket"]
            resource.options = (said["preStart"], said["getPreferredAllocation"])
            resource.live, resource.fed = True, False
        elif kind == "listed":
            resource.listed.append(at)
            resource.devices = {device["id"]: device["health"] for device in said["devices"]}
            resource.fed = resource.live
            resource.late = not resource.live
        elif kind == "disconnected":
            if not said.get("left"):  # from 1.37 on others may be left
                resource.live = resource.fed = False

    def tell(self, command):
        """Sends a command, and returns the number by which answer() finds what became of it."""
        self._sent += 1
        self.process.write(command)
        return self._sent

    def answer(self, number, seconds=PATIENCE):
        said = self.until(lambda: self._answers.get(number), seconds, f"an answer to command {number}")
        if "error" in said:
            raise Refused(said["error"])
        return said.get("result")

    def ask(self, command, seconds=PATIENCE):
        return self.answer(self.tell(command), seconds)

    def allocatable(self):
        return self.ask("capacity")["allocatable"]

    def is_attached(self, names):
        self.catch_up()
        return all(self.resources[name].fed for name in names)

    def story(self, names, length=40):
        """The last that happened to these resources, as lines for a person."""
        told = []
        for event in self.events:
            name = (
                event.get("resource")
                or event.get("log", {}).get("resourceName")
                or event.get("log", {}).get("resource")
            )
            if event["event"] in ("started", "stopping") or name in names:
                words = event.get("log", {}).get("msg", "")
                told.append(f"{event['time'][14:26]} {event['event']} {name or ''} {words}")
        return told[-length:]

    def last_list_came_in(self):
        """When a message of a ListAndWatch came in last."""
        streams, last = set(), 0
        for event in self.events:
            if event["event"] != "wire":
                continue
            call = event["by"], event["call"]
            if event["step"] == "CLIENT_HEADER" and event["method"].endswith("/ListAndWatch"):
                streams.add(call)
            if event["step"] == "SERVER_MESSAGE" and call in streams:
                last = event["at"]
        return last

    def wire(self, method):
        """The calls of a method, in their order: dictionaries from step to event, each step's first."""
        calls = {}
        for event in self.events:
            if event["event"] != "wire":
                continue
            call = event["by"], event["call"]
            if event["step"] == "CLIENT_HEADER" and event["method"].endswith("/" + method):
                calls[call] = {}
            if call in calls:
                calls[call].setdefault(event["step"], event)
        return list(calls.values())
