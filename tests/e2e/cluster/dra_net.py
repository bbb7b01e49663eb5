"""Replays of network interfaces that move into pods (`netDevices`)."""

import contextlib
import json
import subprocess
import time

import claims
import pods
import published
from claims import by_name, claim, device_class, made, request
from dra_moves import slices_go
from facts import NotShown, advertised, expect
from process import until

LINK = "plughost.test/link"
BACK, LOST = "back-0", "lost-0"  # the first one comes back when its pod ends, see bare-network
SEEN = 'for link in /sys/class/net/*; do echo "link=${link##*/} $(cat $link/address)"; done'
ADDRESSES = {BACK: "02:00:00:00:00:07", LOST: "02:00:00:00:00:09"}


def dra_net(cluster):
    """`netDevices`: a pod has a network interface of the node's, which is away meanwhile: by a plugin, over a reload to `dra`, by a claim; afterwards it is free again or gone"""
    api = cluster.api
    with cluster.node(pod_networks=True) as node, contextlib.ExitStack() as all_of_it:
        all_of_it.enter_context(link(node, BACK))
        all_of_it.enter_context(slices_go(cluster, node))
        plughost = all_of_it.enter_context(node.plughost(text(node, "plugin")))
        all_of_it.enter_context(made(cluster, device_class(), claim("one"), claim("other"), claim("lost", request(selectors=[named(LOST)]))))

        # By the kubelet's list, and the entry moves to a pool while the pod runs.
        advertised(cluster, node, LINK, 1)
        expect(not away(plughost), "it is away before anybody has it")
        pod = json.loads(claims.pod("by-plugin", {}, node=node, script=SEEN, host_network=False))
        pod["spec"]["containers"][0]["resources"] = {"limits": {LINK: 1}}
        api.create(json.dumps(pod))
        has(api, "by-plugin", BACK)
        is_away(plughost, BACK)
        plughost.reload(text(node, "dra"))
        until(lambda: set(published.pool(cluster, node, LINK)) == {BACK}, 30, "the interface that a pod has is in the pool", every=0.05)
        expect(not published.offers(cluster, node, LINK) and away(plughost) == {BACK}, "it is offered, or not away")
        pods.delete(api, "by-plugin")
        started = time.monotonic()
        published.published(cluster, node, LINK, {BACK})
        moved = time.monotonic() - started
        is_away(plughost)

        # By a claim. Its first container gets the interface; there is none left for a second one, nor for another claim.
        since = published.version(cluster, node)
        api.create(claims.pod("by-claim", by_name("one"), {each: [{"name": "camera"}] for each in ("main", "second")}, node=node, script=SEEN,
                              host_network=False))
        refusal = until(lambda: why_not_started(api, "by-claim", "second"), 60, "the second container is refused", every=0.05)
        has(api, "by-claim", BACK, "main")
        is_away(plughost, BACK)
        expect("its network interface is away" in plughost.command("status", LINK), "its status says nothing of that")
        api.create(claims.pod("waits", by_name("other"), node=node, script=SEEN, host_network=False))
        pods.why_pending(api, "waits")
        pods.delete(api, "by-claim")
        has(api, "waits", BACK)
        is_away(plughost, BACK)
        pods.delete(api, "waits")
        is_away(plughost)
        states = [set(pool) for state in published.history(cluster, node, since) for pool in published.pools(state).values()]
        expect(all(state == {BACK} for state in states), f"while pods had it, the pool was {states}")

        # One that the kernel destroys with the pod's network.
        all_of_it.enter_context(link(node, LOST))
        published.published(cluster, node, LINK, {BACK, LOST})
        api.create(claims.pod("loses", by_name("lost"), node=node, script=SEEN, host_network=False))
        has(api, "loses", LOST)
        is_away(plughost, LOST)
        pods.delete(api, "loses")
        started = time.monotonic()
        published.published(cluster, node, LINK, {BACK})
        gone = time.monotonic() - started
        is_away(plughost)
    return (f"free again {moved:.1f} s after a pod that had it by the plugin, in spite of the reload; a destroyed one went after {gone:.1f} s; "
            f"a second container of a pod: “{refusal.splitlines()[0][:300]}”")


def text(node, road):
    entry = {"name": LINK, "udev": {"subsystem": "net", "name": "*-0"}, "id": "{name}", "cdi": True, "netDevices": [{"hostInterfaceName": "{name}"}],
             "advertise": road}
    return claims.with_dra(node, f"\n- {json.dumps(entry)}\n")


def named(name):
    return {"cel": {"expression": f'device.attributes["{published.DRIVER}"].name == "{name}"'}}


@contextlib.contextmanager
def link(node, name):
    """An interface on the node, and its other end. None of hardware: a kernel need not have any other sort to make."""
    try:
        node.run("ip", "link", "add", name, "address", ADDRESSES[name], "type", "veth", "peer", "name", f"{name}-peer")
    except subprocess.CalledProcessError as error:
        raise NotShown(f"the kernel makes no veth: {error.stderr.strip()}") from None
    try:
        yield
    finally:
        with contextlib.suppress(subprocess.CalledProcessError):  # it has gone
            node.run("ip", "link", "delete", name)


def has(api, name, link, container=""):
    """Waits until the pod's container runs, and requires that it sees this interface and no other but `lo`."""
    if container:  # of several, not all of which run
        log = until(lambda: pods.SHOWN in (text := api.log(name, container=container)) and text, 30, f"{container} of {name} runs", every=0.05)
    else:
        log = pods.output(api, name)
    seen = dict(line.removeprefix("link=").split() for line in log.splitlines() if line.startswith("link="))
    seen.pop("lo", None)
    expect(seen == {link: ADDRESSES[link]}, f"pod {name} sees {seen}")


def why_not_started(api, name, container):
    """The kubelet's words about it; None while there are none."""
    return next((one["message"] for one in api.events(name)
                 if one["reason"] == "Failed" and one["involvedObject"].get("fieldPath") == f"spec.containers{{{container}}}"), None)


def away(plughost):
    """The devices of which `plughost status` says so."""
    status = json.loads(plughost.command("status", "-o", "json"))
    return {device["id"] for one in status["resources"] + status.get("pools", []) for device in one["list"] if device["away"]}


def is_away(plughost, *names):
    until(lambda: away(plughost) == set(names), 30, f"away: {', '.join(names) or 'none'}", every=0.05)
