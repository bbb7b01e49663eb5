"""Replays of what changes while pods run: the kubelet, plughost, a device, the configuration."""

import json
import signal
import time

import pods
from facts import (ENVIRONMENT, GOPHER, advertised, advertised_none, counted_entry, expect, gopher_entry,
                   gophers)
from pods import pod
from process import until


class Steady:
    """A pod with a gopher that must live on, in the same process, and keep its device. prepared: an init container had it first."""

    def __init__(self, cluster, node, name, prepared=False):
        self._api, self._node, self._name = cluster.api, node, name
        self._uid = cluster.api.create(pod(name, {GOPHER: 1}, ENVIRONMENT, prepared=prepared))["metadata"]["uid"]
        pods.output(cluster.api, name)
        self._before = self._look()

    def _look(self):
        container = pods.container(self._api, self._name)
        entries = self._node.checkpoint()[0]["PodDeviceEntries"]
        devices = [entry["DeviceIDs"] for entry in entries if entry["PodUID"] == self._uid and entry["ContainerName"] == "main"]
        return {"container": container, "process": self._node.tasks().get(container), "devices": devices}

    def devices(self):
        """Their ids, whichever NUMA node they are on."""
        return [name for given in self._before["devices"] for names in given.values() for name in names]

    def check(self):
        now = self._look()
        expect(now == self._before and now["process"], f"pod {self._name} was {self._before}, and is {now}")

    def check_with_newcomer(self, name):
        """A pod that starts now shows that the kubelet has looked at its pods, and that devices are given."""
        self._api.create(pod(name, {GOPHER: 1}, ENVIRONMENT))
        pods.output(self._api, name)
        pods.delete(self._api, name)
        self.check()


def kubelet_restart(cluster):
    """The kubelet restarts under a running pod: the pod lives on, the resource is back at once"""
    node = cluster.node_a
    socket = node.plugins / "kubelet.sock"

    def identity():
        try:
            status = socket.stat()
            return status.st_ino, status.st_ctime
        except FileNotFoundError:
            return None

    with node.plughost(f"resources:{gopher_entry(gophers(node, 'kim', 'kai'))}") as plughost:
        advertised(cluster, node, GOPHER, 2)
        steady = Steady(cluster, node, "steady")
        figures = []
        for number in (signal.SIGTERM, signal.SIGKILL):
            old, attached = identity(), plughost.attachments(GOPHER)
            node.restart_kubelet(number)
            made = until(lambda: (new := identity()) and new != old and new[1], 30, "a new kubelet.sock")
            back = until(lambda: node.registered(GOPHER, 2, made), 10, f"{GOPHER} is back in the checkpoint")
            figures.append(f"{number.name}: back after {(back - made) * 1000:.0f} ms")
            expect(back - made < 1, f"{number.name}: {GOPHER} was back only after {back - made:.3f} s")
            # It admits the pods that it finds at its start before it frees the devices of those that went.
            until(lambda: "steady" in node.pods(), 30, "the kubelet knows its pods again", every=0.05)
            steady.check_with_newcomer(f"after-{number.name.lower()}")
            again = plughost.attachments(GOPHER) - attached
            expect(again == 1, f"{number.name}: plughost attached {again} times")
    return ", ".join(figures)


def init_containers(cluster, count=3):
    """The kubelet restarts under a pod whose init container had the device, too: it lives on (kubernetes 138446, 124345)

    Such a kubelet asks anew whether the ended init container's device is healthy, and ends the pod if no plugin has registered by then.
    """
    node = cluster.node_a
    with node.plughost(f"resources:{gopher_entry(gophers(node, 'ida', 'ian'))}"):
        advertised(cluster, node, GOPHER, 2)
        steady = Steady(cluster, node, "prepared", prepared=True)

        def restarted():
            node.restart_kubelet(signal.SIGKILL)
            until(lambda: "prepared" in node.pods(), 30, "the kubelet knows its pods again", every=0.05)

        for number in range(count):
            restarted()
            steady.check_with_newcomer(f"after-{number}")
    restarted()
    status = until(lambda: (found := cluster.api.pod("prepared")["status"])["phase"] == "Failed" and found, 30,
                   "without a plugin this kubelet ends the pod", every=0.05)
    expect(status["reason"] == "UnexpectedAdmissionError", f"{status}")
    pods.delete(cluster.api, "prepared")
    return f"{count} restarts, one process; without plughost the kubelet ended the pod: {status['reason']}"


def plughost_restart(cluster):
    """plughost is killed and started again under a running pod: same devices, and pods start"""
    node = cluster.node_a
    with node.plughost(f"resources:{gopher_entry(gophers(node, 'mo', 'max'))}") as plughost:
        advertised(cluster, node, GOPHER, 2)
        steady = Steady(cluster, node, "steady")
        plughost.kill()
        advertised_none(cluster, node, GOPHER)
        started = time.time()
        plughost.start()
        back = until(lambda: node.registered(GOPHER, 2, started), 10, f"{GOPHER} is back in the checkpoint")
        expect(back - started < 2, f"{GOPHER} was back only after {back - started:.3f} s")
        steady.check_with_newcomer("after-kill")
    return f"back {(back - started) * 1000:.0f} ms after its start"


