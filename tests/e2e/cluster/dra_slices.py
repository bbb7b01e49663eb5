"""Replays of what a driver publishes: who takes it away, when it is back, and how often it is written."""

import contextlib
import json
import re
import signal
import time

import claims
import pods
import published
from claims import CAMERA, by_name, by_template, cameras, claim, device_class, driver, entry, made, template
from facts import GOPHER, advertised, counted_entry, expect, gopher_entry, gophers
from api import ApiError
from process import TimedOut, until
from with_api import by_relay, served_without

OTHER, TWIN = "plughost.test/other", "plughost.test/twin"


def dra_registration(cluster):
    """A new driver: its socket is in plugins_registry, the kubelet takes it, and claims are prepared at once"""
    node, api = cluster.node_a, cluster.api
    with made(cluster, device_class(), template("early")):
        api.create(claims.pod("early", by_template("early")))
        pods.why_pending(api, "early")
        started = time.monotonic()
        with driver(cluster, node, cameras(gophers(node, "ann"))):
            published.published(cluster, node, CAMERA, {"ann"})
            slices = time.monotonic() - started
            until(lambda: registered(node), 10, "the kubelet has registered the driver", every=0.02)
            taken = time.monotonic() - started
            expect(claims.has(api, "early")[0] == ["ann"], "it has something else than ann")
            sockets = [path.name for path in (node.folder / "lib/kubelet/plugins_registry").iterdir()]
            expect(any(published.DRIVER in name for name in sockets), f"plugins_registry has {sockets}")
            service = spoken(node)
            expect(service == {"v1"}, f"the kubelet calls it by {service}")
    expect(taken < 3, f"registered only {taken:.1f} s after the start")
    return f"published {slices:.1f} s and registered {taken:.1f} s after the start; a pod that waited ran"


def other_entry():
    return f"\n- {json.dumps({'name': OTHER, 'count': 2, 'advertise': 'dra'})}\n"


def registered(node):
    """Does the kubelet say that it has a plugin whose socket is ours?"""
    return re.search(r'^plugin_manager_total_plugins\{socket_path="[^"]*' + re.escape(published.DRIVER) + r'[^"]*",state="actual_state_of_world"\} 1$',
                     node.ask_kubelet("/metrics"), re.MULTILINE)


def spoken(node):
    """The versions of the service by which this kubelet has had claims prepared."""
    return set(re.findall(r'^dra_grpc_operations_duration_seconds_count{driver_name="' + re.escape(published.DRIVER)
                          + r'",grpc_status_code="OK",method_name="/k8s.io.kubelet.pkg.apis.dra.(\w+).DRAPlugin/NodePrepareResources"}',
                          node.ask_kubelet("/metrics"), re.MULTILINE))


def dra_kubelet_restart(cluster):
    """The kubelet deletes a node's slices when it starts: all are back at once, also after a late wipe; pods with claims live on"""
    node, api = cluster.node_a, cluster.api
    many = {f"cam-{n}" for n in range(70)}
    figures = []
    entries = cameras(gophers(node, *many)) + other_entry()
    with driver(cluster, node, entries) as plughost:
        published.published(cluster, node, CAMERA, many)
        with made(cluster, device_class(), claim("kept", camera_request()), template("new", camera_request())):
            api.create(claims.pod("steady", by_name("kept")))
            before = claims.has(api, "steady")
            container = pods.container(api, "steady")
            for number in (signal.SIGTERM, signal.SIGKILL):
                start, before_it = time.time(), len(plughost.said(published.REGISTERED))
                node.restart_kubelet(number)
                gone = published.wiped(cluster, node, start)
                until(lambda: len(plughost.said(published.REGISTERED)) > before_it, 30, "the kubelet has registered the driver", every=0.01)
                registration = time.time() - gone
                expect(registration < 3, f"{number.name}: registered only {registration:.2f} s after the kubelet's wipe")
                took = published.back(cluster, node, CAMERA, many, gone)
                expect(took < 1, f"{number.name}: back only {took:.2f} s after the wipe")
                figures.append(f"{number.name}: {took * 1000:.0f} ms, registered after {registration:.1f} s")
                late = time.time()
                cluster.api_as(node.certificate).remove(published.of_node(node))
                took = published.back(cluster, node, CAMERA, many, late)
                expect(took < 1, f"after a second wipe back only after {took:.2f} s")
                figures.append(f"a late wipe: {took * 1000:.0f} ms")
                expect(len(published.pool(cluster, node, OTHER)) == 2, f"{OTHER} is not back")
                until(lambda: "steady" in node.pods(), 30, "the kubelet knows its pods again", every=0.05)
                # A new sandbox, prepared by the kubelet that has forgotten, and one that it has never seen.
                name = f"after-{number.name.lower()}"
                api.create(claims.pod(name, by_template("new")))
                claims.has(api, name)
                expect(pods.container(api, "steady") == container and claims.has(api, "steady") == before, "the pod is not what it was")
    return ", ".join(figures)


