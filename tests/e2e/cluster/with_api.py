"""Replays of what plughost asks of the API server, as the kubelet's own user, and of how it lives without."""

import contextlib
import json
import signal
import subprocess
import time

import pods
from api import ApiError
from facts import ENVIRONMENT, GOPHER, advertised, advertised_none, counted_entry, expect, gopher_entry, gophers
from fake_cards import FakeCards
from pods import SHOWN, pod
from process import until

MEMORY = "doslab.io/gpu-memory"
COUNT, CORE = "doslab.io/gpu-count", "doslab.io/gpu-core"
LABEL = "plughost.test/farm"
LATE = "plughost.test/labelled"
CARDS = (16, 80)  # GiB
AGENT = "plughost"


class Counted:
    """plughost on the node, with cards whose number the node shows."""

    def __init__(self, cluster, resources="", kubeconfig="auto"):
        """kubeconfig auto: the kubelet's own is found where it is."""
        self.cluster, self.node, self.api = cluster, cluster.node_a, cluster.api
        self._cards = FakeCards(self.node.fresh_folder(), self._lines())
        counts = json.dumps({COUNT: "{cards}", CORE: "{cores}"})
        top = json.dumps({"kubeconfig": str(kubeconfig), "node": self.node.name})
        self.text = f"""apiServer: {top}
events: true
resources:{resources}
- name: {MEMORY}
  gpu: {{vendor: nvidia, unit: {{memory: 1GiB}}}}
  nodeResources: {counts}
"""

    @staticmethod
    def _lines(lost=None):
        return [f"card GPU-{n} minor={n} memory={gib * 1024} lost={int(n == lost)}" for n, gib in enumerate(CARDS)]

    def lose(self, card):
        self._cards.show(self._lines(card))

    def find_all(self):
        """Waits until they are well again, which a card that was lost is after half a minute of calm."""
        self._cards.show(self._lines())
        self.shows(len(CARDS), seconds=60)

    def overwrite(self):
        """Somebody else writes another count."""
        self.api.patch(f"/api/v1/nodes/{self.node.name}/status", {"status": {"capacity": {COUNT: "7"}}})

    @contextlib.contextmanager
    def running(self):
        """The node shows all cards when it begins."""
        with self.node.plughost(self.text, self._cards.environment) as plughost:
            advertised(self.cluster, self.node, MEMORY, sum(CARDS))
            self.shows(len(CARDS))
            yield plughost

    def shows(self, cards, seconds=30):
        """Waits until it does, and returns how long that took."""
        started = time.monotonic()
        until(lambda: self._counts() == (str(cards), str(100 * cards)), seconds,
              f"{cards} cards on {self.node.name}", every=0.02)
        return time.monotonic() - started

    def _counts(self):
        node = self.api.node(self.node.name)
        capacity = node["status"].get("capacity", {}) if node else {}
        return capacity.get(COUNT), capacity.get(CORE)


def configuration(node, resources, kubeconfig="auto", **more):
    """auto: by the kubelet's own kubeconfig, wherever that is."""
    top = {"apiServer": {"kubeconfig": str(kubeconfig), "node": node.name}, **more}
    return "".join(f"{key}: {json.dumps(value)}\n" for key, value in top.items()) + f"resources:{resources}"


def label(cluster, node, value):
    """None takes it away."""
    cluster.api.patch(f"/api/v1/nodes/{node.name}", {"metadata": {"labels": {LABEL: value}}})


def refused(cluster):
    """What the API server forbade it, or did not know it for."""
    return [f"{one['verb']} {one['requestURI']}: {one['responseStatus']['code']}" for one in cluster.requests(AGENT)
            if one["responseStatus"]["code"] in (401, 403)]


def kubelet_identity(cluster):
    """What the kubelet's own user may do: its node's status, and neither a pod nor another node; also once its certificate is another"""
    node, api = cluster.node_a, cluster.api
    node.rotate_certificate()
    own = cluster.api_as(node.certificate)
    own.patch(f"/api/v1/nodes/{node.name}/status", {"status": {"capacity": {"plughost.test/cards": "2"}}})
    advertised(cluster, node, "plughost.test/cards", 2)
    own.patch(f"/api/v1/nodes/{node.name}/status", {"status": {"capacity": {"plughost.test/cards": None}}})
    api.post("/api/v1/nodes", json.dumps({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "another"}}))
    try:
        own.patch("/api/v1/nodes/another/status", {"status": {"capacity": {"plughost.test/cards": "2"}}})
        raise AssertionError("it may patch another node")
    except ApiError as error:
        expect(error.status == 403, f"another node: {error}")
    finally:
        api.forget_node("another")
    return "nodes/status patched; another node: 403"


