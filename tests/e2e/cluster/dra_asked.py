"""Replays of what a kubelet may ask of a driver and seldom does: asked by a second one on the node, of the real driver and API server."""

import json
import signal
import time
import uuid

import claims
import pods
import published
from claims import CAMERA, by_name, cameras, claim, device_class, driver, made
from dra_health import taint_of, taints_are_kept
from facts import NotShown, expect, gophers
from process import until
from published import DRIVER
from standin import Standin
from with_api import by_relay

VERSIONS = ["v1.DRAPlugin", "v1beta1.DRAPlugin", "v1alpha1.DRAResourceHealth"]


def claim_files(node):
    """Of the claims that are prepared there."""
    return {path for path in (node.folder / "run/cdi").iterdir() if "-claim-" in path.name}


def uid_of(cluster, name):
    return cluster.api.get(f"{claims.CLAIMS}/{name}")["metadata"]["uid"]


def dra_asked(cluster):
    """A second kubelet: registered at once, v1 first; each uid has one answer, a wrong one an error of its own; again and unknown are the same"""
    node, api = cluster.node_a, cluster.api
    registry = node.folder / "lib/kubelet/plugins_registry"
    with Standin(cluster, node) as standin:
        with driver(cluster, node, cameras(gophers(node, "ann", "bob"))) as plughost:
            until(lambda: standin.registered(DRIVER), 10, "the second kubelet has registered the driver")
            plughost.kill()
            until(lambda: standin.watches(DRIVER) == 0, 10, "the second kubelet hears that it is gone")
            for path in registry.iterdir():
                path.unlink()
            until(lambda: not standin.endpoints(DRIVER), 10, "the second kubelet has it no more")
            plughost.start()
            until(lambda: any(registry.iterdir()), 10, "the socket's name exists", every=0.001)
            named = time.monotonic()
            until(lambda: standin.endpoints(DRIVER), 10, "the second kubelet has registered the driver again", every=0.001)
            took = time.monotonic() - named
            expect(took < 1, f"registered only {took:.2f} s after the name existed")
            state = standin.ask("drivers")["drivers"][DRIVER]
            expect(state["versions"] == VERSIONS, f"it is registered with {state['versions']}")
            until(lambda: standin.health(DRIVER) == {"ann": "Healthy", "bob": "Healthy"}, 10, "its health is told")

            published.published(cluster, node, CAMERA, {"ann", "bob"})
            with made(cluster, device_class(), claim("good"), claim("fine"), claim("unallocated")):
                for name in ("good", "fine"):
                    api.create(claims.pod(name, by_name(name)))
                before = {name: claims.has(api, name) for name in ("good", "fine")}
                # The scheduler is passed over, so that nobody allocates anything; and the kubelet asks nobody to prepare it.
                bound = json.loads(claims.pod("unallocated", by_name("unallocated")))
                bound["spec"]["nodeName"] = node.name
                api.create(json.dumps(bound))
                uids = {name: uid_of(cluster, name) for name in ("good", "fine", "unallocated")}
                wrong = str(uuid.uuid4())
                asked = [("good", uids["good"]), ("fine", wrong), ("unallocated", uids["unallocated"]), ("fine", uids["fine"])]
                files = {path: path.read_bytes() for path in claim_files(node)}
                expect(len(files) == 2, f"files of claims: {sorted(path.name for path in files)}")

                def unlike(answers):
                    """What is wrong with them."""
                    if set(answers) != {uid for _, uid in asked}:
                        return f"asked was {asked}, answered {answers}"
                    for name in ("good", "fine"):
                        if [one["device"] for one in answers[uids[name]]] != before[name][0]:
                            return f"{name} has {answers[uids[name]]}, its pod {before[name]}"
                    refusals = [answers[wrong], answers[uids["unallocated"]]]
                    return not all(isinstance(text, str) for text in refusals) and f"not refused: {refusals}"

                first = standin.prepare(DRIVER, *asked)
                expect(not unlike(first), unlike(first))
                again = standin.prepare(DRIVER, *reversed(asked))
                expect(again == first, f"answered was {first}, and again {again}")
                expect({path: path.read_bytes() for path in claim_files(node)} == files, "the claims' files are others")

                # Nobody has this one; and what is given back is so however often that is said.
                unknown = ("nobody", str(uuid.uuid4()))
                for _ in range(2):
                    given = standin.unprepare(DRIVER, unknown, ("good", uids["good"]))
                    expect(given == {unknown[1]: [], uids["good"]: []}, f"given back: {given}")
                expect(len(claim_files(node)) == 1, "a claim that was given back has its file")
                back = standin.prepare(DRIVER, ("good", uids["good"]))
                expect(back == {uids["good"]: first[uids["good"]]}, f"prepared anew it has {back}")
                pods.delete(api, "good", "fine", "unallocated")
                until(lambda: not claim_files(node), 30, "no claim is prepared", every=0.05)
    return f"registered {took * 1000:.0f} ms after the name existed; “{first[uids['unallocated']]}”"