def camera_request():
    return claims.request(selectors=[{"cel": {"expression": f'device.attributes["{published.DRIVER}"].entry == "{CAMERA}"'}}])


def dra_plughost_killed(cluster):
    """plughost is killed and started again: claims are prepared at once, nothing was wiped, and nothing is written anew"""
    node, api = cluster.node_a, cluster.api
    with driver(cluster, node, cameras(gophers(node, "ann", "bob"))) as plughost, made(cluster, device_class(), template("one")):
        published.published(cluster, node, CAMERA, {"ann", "bob"})
        api.create(claims.pod("steady", by_template("one")))
        steady, container = claims.has(api, "steady"), pods.container(api, "steady")
        before = published.identities(cluster, node)
        for number in range(2):
            plughost.kill()
            since = time.time()
            plughost.start()
            plughost.wait_for_line(published.REGISTERED, 10)
            took = time.time() - since
            expect(took < 3, f"registered only after {took:.1f} s")
            name = f"after-kill-{number}"
            api.create(claims.pod(name, by_template("one")))
            expect(set(claims.has(api, name)[0] + steady[0]) == {"ann", "bob"}, "two claims have one device")
            expect(not claims.complaints(api, name), f"the kubelet complained: {claims.complaints(api, name)}")
            pods.delete(api, name)
            written = published.asked(cluster, since)
            expect(not written, f"written although nothing changed: {[(one['verb'], one['requestURI']) for one in written]}")
        expect(published.identities(cluster, node) == before, "the slices are others")
        expect(pods.container(api, "steady") == container, "the pod is another")
    return f"registered {took:.1f} s after its start; no write in two restarts"


def dra_slice_deleted(cluster):
    """A slice that somebody deletes is back within a second, one that somebody edits is put right; another driver's is left alone"""
    node, api = cluster.node_a, cluster.api
    names = {"ann", "bob"}
    foreign = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": "foreign"}, "spec": {
        "driver": "other.example", "nodeName": node.name, "devices": [{"name": "theirs"}],
        "pool": {"name": node.name, "generation": 1, "resourceSliceCount": 1}}}
    api.post(published.SLICES, json.dumps(foreign))
    theirs = published.slices(cluster, node, "other.example")
    try:
        with driver(cluster, node, cameras(gophers(node, *names))):
            published.published(cluster, node, CAMERA, names)

            def repaired(do, change=None):
                [one] = published.slices(cluster, node)
                path = f"{published.SLICES}/{one['metadata']['name']}"
                since = time.time()
                do(path, *([change] if change else []))
                took = published.back(cluster, node, CAMERA, names, since)
                expect(took < 1, f"put right only after {took:.2f} s")
                return f"{took * 1000:.0f} ms"

            deleted = repaired(api.remove)
            edited = repaired(api.patch, {"spec": {"devices": [{"name": "dan"}]}})
            emptied = repaired(api.patch, {"spec": {"devices": None}})
            again = repaired(api.remove)
            expect(published.slices(cluster, node, "other.example") == theirs, "the other driver's slice is another")
    finally:
        api.remove(f"{published.of_node(node, 'other.example')}")
    return f"deleted: {deleted} and {again}, edited: {edited}, emptied: {emptied}; the other driver's is as it was"


