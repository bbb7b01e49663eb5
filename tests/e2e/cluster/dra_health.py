"""Replays of devices by DRA that fall sick, vanish or are drained, and of who hears of it."""

import time

import claims
import pods
import published
from claims import CAMERA, by_name, by_template, cameras, claim, device_class, driver, made, template
from facts import NotShown, expect, gophers
from process import until


def taints_are_kept(cluster):
    if not cluster.allows("DRADeviceTaints"):
        raise NotShown("the API server keeps no taints (DRADeviceTaints)")


def taint_of(cluster, node, name):
    """The taint of ours that a device has; None without one, or without the device."""
    device = published.pool(cluster, node, CAMERA).get(name, {})
    return next((taint for taint in device.get("taints") or [] if taint["key"] == published.UNHEALTHY), None)


def within(seconds, fact, what):
    """How long it took, in milliseconds."""
    started = time.monotonic()
    until(fact, 30, what, every=0.01)
    took = time.monotonic() - started
    expect(took < seconds, f"{what}: only after {took:.2f} s")
    return f"{took * 1000:.0f} ms"


def dra_unhealthy(cluster):
    """A held device vanishes: tainted within 1 s, Unhealthy in the pod's status within 2 s, and still in its slice; back, both are as before"""
    taints_are_kept(cluster)
    node, api = cluster.node_a, cluster.api
    shown = cluster.allows("ResourceHealthStatus")
    folder = gophers(node, "ann", "bob")
    with driver(cluster, node, cameras(folder)), made(cluster, device_class(), claim("holds")):
        published.published(cluster, node, CAMERA, {"ann", "bob"})
        api.create(claims.pod("holder", by_name("holds")))
        [[held], _] = claims.has(api, "holder")
        container = pods.container(api, "holder")

        def status(health):
            if not shown:
                return "not shown"
            return within(2, lambda: claims.health(api, "holder") == {health}, f"{held} is {health} in the pod's status")

        status("Healthy")
        (folder / held).unlink()
        tainted = within(1, lambda: taint_of(cluster, node, held), f"{held} is tainted")
        effect = taint_of(cluster, node, held)["effect"]
        expect(effect == "NoSchedule", f"the taint's effect is {effect}")
        sick = status("Unhealthy")
        (folder / held).touch()
        clean = within(1, lambda: held in published.offers(cluster, node, CAMERA), f"{held} is offered again")
        well = status("Healthy")
        expect(pods.container(api, "holder") == container, "the pod is another")
    return f"tainted after {tainted}, clean again after {clean}; in the pod's status {sick} and {well} after that"


def dra_drained(cluster):
    """A drained device has a taint, and its holder runs on; nobody new gets it until it is back in service"""
    taints_are_kept(cluster)
    node, api = cluster.node_a, cluster.api
    with driver(cluster, node, cameras(gophers(node, "ann", "bob"))) as plughost, made(cluster, device_class(), template("one")):
        published.published(cluster, node, CAMERA, {"ann", "bob"})
        api.create(claims.pod("holder", by_template("one")))
        [[held], _] = claims.has(api, "holder")
        plughost.command("drain", f"{CAMERA}={held}", "--reason", "the lens is dirty")
        tainted = within(1, lambda: taint_of(cluster, node, held), f"{held} is tainted")
        taint = taint_of(cluster, node, held)
        expect(taint["value"] == "drained", f"the taint says {taint}")
        pods.delete(api, "holder")
        for name in ("first", "second"):
            api.create(claims.pod(name, by_template("one")))
        until(lambda: any(api.pod(name)["status"]["phase"] == "Running" for name in ("first", "second")), 30, "one of two runs", every=0.05)
        [waits] = [name for name in ("first", "second") if api.pod(name)["status"]["phase"] != "Running"]
        pods.why_pending(api, waits)
        plughost.command("undrain", f"{CAMERA}={held}")
        expect(claims.has(api, waits)[0] == [held], "the one that waited has something else")
    return f"{held} was tainted after {tainted}; a pod waited until it was back in service"