def dra_given_back(cluster):
    """Pods with claims end: while plughost has no API server, after the claim was deleted, and when plughost knows nothing of it"""
    node, api = cluster.node_a, cluster.api
    figures = []
    with cluster.relay() as relay, driver(cluster, node, cameras(gophers(node, "ann")), by_relay(node, cluster, relay)) as plughost:
        published.published(cluster, node, CAMERA, {"ann"})
        with made(cluster, device_class()):

            def given_back(how, between):
                with made(cluster, claim("held")):
                    api.create(claims.pod("holder", by_name("held")))
                    expect(claims.has(api, "holder")[0] == ["ann"], "it has something else than ann")
                    [file] = claim_files(node)
                    between(file)
                    started = time.monotonic()
                    pods.delete(api, "holder")
                    until(lambda: not claim_files(node), 10, f"{how}: the claim's file is gone", every=0.05)
                    figures.append(f"{how}: {time.monotonic() - started:.1f} s")

            def deleted(_):
                held = f"{claims.CLAIMS}/held"
                api.remove(held)
                api.patch(held, {"metadata": {"finalizers": None}})
                until(lambda: not api.exists(held), 10, "the claim has gone", every=0.05)

            def forgotten(file):
                plughost.kill()
                file.unlink()
                plughost.start()
                plughost.wait_for_line(published.REGISTERED, 10)

            def restarted(_):
                plughost.kill()
                plughost.start()
                plughost.wait_for_line(published.REGISTERED, 10)

            given_back("claim deleted", deleted)
            given_back("plughost restarted", restarted)
            given_back("unknown to it", forgotten)
            with made(cluster, claim("far")):
                api.create(claims.pod("far", by_name("far")))
                claims.has(api, "far")
                with relay.cut():
                    started = time.monotonic()
                    pods.delete(api, "far")
                    until(lambda: not claim_files(node), 10, "no API server: the claim's file is gone", every=0.05)
                    figures.append(f"no API server: {time.monotonic() - started:.1f} s")
            published.published(cluster, node, CAMERA, {"ann"})
    return ", ".join(figures)


def dra_leftovers(cluster):
    """The kubelet loses its state and a pod meanwhile: what was prepared for it is cleared within 10 min and not at once, and nothing of a pod that is there"""
    node, api = cluster.node_a, cluster.api
    with driver(cluster, node, cameras(gophers(node, "ann", "bob"))):
        published.published(cluster, node, CAMERA, {"ann", "bob"})
        with made(cluster, device_class(), claim("lost"), claim("kept")):
            files = {}
            for name in ("lost", "kept"):
                known = claim_files(node)
                api.create(claims.pod(name, by_name(name)))
                claims.has(api, name)
                [files[name]] = claim_files(node) - known
            before, container = claims.has(api, "kept"), pods.container(api, "kept")

            def lose():
                (node.folder / "lib/kubelet/dra_manager_state").unlink()
                api.delete("lost", seconds=0)
                until(lambda: not api.pod("lost"), 30, "pod lost has gone", every=0.05)

            node.restart_kubelet(signal.SIGKILL, lose)
            started = time.monotonic()
            until(lambda: "kept" in node.pods(), 30, "the kubelet knows its pods again", every=0.05)
            until(lambda: not files["lost"].exists(), 600, "what was prepared for pod lost is cleared", every=0.5)
            took = time.monotonic() - started
            expect(took > 60, f"cleared already after {took:.0f} s")
            # That something was prepared for it again would be another file.
            expect(files["kept"].exists() and claims.has(api, "kept") == before, "pod kept has not what it had")
            expect(pods.container(api, "kept") == container, "pod kept is another")
    return f"cleared after {took:.0f} s; what the other pod has is there"


def dra_health_streams(cluster):
    """Who reads health comes and goes, plughost itself, too: afterwards the pod's status follows the device as before"""
    taints_are_kept(cluster)
    if not cluster.allows("ResourceHealthStatus"):
        raise NotShown("the API server has no health in a pod's status (ResourceHealthStatus)")
    node, api = cluster.node_a, cluster.api
    folder = gophers(node, "ann", "bob")
    figures = []
    with driver(cluster, node, cameras(folder)) as plughost, made(cluster, device_class(), claim("holds")):
        published.published(cluster, node, CAMERA, {"ann", "bob"})
        api.create(claims.pod("holder", by_name("holds")))
        [[held], _] = claims.has(api, "holder")

        def shown(health):
            started = time.monotonic()
            until(lambda: claims.health(api, "holder") == {health}, 30, f"{held} is {health} in the pod's status", every=0.02)
            return time.monotonic() - started

        def follows(when):
            """From now on it may take 5 s until a kubelet reads again, and one to write the status."""
            settled = shown("Healthy")
            expect(settled < 7, f"{when}: Healthy only after {settled:.1f} s")
            (folder / held).unlink()
            until(lambda: taint_of(cluster, node, held), 10, f"{held} is tainted", every=0.02)
            sick = shown("Unhealthy")
            (folder / held).touch()
            well = shown("Healthy")
            expect(sick < 7 and well < 7, f"{when}: {sick:.1f} s and {well:.1f} s")
            figures.append(f"{when}: {sick:.1f} s and {well:.1f} s")

        # A device that changes more than 5 times in a minute is Unhealthy for half a minute: plughost's own restart forgets it.
        with Standin(cluster, node) as standin:
            until(lambda: standin.health(DRIVER).get(held) == "Healthy", 10, "the second kubelet reads the health")
            follows("two readers")
            until(lambda: standin.health(DRIVER).get(held) == "Healthy", 10, "the second kubelet hears it, too")
        follows("the second has gone")
        plughost.kill()
        plughost.start()
        plughost.wait_for_line(published.REGISTERED, 10)
        follows("plughost restarted")
        with node.kubelet_stopped():
            plughost.kill()
            plughost.start()
        plughost.wait_for_line(published.REGISTERED, 10)
        follows("and the kubelet slow to hear of it")
    return ", ".join(figures)