def dra_tampered(cluster, rounds=5):
    """Slices are deleted, edited, edited and deleted again before anybody can have mended them: all are as they should be"""
    node, api = cluster.node_a, cluster.api
    names = [f"cam-{n}" for n in range(70)]
    with driver(cluster, node, cameras(gophers(node, *names))):
        published.published(cluster, node, CAMERA, names)
        for number in range(rounds):
            since = time.time()
            api.remove(published.of_node(node))
            for _ in range(2):
                for one in published.slices(cluster, node)[:1]:
                    with contextlib.suppress(ApiError):  # it may be gone
                        api.patch(f"{published.SLICES}/{one['metadata']['name']}", {"spec": {"devices": [{"name": "nobody"}]}})
            api.remove(published.of_node(node))
            try:
                published.published(cluster, node, CAMERA, names, seconds=65)  # plughost makes pauses, of half a minute at most
            except TimedOut as error:
                told = [(one["verb"], one["requestURI"], one["responseStatus"]["code"], f"{published.when(one) - since:.3f}")
                        for one in cluster.requests(published.AGENT) if published.when(one) >= since]
                raise TimedOut(f"round {number}: {error}; asked was {told}") from None
    return f"{rounds} times, whole again each time"


def dra_hotplug(cluster):
    """Devices come and go: one is one write, 100 in a second are 10 at most, and no state of a pool is torn"""
    node = cluster.node_a
    # Two slices, and in each are some that stay, so that none of them goes.
    names = [f"cam-{n:03}" for n in range(128)]
    kept, moving = names[::3], [name for n, name in enumerate(names) if n % 3]
    folder = gophers(node, *names)
    with driver(cluster, node, cameras(folder)):
        published.published(cluster, node, CAMERA, names)
        version = published.version(cluster, node)

        def writes(change, offered):
            """How many there were, and how long it took."""
            since = time.time()
            change()
            published.published(cluster, node, CAMERA, offered)
            found = published.written(cluster, since)
            return len(found), published.when(found[-1]) - since

        def storm(*order):
            """What is there goes, and what is not comes: 100 of them, in a second."""
            expect(len(order) == 100, f"{len(order)} devices")
            began = time.monotonic()
            for number, name in enumerate(order):
                until(lambda: time.monotonic() >= began + number / len(order), 5, "the next one's turn")
                path = folder / name
                path.unlink() if path.exists() else path.touch()

        gone, _ = writes(lambda: storm(*moving, *moving[:15]), [*kept, *moving[:15]])
        come, _ = writes(lambda: storm(*moving[15:], *moving[:15], *moving[:15]), names)
        expect(gone <= 10 and come <= 10, f"{gone} writes for a first hundred changes, {come} for a second")
        one, took = writes((folder / names[0]).unlink, names[1:])
        expect(one == 1, f"{one} writes for one device")
        states = published.always_whole(cluster, node, version)
    expect(took < 1, f"published only after {took:.2f} s")
    return f"100 in a second: {gone} and {come} writes; one device: 1, after {took * 1000:.0f} ms; {states} states, all whole"


