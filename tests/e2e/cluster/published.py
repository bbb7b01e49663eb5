"""What a node's driver has published: ResourceSlices, the pools that they make up, and what was asked for them."""

import datetime
import json
import urllib.parse

from facts import expect
from process import TimedOut, until

API = "/apis/resource.k8s.io/v1"
SLICES = f"{API}/resourceslices"
DRIVER = "dra.plughost.test"
UNHEALTHY = "plughost.io/unhealthy"  # the key of a taint
REGISTERED = "a kubelet has registered the DRA driver"  # plughost's log
AGENT = "plughost"
WRITES = ("create", "update", "patch", "delete", "deletecollection")


class Torn(Exception):
    """Of a pool's newest generation a slice is missing, or two devices have one name: a scheduler takes nothing of it."""


def of_node(node, driver=DRIVER):
    """The path under which they are listed."""
    return f"{SLICES}?fieldSelector={urllib.parse.quote(f'spec.nodeName={node.name},spec.driver={driver}')}"


def slices(cluster, node, driver=DRIVER):
    return cluster.api.get(of_node(node, driver))["items"]


def pools(listed):
    """What a scheduler sees in these slices: a pool's name → a device's name → the device. Raises Torn."""
    by_pool = {}
    for one in listed:
        by_pool.setdefault(one["spec"]["pool"]["name"], []).append(one["spec"])
    return {name: _devices(name, specs) for name, specs in by_pool.items()}


def _devices(name, specs):
    newest = max(spec["pool"]["generation"] for spec in specs)
    current = [spec for spec in specs if spec["pool"]["generation"] == newest]
    wanted = {spec["pool"]["resourceSliceCount"] for spec in current}
    if wanted != {len(current)}:
        raise Torn(f"pool {name}, generation {newest}: {len(current)} slices, said to be {sorted(wanted)}")
    devices = [device for spec in current for device in spec.get("devices") or []]
    by_name = {device["name"]: device for device in devices}
    if len(by_name) != len(devices):
        raise Torn(f"pool {name}: {len(devices)} devices with {len(by_name)} names")
    return by_name


def pool(cluster, node, resource):
    """Its devices by name; none while there is no such pool, or it is not whole."""
    try:
        return pools(slices(cluster, node)).get(f"{node.name}/{resource}", {})
    except Torn:
        return {}


def tainted(device):
    return any(taint["key"] == UNHEALTHY for taint in device.get("taints") or [])


def offers(cluster, node, resource):
    """The names of those that somebody new may have."""
    return {name for name, device in pool(cluster, node, resource).items() if not tainted(device)}


def published(cluster, node, resource, names, seconds=30):
    """Waits until exactly these are offered there."""
    names = set(names)
    try:
        until(lambda: offers(cluster, node, resource) == names, seconds,
              f"{len(names)} devices in the pool of {resource} on {node.name}", every=0.02)
    except TimedOut as error:
        shown = [(one["metadata"]["name"], one["spec"]["pool"], [(device["name"], device.get("taints")) for device in one["spec"].get("devices") or []][:8])
                 for one in slices(cluster, node)]
        raise TimedOut(f"{error}; there are {shown}") from None


def withdrawn(cluster, node, resource):
    """Waits until its pool has gone."""
    until(lambda: f"{node.name}/{resource}" not in {one["spec"]["pool"]["name"] for one in slices(cluster, node)}, 30,
          f"no pool of {resource} on {node.name}", every=0.02)


def identities(cluster, node):
    """Which objects the slices are, and of which version: the same means that nobody wrote."""
    return {one["metadata"]["name"]: (one["metadata"]["uid"], one["metadata"]["resourceVersion"]) for one in slices(cluster, node)}


def version(cluster, node):
    """From which history() can tell what happens from now on."""
    return cluster.api.get(of_node(node))["metadata"]["resourceVersion"]


def history(cluster, node, since):
    """All states of the node's slices since that version, one for each write, the first one included that was then."""
    # Who watches from an old version is told of each write since, and here for a second at least of those that come.
    events = cluster.api.text(f"{of_node(node)}&watch=1&resourceVersion={since}&timeoutSeconds=1").splitlines()
    path = f"{of_node(node)}&resourceVersion={since}&resourceVersionMatch=Exact"
    state = {one["metadata"]["name"]: one for one in cluster.api.get(path)["items"]}
    yield list(state.values())
    for event in map(json.loads, events):
        one = event["object"]
        expect(event["type"] != "ERROR", f"the history is forgotten: {one}")
        if event["type"] == "DELETED":
            state.pop(one["metadata"]["name"])
        else:
            state[one["metadata"]["name"]] = one
        yield list(state.values())


def always_whole(cluster, node, since):
    """No state of the pools since then was one that a scheduler takes nothing of. How many there were."""
    states = [pools(state) for state in history(cluster, node, since)]
    for before, after in zip(states, states[1:]):
        expect(before.keys() == after.keys(), f"pools came or went: {before.keys()}, then {after.keys()}")
    return len(states)


def when(event):
    """The second in which the API server had answered it, as time.time() tells it."""
    return datetime.datetime.fromisoformat(event["stageTimestamp"]).timestamp()


def asked(cluster, since=0, verbs=WRITES, agent=AGENT, node=None):
    """What a program asked for slices since then, in that order, where the answer was no error and it was no trial."""
    return [one for one in cluster.requests(agent)
            if one["verb"] in verbs and one.get("objectRef", {}).get("resource") == "resourceslices" and when(one) >= since
            and one["responseStatus"]["code"] < 400 and "dryRun" not in one["requestURI"] and (node is None or one["user"]["username"] == node.user)]


def written(cluster, since, node=None):
    """The same for plughost's writes; waits for the first one, since the log is behind what can be seen."""
    return until(lambda: asked(cluster, since, node=node), 5, "a write is in the audit log", every=0.02)


def wiped(cluster, node, since, seconds=30):
    """Waits until the kubelet has deleted the node's slices, as it does when it starts. When that was."""
    return when(until(lambda: asked(cluster, since, ("deletecollection",), "kubelet", node), seconds,
                      f"the kubelet of {node.name} deletes its slices", every=0.05)[-1])


def back(cluster, node, resource, names, since):
    """Waits until the pool is whole again after what was done to it then; how many seconds the last write came after that."""
    published(cluster, node, resource, names)
    return when(written(cluster, since, node)[-1]) - since
