"""plughost's stand-in for the kubelet, where the real device manager is not built: the same questions."""

import time

from conformance.kubelet import PATIENCE, Kubelet, Refused
from process import Process


class StandIn(Kubelet):
    """For one thread."""

    def __init__(self, program, directory):
        self._replies = []
        super().__init__(program, directory)

    def _begin(self, program, directory, flags):
        return Process([program, "--json", "--stay", "--plugin-directory", directory])

    def _take(self, said):
        if "answer" in said:
            self._replies.append(said)
            return
        kind, now = said["event"], time.time()
        if kind == "listening":
            self.started_at = now
        if not said.get("resource"):
            return
        resource = self.resources[said["resource"]]
        if kind == "registered":
            resource.registrations.append(now)
        elif kind == "streamOpened":
            resource.live, resource.fed = True, False
        elif kind == "list":
            health = ["Healthy"] * said["healthy"] + ["Unhealthy"] * (said["devices"] - said["healthy"])
            resource.devices = dict(enumerate(health))
            resource.listed.append(now)
            resource.fed = resource.live
        elif kind == "streamEnded":
            resource.live = resource.fed = False

    def ask(self, command, seconds=PATIENCE):
        """As the device manager's harness understands it."""
        words = command.split()
        if words[0] == "allocate":
            *pairs, pod = words[1:]
            for name, count in zip(pairs[::2], pairs[1::2]):
                self._run(f"allocate {name} {count} {pod}", seconds)
            return self._run(f"start {pod}", seconds)
        if words[0] == "options":
            return self._run(f"start {words[1]}", seconds)
        if words[0] == "capacity":
            known = self._run("resources", seconds)["resources"]
            return {"allocatable": {name: each["allocatable"] for name, each in known.items()}}
        return self._run(command, seconds)

    def _run(self, command, seconds):
        """The answers come in order."""
        self.catch_up()
        self._replies.clear()
        self.process.write(command)
        said = self.until(lambda: self._replies and self._replies[0], seconds, f"an answer to {command}")
        if not said["ok"]:
            raise Refused(said["error"])
        return said