def dra_growth(cluster):
    """From 1 to 200 devices and back to none: a pool grows over slices, and goes with its entry"""
    node = cluster.node_a
    names = [f"cam-{n}" for n in range(200)]
    folder = gophers(node, names[0])
    with driver(cluster, node, cameras(folder)) as plughost:
        published.published(cluster, node, CAMERA, names[:1])
        for name in names:
            (folder / name).touch()
        published.published(cluster, node, CAMERA, names)
        count = len(published.slices(cluster, node))
        expect(all(len(one["spec"]["devices"]) <= 64 for one in published.slices(cluster, node)), "a slice has more than 64 devices")
        before = published.identities(cluster, node)
        plughost.reload(claims.with_dra(node, cameras(folder) + other_entry()))
        until(lambda: len(published.offers(cluster, node, OTHER)) == 2, 30, f"the pool of {OTHER}", every=0.02)
        after = published.identities(cluster, node)
        expect(before.items() <= after.items(), "a reload that adds an entry wrote the other one's slices")
        plughost.reload(claims.with_dra(node, other_entry()))
        published.withdrawn(cluster, node, CAMERA)
    return f"200 devices in {count} slices; a reload writes what it changes alone"


def dra_thousand(cluster):
    """1,000 devices: published within 2 s of the start"""
    node = cluster.node_a
    names = [f"cam-{n}" for n in range(1000)]
    folder = gophers(node, *names)
    since = time.time()
    with driver(cluster, node, cameras(folder)):
        took = published.back(cluster, node, CAMERA, names, since)
        count = len(published.slices(cluster, node))
    expect(took < 2, f"published only after {took:.2f} s")
    return f"{count} slices after {took:.2f} s"


def dra_api_away(cluster, seconds=5):
    """plughost has no API server for 5 s: plugins serve as ever; back, it lists once and writes the one slice that differs"""
    node = cluster.node_a
    folder = gophers(node, "ann", "bob")
    entries = cameras(folder) + other_entry() + gopher_entry(gophers(node, "sam"))
    with cluster.relay() as relay, driver(cluster, node, entries, by_relay(node, cluster, relay)) as plughost:
        published.published(cluster, node, CAMERA, {"ann", "bob"})
        until(lambda: len(published.offers(cluster, node, OTHER)) == 2, 30, f"the pool of {OTHER}", every=0.02)
        advertised(cluster, node, GOPHER, 1)
        with relay.cut():
            end = time.monotonic() + seconds
            (folder / "cyd").touch()
            took = served_without(node, "static-away", GOPHER)
            while time.monotonic() < end:
                served_without(node, "static-again", GOPHER)
            plughost.command("status")
            since = time.time()
        published.published(cluster, node, CAMERA, {"ann", "bob", "cyd"})
        found = time.time() - since
        written, lists = published.written(cluster, since), published.asked(cluster, since, ("list",))
        expect(len(lists) <= 1 and len(written) == 1, f"{len(lists)} lists and {len(written)} writes")
    return f"a plugin's pod ran after {took:.1f} s without; published {found:.1f} s after, by 1 write and {len(lists)} list"


def dra_api_away_long(cluster):
    """The same for ten minutes"""
    return dra_api_away(cluster, 600)


def dra_sandbox(cluster):
    """A kubelet that has forgotten makes a pod's sandbox anew while plughost has no API server, and after plughost was killed, too: the claim is answered from its file"""
    node, api = cluster.node_a, cluster.api
    with (cluster.relay() as relay,
          driver(cluster, node, cameras(gophers(node, "ann", "bob")), by_relay(node, cluster, relay)) as plughost):
        published.published(cluster, node, CAMERA, {"ann", "bob"})
        with made(cluster, device_class(), claim("kept")):
            api.create(claims.pod("steady", by_name("kept"), restart="Always"))
            before = claims.has(api, "steady")
            with relay.cut():
                node.restart_kubelet(signal.SIGKILL)
                until(lambda: "steady" in node.pods(), 30, "the kubelet knows its pods again", every=0.05)
                took = new_sandbox(cluster, node, "steady")
                expect(claims.has(api, "steady") == before, f"the pod had {before}, and has something else")
                expect(not claims.complaints(api, "steady"), f"the kubelet complained: {claims.complaints(api, 'steady')}")
            # Once more by both, neither of which remembers: what the kubelet has kept of the first answer stays right.
            plughost.kill()
            plughost.start()
            plughost.wait_for_line(published.REGISTERED, 10)
            node.restart_kubelet(signal.SIGKILL)
            until(lambda: "steady" in node.pods(), 30, "the kubelet knows its pods again", every=0.05)
            again = new_sandbox(cluster, node, "steady")
            expect(claims.has(api, "steady") == before, f"the pod had {before}, and has something else after plughost's end")
            expect(not claims.complaints(api, "steady"), f"the kubelet complained: {claims.complaints(api, 'steady')}")
    return f"the pod ran in another sandbox after {took:.1f} s and {again:.1f} s, with {before[0][0]} as before"