def node_resources(cluster):
    """The node's cards and their cores: a card turns sick and well, somebody changes them, and at the end they are 0"""
    counted = Counted(cluster)
    with counted.running():
        advertised(cluster, counted.node, COUNT, 2)
        advertised(cluster, counted.node, CORE, 200)
        counted.lose(1)
        counted.shows(1)
        counted.find_all()
        cluster.api.patch(f"/api/v1/nodes/{counted.node.name}/status", {"status": {"capacity": {COUNT: "7", "plughost.test/other": "3"}}})
        took = counted.shows(2)
        expect(cluster.api.node(counted.node.name)["status"]["capacity"]["plughost.test/other"] == "3", "another's key was touched")
        cluster.api.patch(f"/api/v1/nodes/{counted.node.name}/status", {"status": {"capacity": {"plughost.test/other": None}}})
        expect(not (words := refused(cluster)), f"refused: {words}")
    counted.shows(0, seconds=1)
    for key in (COUNT, CORE):
        advertised(cluster, counted.node, key, 0)
    return f"right again {took:.2f} s after somebody else wrote 7; nothing was refused to system:node"


def node_resources_kubelet(cluster):
    """A kubelet without a checkpoint, and a node that is deleted and made again: the counts are back within a second"""
    counted = Counted(cluster)
    node = counted.node
    with counted.running():
        # The kubelet writes 0 over what it has no devices of.
        since = time.time()
        node.restart_kubelet(signal.SIGKILL, between=(node.plugins / "kubelet_internal_checkpoint").unlink)
        until(lambda: node.registered(MEMORY, sum(CARDS), since), 30, f"{MEMORY} is back in the checkpoint")
        node.forget_resources_but(GOPHER, MEMORY, COUNT, CORE)
        wrong, started = 0, time.monotonic()
        while time.monotonic() < started + 4:
            capacity = cluster.api.node(node.name)["status"]["capacity"]
            if capacity.get(COUNT) != "2" or capacity.get(CORE) != "200":
                wrong = time.monotonic() - started
        expect(wrong < 2, f"the counts were wrong for {wrong:.1f} s")  # 1 s, and the kubelet's own second
        cluster.api.forget_node(node.name)
        node.restart_kubelet(signal.SIGTERM)  # by itself it registers the node at its start alone
        until(lambda: cluster.api.node(node.name), 30, f"{node.name} is made again", every=0.02)
        again = counted.shows(2)
        expect(again < 2, f"the counts were back after {again:.1f} s")
    return f"right {wrong:.1f} s after the devices; {again:.1f} s after the node was made again"


def node_label(cluster):
    """`when: {label}` from the Node object: the entry comes with the label and goes with it"""
    node = cluster.node_a
    labelled = f"{counted_entry(LATE, 10)}  when: {{label: {{{LABEL}: \"yes\"}}}}\n"
    with node.plughost(configuration(node, gopher_entry(gophers(node, "ann")) + labelled)) as plughost:
        advertised(cluster, node, GOPHER, 1)
        expect(cluster.api.node(node.name)["status"]["allocatable"].get(LATE, "0") == "0", f"{LATE} is there without the label")
        started = time.monotonic()
        label(cluster, node, "yes")
        advertised(cluster, node, LATE, 10)
        took = time.monotonic() - started
        label(cluster, node, None)
        advertised_none(cluster, node, LATE)
        attached = plughost.attachments(GOPHER)
        expect(attached == 1, f"{GOPHER} was attached {attached} times")
        expect(not (words := refused(cluster)), f"refused: {words}")
    return f"{LATE} was there {took:.1f} s after the label; nothing was refused to system:node"


def device_events(cluster):
    """A device that a pod holds turns Unhealthy, and Healthy again: Events on the node and on the pod say so"""
    node = cluster.node_a
    folder = gophers(node, "lou")
    with node.plughost(configuration(node, gopher_entry(folder), events=True)):
        advertised(cluster, node, GOPHER, 1)
        cluster.api.create(pod("event-holder", {GOPHER: 1}, ENVIRONMENT))
        pods.output(cluster.api, "event-holder")

        def told(name, kind):
            return [one for one in cluster.api.events(name)
                    if "lou" in one["message"] and one["type"] == kind and one["source"].get("component") == "plughost"]

        def both(kind):
            for name in (node.name, "event-holder"):
                until(lambda: told(name, kind), 30, f"a {kind} event on {name} that names lou", every=0.1)

        (folder / "lou").unlink()
        both("Warning")
        (folder / "lou").touch()
        both("Normal")
        words = told("event-holder", "Warning")[0]
    return f"{words['reason']}: “{words['message']}”"


