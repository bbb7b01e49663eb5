"""A second kubelet on a node that has one: plughost's own stand-in, which asks drivers what it is told to."""

import contextlib
import json

from process import Process

REGISTRY = "/var/lib/kubelet/plugins_registry"


class Standin:
    """Constructed means that it looks for drivers, where the node's kubelet does, too. For a with-statement."""

    def __init__(self, cluster, node):
        # Device plugins register with the kubelet alone: the stand-in has a directory of its own for them.
        folder = node.fresh_folder()
        self._process = Process(node.inside(cluster.plughost, "kubelet", "--json", "--plugin-directory", folder,
                                            "--plugins-registry", REGISTRY))
        self._process.wait_for_line('"listening"', 10)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.close()

    def registered(self, driver):
        """Has it registered the driver?"""
        return any(event.get("event") == "driverRegistered" and event["driver"] == driver for event in self._said())

    def _said(self):
        for line in self._process.lines():
            with contextlib.suppress(ValueError):
                yield json.loads(line)

    def ask(self, command, *arguments):
        """What it answers. Raises AssertionError with its words if it cannot; where claims are asked for, each says so itself."""
        start = self._process.mark()
        self._process.write(" ".join([command, *arguments]))
        answer = json.loads(self._process.wait_for_line(f'{{"answer":"{command}"', 60, start))
        if not answer["ok"] and not answer.get("claims"):
            raise AssertionError(f"{command} {' '.join(arguments)}: {answer}")
        return answer

    def prepare(self, driver, *claims):
        """claims: (name, uid) of each. uid → its devices, or a text that says why not."""
        return self._of_claims("prepare", driver, claims)

    def unprepare(self, driver, *claims):
        return self._of_claims("unprepare", driver, claims)

    def _of_claims(self, command, driver, claims):
        answer = self.ask(command, ",".join(f"default/{name}/{uid}" for name, uid in claims), driver)
        return {uid: said.get("error") or said.get("devices", []) for uid, said in answer["claims"].items()}

    def health(self, driver):
        """device → Healthy, Unhealthy or Unknown"""
        return {one["device"]: one["health"] for one in self.ask("health")["health"] if one["driver"] == driver}

    def endpoints(self, driver):
        """Where it is registered."""
        return self.ask("drivers")["drivers"].get(driver, {}).get("endpoints", [])

    def watches(self, driver):
        """How many streams of the driver's health it reads."""
        return self.ask("drivers")["drivers"].get(driver, {}).get("healthStreams", 0)
