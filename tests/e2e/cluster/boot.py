"""Replays of a node that boots: the kubelet has its files, its pods have devices, and no container runs."""

import contextlib
import os
import signal
import time

import pods
from facts import ENVIRONMENT, GOPHER, advertised, expect, gopher_entry, gophers
from pods import pod
from process import until

STATIC = "of-the-node"
HOLDERS = {STATIC: 1, "one": 1, "three": 3}  # pods, and how many gophers each has


def starts_again(name):
    return pod(name, {GOPHER: HOLDERS[name]}, ENVIRONMENT).replace("restartPolicy: Never", "restartPolicy: Always")


def boots(cluster, count=5):
    """Boots after a power failure, plughost before the kubelet: no pod that holds devices is rejected (kubernetes 109595, 125579)

    The kubelet admits a static pod within milliseconds of its own start, whether plugins have registered or not: those
    that it rejects are counted, and are not plughost's fault.
    """
    api, node = cluster.api, cluster.node_a
    mirror = f"{STATIC}-{node.name}"
    names = [mirror, *(name for name in HOLDERS if name != STATIC)]

    def look():
        """Of each pod the running container and the devices that the kubelet gave it; None until all have been decided on."""
        found = {}
        for name in names:
            seen = api.pod(name)
            if not seen:
                return None
            status = seen["status"]
            if status["phase"] == "Failed" and name == mirror:
                found[name] = status.get("reason"), None
                continue
            expect(status["phase"] != "Failed", f"boot {done + 1}: {name}: {status.get('reason')} {status.get('message')}")
            [container] = status.get("containerStatuses") or [{}]
            if "running" not in container.get("state", {}):
                return None
            uid = seen["metadata"]["annotations"].get("kubernetes.io/config.hash") if name == mirror else seen["metadata"]["uid"]
            given = [entry["DeviceIDs"] for entry in node.checkpoint()[0]["PodDeviceEntries"] if entry["PodUID"] == uid]
            found[name] = pods.container_of(seen), given
        return found

    def stop_containers():
        for process in node.tasks().values():
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)

    def boot():
        stop_containers()
        plughost.start()

    done, longest, rejected = 0, 0.0, 0
    with node.plughost(f"resources:{gopher_entry(gophers(node, *'abcde'))}") as plughost:
        advertised(cluster, node, GOPHER, 5)
        node.start_static(STATIC, starts_again(STATIC))
        for name in names[1:]:
            api.create(starts_again(name))
        before = until(look, 60, "all pods run", every=0.05)
        try:
            for done in range(count):
                plughost.kill()
                started = time.monotonic()
                node.restart_kubelet(signal.SIGKILL, boot)
                others = names[1:]
                after = until(lambda: (now := look()) and all(now[name][0] != before[name][0] for name in others) and now,
                              90, f"boot {done + 1}: the pods run again", every=0.05)
                longest = max(longest, time.monotonic() - started)
                for name in others:
                    expect(after[name][1] == before[name][1], f"boot {done + 1}: {name} had {before[name][1]}, and has {after[name][1]}")
                rejected += after[mirror][0] == "UnexpectedAdmissionError"
                before = after
        finally:
            node.stop_static(STATIC)
        pods.delete(api, *api.pod_names())
    return (f"{count} boots, 2 pods with the same 4 devices each time, after {longest:.1f} s at most;"
            f" a static pod beside them was rejected {rejected} times")


def boots_all(cluster):
    """The same, 100 times"""
    return boots(cluster, 100)