def rights(cluster):
    """doctor names what its user may not do: nothing under the kubelet's own, each verb under a stranger's"""
    counted = Counted(cluster)
    node = counted.node
    poor = node.fresh_folder()
    authority = cluster.trust.add()
    (poor / "user.pem").write_text(authority.issue("stranger", "strangers"))
    user = {"client-certificate": str(poor / "user.pem"), "client-key": str(poor / "user.pem")}
    (poor / "kubeconfig").write_text(cluster.kubeconfig_text(user))

    def doctor(text):
        path = node.fresh_folder() / "plughost.yaml"
        path.write_text(text)
        done = subprocess.run(node.inside(cluster.plughost, "doctor", "--config", path), capture_output=True, text=True)
        return [line for line in (done.stdout + done.stderr).splitlines() if "is allowed" in line or "may not" in line]

    with counted.running():
        allowed = doctor(counted.text)
        expect(any("all that is needed is allowed" in line for line in allowed), f"under the kubelet's own user: {allowed}")
        strange = Counted(cluster, kubeconfig=poor / "kubeconfig").text
        until(lambda: any("may not" in line for line in doctor(strange)), 30, "doctor names what a stranger may not", every=0.2)
        missing = [line for line in doctor(strange) if "may not" in line]
        for part in ("list nodes", "watch nodes", "patch nodes/status", "create events", "list pods"):
            expect(any(part in line for line in missing), f"no {part} in {missing}")
    cluster.trust.remove(authority)
    return f"system:node: all allowed; a stranger: “{missing[0].strip()}”"


def by_relay(node, cluster, relay):
    """A file: the kubelet's own kubeconfig, but for the way to the API server."""
    path = node.fresh_folder() / "kubeconfig"
    path.write_text(node.kubeconfig.read_text().replace(cluster.address, relay.address))
    return path


def served_without(node, name, resource):
    """A pod that the kubelet knows from its own disk has a device, as ever. How long its start took."""
    started = time.monotonic()
    node.start_static(name, pod(name, {resource: 1}, ENVIRONMENT))
    try:
        until(lambda: SHOWN in node.static_output(name), 30, f"static pod {name} runs", every=0.05)
        return time.monotonic() - started
    finally:
        node.stop_static(name)


def api_server_away(cluster, seconds=5):
    """No API server for 5 s, then one that takes connections and does not answer: pods with devices start as ever"""
    node, api = cluster.node_a, cluster.api
    with cluster.relay() as relay:
        counted = Counted(cluster, gopher_entry(gophers(node, "sam")), by_relay(node, cluster, relay))
        with counted.running() as plughost:
            advertised(cluster, node, GOPHER, 1)
            before = served_without(node, "static-before", GOPHER)

            def served(name, resource):
                started = time.monotonic()
                api.create(pod(name, {resource: 1}, ENVIRONMENT))
                pods.output(api, name)
                took = time.monotonic() - started
                pods.delete(api, name)
                return took

            starts, back = [], []
            # Where it is silent to the kubelet, too, no pod starts, whoever gives devices.
            for how, away, start, lost in (("stopped", cluster.api_server_stopped, lambda *what: served_without(node, *what), 1),
                                           ("silent", relay.silent, served, 0)):
                with away():
                    counted.lose(lost)
                    end, count = time.monotonic() + seconds, 0
                    while time.monotonic() < end or count == 0:
                        count += 1
                        starts.append(start(f"{how}-{count}", GOPHER))
                    plughost.command("status")
                back.append(counted.shows(1, seconds=65))  # a request in silence ends after 10 s; pauses grow to 60 s
                # Where no server was it is asked again within a second.
                expect(how == "silent" or back[0] < 1.5, f"the count was right {back[0]:.1f} s after the API server was back")
                counted.find_all()
                api.create(pod(f"after-{how}", {}, "true"))  # the scheduler, too, has to find the API server again
                pods.output(api, f"after-{how}")
            attached = plughost.attachments(GOPHER)
            expect(attached == 1, f"{GOPHER} was attached {attached} times")
    return (f"{len(starts)} pods, the slowest ran after {max(starts):.1f} s (before: {before:.1f} s); "
            f"the count was right {back[0]:.1f} s after the API server was back, {back[1]:.1f} s after its silence")


def api_server_away_long(cluster):
    """The same for a minute each"""
    return api_server_away(cluster, 60)


def forgotten_history(cluster):
    """410: the API server is another one and knows no old versions; what changes afterwards is heard"""
    counted = Counted(cluster)
    with counted.running():
        cluster.forget_history()
        counted.overwrite()
        took = counted.shows(2)
    return f"what somebody else wrote was put right {took:.1f} s after the API server was back"


def certificate_rotation(cluster):
    """The kubelet's certificate is another one, and the kubeconfig another file: plughost goes on by the new ones, unrestarted"""
    counted = Counted(cluster)
    node = counted.node
    with counted.running() as plughost:
        node.rotate_certificate()
        # A watch is not asked twice who it is.
        with cluster.api_server_stopped():
            pass
        counted.overwrite()
        took = counted.shows(2)
        node.replace_kubeconfig()
        with cluster.api_server_stopped():
            pass
        counted.overwrite()
        replaced = counted.shows(2)
        plughost.command("status")
    return f"a new API server, which refuses the old certificate: right after {took:.1f} s; with another kubeconfig after {replaced:.1f} s"
