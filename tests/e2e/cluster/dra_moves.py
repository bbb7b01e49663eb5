"""Replays of a node that moves from plugins to DRA and back under its pods, and of one that is switched off."""

import contextlib
import json
import time

import claims
import pods
import published
from claims import CAMERA, by_name, cameras, claim, device_class, driver, made
from facts import NotShown, advertised, expect, gophers
from process import until

COUNT = 4


def dra_reboot(cluster):
    """A node is switched off and on: /run is empty, the kubelet remembers its claims, and their pods run again with the same devices"""
    with cluster.node() as node, driver(cluster, node, cameras(gophers(node, "ann", "bob"))) as plughost:
        published.published(cluster, node, CAMERA, {"ann", "bob"})
        with made(cluster, device_class(), claim("kept"), claim("other")):
            for name in ("kept", "other"):
                cluster.api.create(claims.pod(name, by_name(name), node=node, restart="Always"))
            before = {name: claims.has(cluster.api, name) for name in ("kept", "other")}
            old = {name: pods.container(cluster.api, name) for name in before}
            plughost.kill()
            node.reboot()
            started = time.monotonic()
            plughost.start()
            for name in before:
                until(lambda: runs_anew(cluster, name, old[name]), 120, f"pod {name} runs again", every=0.05)
                expect(claims.has(cluster.api, name) == before[name], f"{name} had {before[name]}, and has something else")
            took = time.monotonic() - started
    return f"both pods ran again {took:.1f} s after plughost's start, with {before['kept'][0][0]} and {before['other'][0][0]}"


def runs_anew(cluster, name, old):
    [container] = cluster.api.pod(name)["status"]["containerStatuses"]
    return "running" in container["state"] and container["containerID"].removeprefix("containerd://") != old


class Moved:
    """A node whose entry is on one of the roads, and its pods, which all say `limits`."""

    def __init__(self, cluster, node):
        self._cluster, self.node = cluster, node
        self.names = {f"{node.name}-{n}" for n in range(COUNT)}
        self._folder = gophers(node, *self.names)
        self.holders = {}

    def text(self, road):
        return claims.with_dra(self.node, claims.entry(CAMERA, self._folder, advertise=road))

    def start(self, name):
        """Another pod here, and which device it got."""
        pod = json.loads(claims.pod(name, {}, node=self.node))
        pod["spec"]["containers"][0]["resources"] = {"limits": {CAMERA: 1}}
        uid = self._cluster.api.create(json.dumps(pod))["metadata"]["uid"]
        [[device], nodes] = claims.has(self._cluster.api, name)
        expect(nodes == {device} and device not in self.held(), f"{name} has {device} and {nodes}, held are {self.held()}")
        self.holders[name] = (uid, device, pods.container(self._cluster.api, name))
        return device

    def end(self, name):
        pods.delete(self._cluster.api, name)
        return self.holders.pop(name)[1]

    def held(self):
        return {device for _, device, _ in self.holders.values()}

    def check(self):
        """All pods are what they were, and no device is offered by both roads."""
        for name, (_, _, container) in self.holders.items():
            expect(pods.container(self._cluster.api, name) == container, f"pod {name} is another")
        twice = published.offers(self._cluster, self.node, CAMERA) & self.by_plugin()
        expect(not twice, f"offered by both roads: {twice}")

    def by_plugin(self):
        """What the kubelet counts as healthy."""
        devices = (self.node.checkpoint()[0].get("RegisteredDevices") or {}).get(CAMERA) or []
        return set(devices) if self._cluster.api.node(self.node.name)["status"]["allocatable"].get(CAMERA, "0") != "0" else set()

    def reload(self, plughost, road):
        plughost.reload(self.text(road))
        node = self.node.name
        if road == "dra":
            until(lambda: CAMERA not in self._cluster.api.node(node)["status"]["allocatable"], 30,
                  f"{CAMERA} is no key of {node} any more, not even of 0", every=0.05)
            published.published(self._cluster, self.node, CAMERA, self.names - self.held())
        else:
            until(lambda: not published.offers(self._cluster, self.node, CAMERA), 30, f"nothing is offered by DRA on {node}", every=0.05)
            advertised_at_least(self._cluster, self.node, len(self.names - self.held()))
        self.check()


def advertised_at_least(cluster, node, count):
    until(lambda: int(cluster.api.node(node.name)["status"]["allocatable"].get(CAMERA, "0")) >= count, 30,
          f"{count} of {CAMERA} on {node.name}", every=0.05)


def dra_move(cluster):
    """Two nodes move plugin → dra → plugin, one after the other, by reload and under running pods: none fails, no device is given twice"""
    if not cluster.allows("DRAExtendedResource"):
        raise NotShown("the API server knows no extended resources by DRA (DRAExtendedResource)")
    if int(cluster.api.get("/version")["minor"]) < 35:
        raise NotShown("a kubelet of 1.34 refuses a pod with `limits` for five minutes after its plugin's list has ended")
    with contextlib.ExitStack() as all_of_it:
        nodes = [cluster.node_a, all_of_it.enter_context(cluster.node())]
        moved = [Moved(cluster, node) for node in nodes]
        all_of_it.enter_context(made(cluster, device_class(extendedResourceName=CAMERA)))
        daemons = []
        for one in moved:
            all_of_it.enter_context(slices_go(cluster, one.node))
            daemons.append(all_of_it.enter_context(one.node.plughost(one.text("plugin"))))
            advertised(cluster, one.node, CAMERA, COUNT)
            one.start(f"{one.node.name}-by-plugin-1")
            one.start(f"{one.node.name}-by-plugin-2")
        all_of_it.callback(lambda: pods.delete(cluster.api, *cluster.api.pod_names()))
        for one, plughost in zip(moved, daemons):
            name = one.node.name
            one.reload(plughost, "dra")
            one.start(f"{name}-by-dra-1")
            # Free again, it is offered by the other road.
            free = one.end(f"{name}-by-plugin-1")
            until(lambda: free in published.offers(cluster, one.node, CAMERA), 30, f"{free} is offered by DRA", every=0.05)
            one.start(f"{name}-by-dra-2")
            one.check()
        for one, plughost in zip(moved, daemons):
            name = one.node.name
            one.reload(plughost, "plugin")
            # To the scheduler a pod with `limits` takes one of the plugin's, whichever road it came by: there is room when it has gone.
            for number in (1, 2):
                one.end(f"{name}-by-dra-{number}")
                until(lambda: cluster.api.node(name)["status"]["allocatable"].get(CAMERA) == str(COUNT - 2 + number), 30,
                      f"{COUNT - 2 + number} of {CAMERA}: all but what claims hold", every=0.05)
                one.start(f"{name}-by-plugin-{number + 2}")
                one.check()
        count = 6 * len(moved)
        words = [pod["metadata"]["name"] for pod in cluster.api.pods() if pod["status"]["phase"] != "Running"]
        expect(not words, f"failed: {words}")
    return f"{count} pods on two nodes, none failed; the zero key was taken away"


@contextlib.contextmanager
def slices_go(cluster, node):
    """What is published there when it ends goes with it."""
    try:
        yield
    finally:
        cluster.api.remove(f"{published.SLICES}?fieldSelector=spec.nodeName={node.name}")
