"""Replays of what the scheduler and the kubelet's bookkeeping make of the devices."""

import json
import time

import pods
from facts import ENVIRONMENT, GOPHER, GPU, RDMA, advertised, counted_entry, expect, gopher_entry, gophers
from pods import pod


def gopher(cluster):
    """One gopher: pod one runs, pod two stays Pending in the scheduler's words, as lixd/i-device-plugin showed"""
    folder = gophers(cluster.node_a, "charlie")
    (folder / "a-directory").mkdir()
    with cluster.node_a.plughost(f"resources:{gopher_entry(folder)}"):
        advertised(cluster, cluster.node_a, GOPHER, 1)
        cluster.api.create(pod("gopher-one", {GOPHER: 1}, ENVIRONMENT))
        environment = pods.output(cluster.api, "gopher-one")
        expect("Gopher=charlie\n" in environment, f"the pod has no Gopher=charlie but: {environment}")
        cluster.api.create(pod("gopher-two", {GOPHER: 1}, ENVIRONMENT))
        words = pods.why_pending(cluster.api, "gopher-two")
        wanted = f"0/1 nodes are available: 1 Insufficient {GOPHER}"
        expect(words.startswith(wanted), f"the scheduler said: {words}")
        # A pod that goes makes room: the one that waited runs.
        pods.delete(cluster.api, "gopher-one")
        pods.output(cluster.api, "gopher-two")
    return f"pod two: “{wanted}”; it ran once pod one was gone"


def simulated_gpus(cluster):
    """Ten GPUs: a pod with 8 runs, one with 3 is Pending until a second node has ten"""
    configuration = f"resources:{counted_entry(GPU)}"
    with cluster.node_a.plughost(configuration):
        advertised(cluster, cluster.node_a, GPU, 10)
        cluster.api.create(pod("test-gpu-8", {GPU: 8}, ENVIRONMENT))
        ids = devices_in(pods.output(cluster.api, "test-gpu-8"), GPU)
        expect(len(ids) == 8, f"test-gpu-8 has {ids}")
        cluster.api.create(pod("test-gpu-3", {GPU: 3}, ENVIRONMENT))
        words = pods.why_pending(cluster.api, "test-gpu-3")
        expect(f"Insufficient {GPU}" in words, f"the scheduler said: {words}")
        with cluster.node() as second, second.plughost(configuration):
            started = time.monotonic()
            ids = devices_in(pods.output(cluster.api, "test-gpu-3"), GPU)
            expect(len(ids) == 3, f"test-gpu-3 has {ids}")
            took = time.monotonic() - started
            where = cluster.api.pod("test-gpu-3")["spec"]["nodeName"]
            expect(where == second.name, f"test-gpu-3 runs on {where}")
            pods.delete(cluster.api, "test-gpu-3")
    return f"test-gpu-3 ran {took:.1f} s after plughost's start on the second node"


def devices_in(environment, resource):
    """The ids in NVIDIA_VISIBLE_DEVICES/RESOURCE, all of which must be devices of the resource."""
    [value] = [line.split("=", 1)[1] for line in environment.splitlines()
               if line.startswith(f"NVIDIA_VISIBLE_DEVICES/{resource}=")]
    ids = value.split(",")
    expect(set(ids) <= {f"{resource}-{n}" for n in range(10)}, f"{resource}: unknown ids in {value}")
    return set(ids)


def two_resources(cluster):
    """RDMA is added to a node with GPUs; a pod with 2 and 10 sees both variables"""
    with cluster.node_a.plughost(f"resources:{counted_entry(GPU)}") as plughost:
        advertised(cluster, cluster.node_a, GPU, 10)
        plughost.reload(f"resources:{counted_entry(GPU)}{counted_entry(RDMA)}")
        advertised(cluster, cluster.node_a, RDMA, 10)
        cluster.api.create(pod("test-gpu2-rdma10", {GPU: 2, RDMA: 10}, ENVIRONMENT))
        environment = pods.output(cluster.api, "test-gpu2-rdma10")
        counts = {resource: len(devices_in(environment, resource)) for resource in (GPU, RDMA)}
        expect(counts == {GPU: 2, RDMA: 10}, f"the container sees {counts}")
    return "the container sees 2 gpu and 10 rdma"


def checkpoint(cluster):
    """`plughost checkpoint` reads what this kubelet wrote: who holds what"""
    node = cluster.node_a
    with node.plughost(f"resources:{counted_entry(GPU)}{counted_entry(RDMA)}"):
        for resource in (GPU, RDMA):
            advertised(cluster, node, resource, 10)
        uid = cluster.api.create(pod("test-checkpoint", {GPU: 2, RDMA: 10}, ENVIRONMENT))["metadata"]["uid"]
        environment = pods.output(cluster.api, "test-checkpoint")
        read = json.loads(node.run(cluster.plughost, "checkpoint", "-o", "json"))
        for resource in (GPU, RDMA):
            [entry] = [e for e in read["pods"] if (e["podUID"], e["resource"]) == (uid, resource)]
            ids = devices_in(environment, resource)
            listed = {device["id"] for device in entry["devices"]}
            expect(listed == ids, f"{resource}: the container has {ids}, the checkpoint says {listed}")
            variable = f"NVIDIA_VISIBLE_DEVICES/{resource}"
            expect(f"{variable}={entry['answer']['env'][variable]}\n" in environment,
                   f"{resource}: the stored answer is {entry['answer']}, the container has {environment}")
            expect(len(read["registered"][resource]) == 10, f"registered: {read['registered']}")
        words = node.run(cluster.plughost, "checkpoint")
        expect(f"pod {uid}, container main holds of {GPU}:" in words, f"in words: {words}")
    return "12 devices of one pod, with both stored answers"
