"""Rounds of faults in random order, as the conformance suite's traps: afterwards all is as if there had been none."""

import json
import random
import signal
import time

import claims
import pods
import published
from claims import CAMERA, by_template, cameras, device_class, driver, made, template
from facts import expect, gophers
from process import until
from with_api import by_relay

OTHER = "plughost.test/other"
NAMES = [f"cam-{n}" for n in range(80)]  # two slices


class Machine:
    """A node with cameras, and what can happen to it. Each fault is over when its function returns, and its effects may not be."""

    def __init__(self, cluster, node, relay, kubeconfig, plughost, folder, chance):
        self.cluster, self.node, self.relay, self.plughost = cluster, node, relay, plughost
        self.kubeconfig, self.folder, self.chance = kubeconfig, folder, chance
        self.there = set(NAMES)
        self.registrations = 1  # that this process of plughost's is to have seen

    def text(self, others):
        more = f"\n- {json.dumps({'name': OTHER, 'count': others, 'advertise': 'dra'})}\n" if others else ""
        return claims.with_dra(self.node, cameras(self.folder) + more, self.kubeconfig)

    def faults(self):
        return [self.kubelet_killed, self.plughost_killed, self.api_cut, self.wiped, self.slice_edited, self.hotplug, self.reloaded]

    def kubelet_killed(self):
        self.node.restart_kubelet(signal.SIGKILL)
        self.registrations = len(self.plughost.said(published.REGISTERED)) + 1

    def plughost_killed(self):
        self.plughost.kill()
        self.plughost.start()
        self.registrations = 1

    def api_cut(self):
        with self.relay.cut():
            self.hotplug()

    def wiped(self):
        self.cluster.api.remove(published.of_node(self.node))

    def slice_edited(self):
        for one in published.slices(self.cluster, self.node)[:1]:
            self.cluster.api.patch(f"{published.SLICES}/{one['metadata']['name']}", {"spec": {"devices": [{"name": "nobody"}]}})

    def hotplug(self):
        for name in self.chance.sample(NAMES, self.chance.randint(1, 20)):
            if name in self.there:
                (self.folder / name).unlink()
            else:
                (self.folder / name).touch()
            self.there ^= {name}

    def reloaded(self):
        self.plughost.reload(self.text(self.chance.choice([0, 1, 3])))

    def settled(self):
        """The slices say what is there, and the kubelet has the driver."""
        published.published(self.cluster, self.node, CAMERA, self.there, seconds=60)
        until(lambda: len(self.plughost.said(published.REGISTERED)) >= self.registrations, 30, "the kubelet has registered the driver", every=0.02)

    def claim_resolves(self, name):
        """A pod gets a device that is there, which nobody else has."""
        self.cluster.api.create(claims.pod(name, by_template("one"), node=self.node))
        [[device], nodes] = claims.has(self.cluster.api, name)
        expect(nodes == {device} and device in self.there, f"{name} has {device} and {nodes}")
        return device


def dra_faults(cluster, rounds=20):
    """20 rounds of faults in random order: kubelet and plughost killed, no API server, wipes, hand edits, hotplugs, reloads"""
    node, seed = cluster.node_a, random.randrange(1 << 32)
    print(f"dra_faults: seed {seed}", flush=True)
    chance = random.Random(seed)
    folder = gophers(node, *NAMES)
    slowest = 0
    with cluster.relay() as relay, driver(cluster, node, cameras(folder), way := by_relay(node, cluster, relay)) as plughost:
        machine = Machine(cluster, node, relay, way, plughost, folder, chance)
        machine.settled()
        with made(cluster, device_class(condition=f'device.attributes["{published.DRIVER}"].entry == "{CAMERA}"'), template("one")):
            for number in range(rounds):
                happened = [chance.choice(machine.faults()) for _ in range(chance.randint(1, 5))]
                for fault in happened:
                    fault()
                started = time.monotonic()
                words = f"round {number}, seed {seed}: {', '.join(fault.__name__ for fault in happened)}"
                try:
                    if not machine.there:
                        machine.hotplug()
                    machine.settled()
                    slowest = max(slowest, time.monotonic() - started)
                    machine.claim_resolves(f"round-{number}")
                    pods.delete(cluster.api, f"round-{number}")
                except Exception as error:
                    raise AssertionError(f"{words}: {error}") from error
            until(lambda: not cluster.api.get(claims.CLAIMS)["items"], 60, "no claim is left", every=0.05)
            left = [path.name for path in (node.folder / "run/cdi").iterdir() if "claim" in path.name]
            expect(not left, f"files of claims are left: {left}")
    return f"{rounds} rounds (seed {seed}); slices equal the devices {slowest:.1f} s after the last fault at most, and each claim resolved"


def dra_faults_long(cluster):
    """The same, 500 rounds"""
    return dra_faults(cluster, 500)