def new_sandbox(cluster, node, name):
    """Ends the pod's sandbox and its container as a crash would, and waits for others. How long that took."""
    old = pods.container(cluster.api, name)
    started = time.monotonic()
    node.end_sandbox(name)

    def another():
        status = cluster.api.pod(name)["status"]
        [container] = status["containerStatuses"]
        return "running" in container["state"] and container["containerID"].removeprefix("containerd://") != old

    until(another, 90, f"pod {name} runs in another sandbox", every=0.05)
    return time.monotonic() - started


def dra_claim_waits(cluster, seconds=3):
    """A claim that comes while plughost has no API server waits within the kubelet's call, and is prepared once there is one"""
    node, api = cluster.node_a, cluster.api
    with cluster.relay() as relay, driver(cluster, node, cameras(gophers(node, "ann")), by_relay(node, cluster, relay)):
        published.published(cluster, node, CAMERA, {"ann"})
        with made(cluster, device_class(), claim("patient")):
            with relay.cut():
                api.create(claims.pod("patient", by_name("patient")))
                until(lambda: api.pod("patient")["spec"].get("nodeName"), 30, "the pod has a node", every=0.05)
                served_for(node, seconds)
                expect(not claims.complaints(api, "patient"), "the kubelet was refused instead of kept waiting")
            started = time.monotonic()
            expect(claims.has(api, "patient")[0] == ["ann"], "it has something else than ann")
            took = time.monotonic() - started
            expect(not claims.complaints(api, "patient"), f"the kubelet complained: {claims.complaints(api, 'patient')}")
    return f"it ran {took:.1f} s after the API server was back, without one failure"


def served_for(node, seconds):
    """So long the kubelet goes on with what it does."""
    end = time.monotonic() + seconds
    until(lambda: time.monotonic() > end and node.ask_kubelet("/healthz"), seconds + 10, "the kubelet is well", every=0.1)


def dra_credentials(cluster):
    """No kubeconfig at the start: plugins serve; DRA begins within a second of its coming, and lives through a rotation"""
    node = cluster.node_a
    late = node.fresh_folder() / "kubeconfig"
    folder = gophers(node, "ann")
    entries = cameras(folder) + counted_entry("plughost.test/token")
    with driver(cluster, node, entries, str(late)):
        advertised(cluster, node, "plughost.test/token", 10)
        expect(not published.slices(cluster, node), "there are slices without credentials")
        since = time.time()
        late.write_text(node.kubeconfig.read_text())
        took = published.back(cluster, node, CAMERA, {"ann"}, since)
        expect(took < 1, f"published only {took:.2f} s after the file's coming")
        node.rotate_certificate()
        published.published(cluster, node, CAMERA, {"ann"})
        (folder / "bob").touch()
        published.published(cluster, node, CAMERA, {"ann", "bob"})
    return f"published {took * 1000:.0f} ms after the kubeconfig's coming; the new certificate is used"


def dra_history(cluster):
    """410: the API server knows no old versions any more; what is done to a slice afterwards is put right"""
    node = cluster.node_a
    with driver(cluster, node, cameras(gophers(node, "ann"))):
        published.published(cluster, node, CAMERA, {"ann"})
        cluster.forget_history()
        [one] = published.slices(cluster, node)
        cluster.api.remove(f"{published.SLICES}/{one['metadata']['name']}")
        started = time.monotonic()
        published.published(cluster, node, CAMERA, {"ann"})
        took = time.monotonic() - started
    return f"back {took:.1f} s after it was deleted in a server without a history"