def unhealthy_device(cluster):
    """A device that a pod holds turns Unhealthy, and Healthy again: the pod's status says so"""
    node = cluster.node_a
    folder = gophers(node, "lou")
    with node.plughost(f"resources:{gopher_entry(folder)}"):
        advertised(cluster, node, GOPHER, 1)
        cluster.api.create(pod("holder", {GOPHER: 1}, ENVIRONMENT))
        pods.output(cluster.api, "holder")

        def seen(health):
            started = time.monotonic()
            until(lambda: pods.health(cluster.api, "holder") == {"lou": health}, 60,
                  f"lou is {health} in the pod's status", every=0.05)
            return f"{health} after {time.monotonic() - started:.1f} s"

        seen("Healthy")
        (folder / "lou").unlink()
        gone = seen("Unhealthy")
        (folder / "lou").touch()
        return f"{gone}; {seen('Healthy')} in the pod's status"


def reload(cluster):
    """SIGHUP adds a resource: a pod that was Pending for it starts, the other resource is not touched"""
    node, late = cluster.node_a, "plughost.test/late"
    first = gopher_entry(gophers(node, "pat"))
    with node.plughost(f"resources:{first}") as plughost:
        advertised(cluster, node, GOPHER, 1)
        cluster.api.create(pod("late", {late: 1}, ENVIRONMENT))
        words = pods.why_pending(cluster.api, "late")
        expect(f"Insufficient {late}" in words, f"the scheduler said: {words}")
        started = time.monotonic()
        plughost.reload(f"resources:{first}{counted_entry(late)}")
        pods.output(cluster.api, "late")
        took = time.monotonic() - started
        attached = plughost.attachments(GOPHER)
        expect(attached == 1, f"{GOPHER} was attached {attached} times")
    return f"the pod ran {took:.1f} s after SIGHUP"


def drained_device(cluster):
    """A device that a pod holds is drained: its pod goes on, no other gets it, until it is back in service"""
    node = cluster.node_a
    names = {"ann", "bob", "cyd"}

    def start(name):
        """A pod, and which gopher it got."""
        cluster.api.create(pod(name, {GOPHER: 1}, ENVIRONMENT))
        return gopher_of(pods.output(cluster.api, name))

    with node.plughost(f"resources:{gopher_entry(gophers(node, *names))}") as plughost:
        advertised(cluster, node, GOPHER, 3)
        steady = Steady(cluster, node, "steady")
        [drained] = steady.devices()
        # What the kubelet has said within the last second plughost does not ask again.
        until(lambda: "steady" in plughost.command("status", GOPHER), 5, "the pod in plughost's status")
        words = plughost.command("drain", f"{GOPHER}={drained}", "--reason", "the fan is loud")
        expect("steady" in words, f"the holder is not named: {words}")
        until(lambda: cluster.api.node(node.name)["status"]["allocatable"].get(GOPHER) == "2", 30,
              f"2 allocatable of {GOPHER}", every=0.05)
        taken = {start("first")}
        # The scheduler counts 2, and that 2 pods have one each: it does not know that one of these is drained.
        cluster.api.create(pod("second", {GOPHER: 1}, ENVIRONMENT))
        pods.why_pending(cluster.api, "second")

        # It survives who drained it; and a device that is free again is not given while it is drained.
        plughost.kill()
        started = time.time()
        plughost.start()
        until(lambda: node.registered(GOPHER, 2, started), 10, f"2 healthy {GOPHER} in the checkpoint")
        steady.check()
        pods.delete(cluster.api, "steady")
        taken.add(gopher_of(pods.output(cluster.api, "second")))
        expect(taken == names - {drained}, f"{drained} is drained, and pods have {taken}")
        cluster.api.create(pod("third", {GOPHER: 1}, ENVIRONMENT))
        pods.why_pending(cluster.api, "third")
        plughost.command("undrain", f"{GOPHER}={drained}")
        last = gopher_of(pods.output(cluster.api, "third"))
        expect(last == drained, f"{drained} is free, and third has {last}")
    return f"{drained} went to nobody while it was drained, its pod ran on; back in service, the next pod got it"


def gopher_of(environment):
    [name] = [line.removeprefix("Gopher=") for line in environment.splitlines() if line.startswith("Gopher=")]
    return name


def trial(cluster):
    """`reload --confirm`, and nobody confirms: what was in force before is so again, and pods run on"""
    node, late = cluster.node_a, "plughost.test/trial"
    first = gopher_entry(gophers(node, "sue"))
    with node.plughost(f"resources:{first}") as plughost:
        advertised(cluster, node, GOPHER, 1)
        steady = Steady(cluster, node, "steady")
        plughost.write(f"resources:{first}{counted_entry(late)}")
        started = time.monotonic()
        plughost.command("reload", "--confirm", "5s")
        advertised(cluster, node, late, 10)
        plughost.wait_for_line("configuration on trial rolled back", 20)
        took = time.monotonic() - started
        advertised_none(cluster, node, late)
        steady.check()
        attached = plughost.attachments(GOPHER)
        expect(attached == 1, f"{GOPHER} was attached {attached} times")

        # And who keeps it, has it.
        plughost.command("reload", "--confirm", "1h")
        advertised(cluster, node, late, 10)
        plughost.command("reload", "--keep")
        configuration = json.loads(plughost.command("status", "-o", "json"))["configuration"]
        expect(configuration["trialUntil"] is None, f"it is kept, and still on trial: {configuration}")
    return f"given up {took:.1f} s after the reload with --confirm 5s; the pod ran on"