def dra_evict(cluster):
    """`onUnhealthy: evict`: the pod that holds a device which vanishes is evicted; `withdraw`: a free device goes from the pool"""
    taints_are_kept(cluster)
    node, api = cluster.node_a, cluster.api
    folder = gophers(node, "ann", "bob")
    with driver(cluster, node, cameras(folder, onUnhealthy="evict")) as plughost, made(cluster, device_class(), template("one")):
        published.published(cluster, node, CAMERA, {"ann", "bob"})
        api.create(claims.pod("victim", by_template("one")))
        [[held], _] = claims.has(api, "victim")
        started = time.monotonic()
        (folder / held).unlink()
        until(lambda: not (pod := api.pod("victim")) or pod["metadata"].get("deletionTimestamp"), 30, "the pod is evicted", every=0.05)
        took = time.monotonic() - started
        until(lambda: not api.pod("victim"), 30, "the pod has gone", every=0.05)
        (folder / held).touch()
        published.published(cluster, node, CAMERA, {"ann", "bob"})
        plughost.reload(claims.with_dra(node, cameras(folder, onUnhealthy="withdraw")))
        (folder / "bob").unlink()
        until(lambda: set(published.pool(cluster, node, CAMERA)) == {"ann"}, 10, "bob is not in the pool", every=0.02)
    return f"evicted {took:.1f} s after its device went"


def dra_device_waits(cluster, seconds=3):
    """A device that is gone when its claim is prepared is waited for within the call: it comes, and the pod runs without one failure"""
    node, api = cluster.node_a, cluster.api
    folder = gophers(node, "ann")
    with driver(cluster, node, cameras(folder)), made(cluster, device_class(), claim("patient")):
        published.published(cluster, node, CAMERA, {"ann"})
        with node.kubelet_stopped():
            api.create(claims.pod("patient", by_name("patient")))
            until(lambda: api.pod("patient")["spec"].get("nodeName"), 30, "the pod has a node", every=0.05)
            (folder / "ann").unlink()
            until(lambda: "ann" not in published.offers(cluster, node, CAMERA), 10, "ann is offered no more", every=0.02)
        end = time.monotonic() + seconds
        until(lambda: time.monotonic() > end and node.ask_kubelet("/healthz"), seconds + 10, "the kubelet is well", every=0.1)
        expect(api.pod("patient")["status"]["phase"] == "Pending" and not claims.complaints(api, "patient"),
               f"the kubelet was not kept waiting: {claims.complaints(api, 'patient')}")
        started = time.monotonic()
        (folder / "ann").touch()
        expect(claims.has(api, "patient")[0] == ["ann"], "it has something else than ann")
        took = time.monotonic() - started
        expect(not claims.complaints(api, "patient"), f"the kubelet complained: {claims.complaints(api, 'patient')}")
    return f"the pod ran {took:.1f} s after its device had come"


def dra_device_missing(cluster):
    """A device that does not come: the claim is refused with a sentence within the kubelet's 45 s, and the pod runs when it comes later"""
    node, api = cluster.node_a, cluster.api
    folder = gophers(node, "ann")
    with driver(cluster, node, cameras(folder)), made(cluster, device_class(), claim("refused")):
        published.published(cluster, node, CAMERA, {"ann"})
        with node.kubelet_stopped():
            api.create(claims.pod("refused", by_name("refused")))
            until(lambda: api.pod("refused")["spec"].get("nodeName"), 30, "the pod has a node", every=0.05)
            (folder / "ann").unlink()
            until(lambda: "ann" not in published.offers(cluster, node, CAMERA), 10, "ann is offered no more", every=0.02)
        started = time.monotonic()
        [words, *_] = until(lambda: claims.complaints(api, "refused"), 60, "the kubelet has an answer", every=0.1)
        took = time.monotonic() - started
        expect("ann" in words and "DeadlineExceeded" not in words, f"the words: {words}")
        expect(took < 45, f"answered only after {took:.0f} s")
        (folder / "ann").touch()
        # It tries again when it looks at the pod again: after a minute, or a minute and a half.
        until(lambda: api.pod("refused")["status"]["phase"] == "Running", 120, "the pod runs once its device is there", every=0.1)
    return f"after {took:.0f} s: “{words}”"