def dra_gates_off(cluster):
    """The API server drops what its gates forbid: plughost notices, says so once, writes what can be had, and does not go on writing"""
    node, api = cluster.node_a, cluster.api
    gates = ",".join(f"{gate}=false" for gate in ("DRADeviceTaints", "DRAConsumableCapacity", "DRAPartitionableDevices"))
    folder = gophers(node, "ann", "bob")
    with cluster.api_server_with(gates), driver(cluster, node, entry(TWIN, folder, advertise="dra", replicas=2)) as plughost:
        until(lambda: len(published.offers(cluster, node, TWIN)) == 4, 30, "2 devices of 2 shares are 4", every=0.02)
        # A scheduler hears of a new API server late, and of slices that went meanwhile: it shall not take those of another replay.
        with made(cluster, device_class(condition=f'device.attributes["{published.DRIVER}"].entry == "{TWIN}"'), template("one")):
            api.create(claims.pod("holder", by_template("one")))
            held, _ = claims.has(api, "holder")
            free = next(iter({"ann", "bob"} - set(held)))
            since = time.time()
            (folder / free).unlink()
            until(lambda: len(published.pool(cluster, node, TWIN)) == 2, 10, "who is gone is not in the pool", every=0.02)
            (folder / free).touch()
            until(lambda: len(published.pool(cluster, node, TWIN)) == 4, 10, "it is back", every=0.02)
            api.create(claims.pod("second", by_template("one")))
            claims.has(api, "second")
            written = len(published.asked(cluster, since))
            expect(written <= 6, f"{written} writes for a device that went and came")
        said = plughost.said("drops")
        expect(len(said) <= 1, f"said {len(said)} times: {said[:3]}")
    return f"4 devices instead of shares; {written} writes for one that went and came; “{said[0] if said else ''}”"


def dra_node_remade(cluster):
    """A node is deleted and made again: its slices belong to the new Node, so that they are not collected with the old one"""
    with cluster.node() as node, driver(cluster, node, cameras(gophers(node, "ann"))):
        published.published(cluster, node, CAMERA, {"ann"})

        def owner():
            return {reference["uid"] for one in published.slices(cluster, node) for reference in one["metadata"].get("ownerReferences", [])}

        old = cluster.api.node(node.name)["metadata"]["uid"]
        until(lambda: owner() == {old}, 10, "its slices belong to the Node", every=0.05)
        cluster.api.forget_node(node.name)
        node.restart_kubelet(signal.SIGKILL)
        new = until(lambda: (found := cluster.api.node(node.name)) and found["metadata"]["uid"], 30, "the Node is there again", every=0.05)
        started = time.monotonic()
        until(lambda: owner() == {new} and published.offers(cluster, node, CAMERA) == {"ann"}, 30, "its slices belong to the new Node", every=0.05)
        took = time.monotonic() - started
    return f"the new owner stands {took:.1f} s after the Node was there"


def dra_stopped(cluster):
    """SIGTERM takes plughost's own sockets away and leaves its slices, which the kubelet deletes half a minute later"""
    node = cluster.node_a
    with driver(cluster, node, cameras(gophers(node, "ann"))) as plughost:
        published.published(cluster, node, CAMERA, {"ann"})
        until(lambda: registered(node), 10, "the kubelet has registered the driver", every=0.02)
        before, since = published.identities(cluster, node), time.time()
        plughost.stop()
        left = list((node.folder / "lib/kubelet/plugins_registry").iterdir())
        expect(not left, f"plugins_registry still has {left}")
        expect(published.identities(cluster, node) == before, "the slices are others once it has stopped")
        gone = published.wiped(cluster, node, since, seconds=60) - since
        until(lambda: not published.slices(cluster, node), 10, "no slice is left", every=0.05)
        plughost.start()
        published.published(cluster, node, CAMERA, {"ann"})
    return f"its slices went {gone:.0f} s after it; they are back with it"
