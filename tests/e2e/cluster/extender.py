"""A scheduler's extender of the test's own: it writes a card into a pod in the words of a dialect, and binds the pod.

The words are in dialects/*.json, as the extenders of the dialects were seen to write them.
"""

import itertools
import json
import pathlib
import re
import time

import images
from facts import ENVIRONMENT, expect
from pods import SHOWN, START_SECONDS, PodFailed
from process import until

FOLDER = pathlib.Path(__file__).resolve().parent / "dialects"
NAME = "extender.plughost.test"  # nobody else binds what asks for it
STEPS = ("create", "assume", "bind")


def dialects():
    """Their names: doslab has two sets of words."""
    return sorted(path.stem for path in FOLDER.glob("*.json"))


def words_of(name):
    return json.loads((FOLDER / f"{name}.json").read_text())


def filled(template, **values):
    """The template with {name} replaced. Other braces stand for themselves."""
    return re.sub(r"\{(\w+)\}", lambda found: str(values.get(found[1], found[0])), template)


def orders(*names):
    """All orders in which pods can be created, assumed and bound: lists of (step, name). A pod is created first of all."""
    steps = [(step, name) for name in names for step in STEPS]
    return [order for order in itertools.permutations(steps)
            if all(order.index(("create", name)) < order.index((step, name)) for name in names for step in STEPS[1:])]


class Extender:
    """For one node's cards, which are {"uuid": …, "index": …, "units": …} each."""

    def __init__(self, api, node, words, cards):
        self._api, self._node, self._words, self._cards = api, node, words, cards
        self._asked = {}

    def create(self, name, units=(1,), first=(), script=ENVIRONMENT, volumes=(), beside=None, restart="Always"):
        """A pod whose containers ask for so many units each; those of `first` are init containers.

        beside: what else each of the others asks for.
        """
        self._asked[name] = sum(units)

        def container(called, count, command, more):
            limits = {self._words["resource"]: count, **more} if count else more
            return {"name": called, "image": images.NAME, "imagePullPolicy": "Never", "command": ["sh", "-ec", command],
                    "resources": {"limits": limits},
                    # The kubelet waits for a volume that somebody mounts, and for no other.
                    "volumeMounts": [{"name": one["name"], "mountPath": f"/volumes/{one['name']}"} for one in volumes]}

        wait = f"{script}; echo '{SHOWN}'; trap 'exit 0' TERM; sleep infinity & wait"
        made = self._api.create(json.dumps({
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name},
            "spec": {
                "schedulerName": NAME,
                "hostNetwork": True,
                "restartPolicy": restart,
                "dnsPolicy": "None",
                "dnsConfig": {"nameservers": ["192.0.2.1"]},
                "tolerations": [{"operator": "Exists"}],
                # Each waits for finish(): its log goes with it, soon after the others start.
                "initContainers": [container(f"first-{n}", count, wait, {}) for n, count in enumerate(first)],
                "containers": [container(f"main-{n}", count, wait, beside or {}) for n, count in enumerate(units)],
                "volumes": list(volumes),
            },
        }))
        return made["metadata"]["uid"]

    def assume(self, name, card):
        """card: its number in the list of cards."""
        chosen = self._cards[card]
        self._api.patch(f"/api/v1/namespaces/default/pods/{name}", {"metadata": {"annotations": {
            key: filled(value, time=time.time_ns(), pod=self._asked[name], **chosen)
            for key, value in self._words["extender"].items()}}})

    def bind(self, name):
        self._api.post(f"/api/v1/namespaces/default/pods/{name}/binding", json.dumps({
            "apiVersion": "v1", "kind": "Binding", "metadata": {"name": name},
            "target": {"apiVersion": "v1", "kind": "Node", "name": self._node.name}}))

    def place(self, name, card, **pod):
        """All of it, in the order of an extender. The pod's uid."""
        uid = self.create(name, **pod)
        self.assume(name, card)
        self.bind(name)
        return uid

    def environment(self, name, container="main-0"):
        """What the container was given, once it runs: lines."""

        def done():
            status = self._api.pod(name)["status"]
            if status["phase"] == "Failed":
                raise PodFailed(f"pod {name} failed: {status.get('reason', '')} {status.get('message', '')}")
            started = status.get("containerStatuses", []) + status.get("initContainerStatuses", [])
            if not any(one["name"] == container and ("running" in one["state"] or "terminated" in one["state"])
                       for one in started):
                return False
            text = self._api.log(name, container=container)
            return SHOWN in text and text

        return until(done, START_SECONDS, f"container {container} of pod {name} runs", every=0.05).split(SHOWN)[0].splitlines()

    def finish(self, name, container):
        """An init container ends well."""
        [status] = [one for one in self._api.pod(name)["status"]["initContainerStatuses"] if one["name"] == container]
        self._node.end_container(status["containerID"].removeprefix("containerd://"))

    def sees(self, name, card, container="main-0"):
        """Requires that the container sees that card."""
        variable = self._words["visible"]
        seen = [line for line in self.environment(name, container) if line.startswith(f"{variable}=")]
        wanted = f"{variable}={filled(self._words['card'], **self._cards[card])}"
        expect(seen == [wanted], f"{container} of {name} has {seen}, not {wanted}")

    def refusal(self, name):
        """The kubelet's words of why it does not take the pod."""

        def words():
            status = self._api.pod(name)["status"]
            return status["phase"] == "Failed" and status.get("message")

        return until(words, START_SECONDS, f"pod {name} is refused", every=0.05)
