"""Replays of Dynamic Resource Allocation: what pods get by claims, templates, shares and extended resources."""

import json
import time

import claims
import pods
import published
from cards import Cards
from claims import CAMERA, by_name, by_template, cameras, claim, device_class, driver, made, request, template
from facts import NotShown, advertised, expect, gophers
from process import until

GPU = "plughost.test/gpu"


def dra_claim(cluster):
    """A pod with a ResourceClaim gets exactly its devices, by CDI: node and variable; two at once are a list"""
    node, api = cluster.node_a, cluster.api
    names = {"ann", "bob", "cyd"}
    with driver(cluster, node, cameras(gophers(node, *names))):
        published.published(cluster, node, CAMERA, names)
        with made(cluster, device_class(), claim("one"), claim("two", request(count=2)), claim("three")):
            started = time.monotonic()
            api.create(claims.pod("single", by_name("one")))
            single, nodes = claims.has(api, "single")
            took = time.monotonic() - started
            expect(single == claims.allocated(cluster, "one")["camera"] and nodes == set(single), f"it has {single} and {nodes}")
            api.create(claims.pod("double", by_name("two")))
            double, nodes = claims.has(api, "double")
            expect(sorted(double) == sorted(claims.allocated(cluster, "two")["camera"]) and nodes == set(double),
                   f"it has {double} and {nodes}")
            expect(set(single + double) == names, f"the two have {single} and {double}")
            [joined] = [line for line in pods.output(api, "double").splitlines() if line.startswith("CAMERA=")]
            expect(sorted(joined.removeprefix("CAMERA=").split(",")) == double, f"its variable is {joined}")
            api.create(claims.pod("none-left", by_name("three")))
            pods.why_pending(api, "none-left")
            pods.delete(api, "single")
            late, _ = claims.has(api, "none-left")
            expect(late == single, f"{single} is free, and it has {late}")
    return f"one ran after {took:.1f} s; two devices: {joined}"


def dra_template(cluster):
    """Claims by a template, two containers that each name one request, and a prioritized list: each has its own device"""
    node, api = cluster.node_a, cluster.api
    # A variable that joins devices would have a value for each of the requests.
    entries = cameras(gophers(node, "ann", "bob", "cyd"), env={"CAMERA_{id}": "{id}"})
    choice = {"name": "any", "firstAvailable": [{"name": "best", "deviceClassName": "none-such"},
                                                {"name": "good", "deviceClassName": "camera"}]}
    with driver(cluster, node, entries):
        published.published(cluster, node, CAMERA, {"ann", "bob", "cyd"})
        objects = device_class(), device_class("none-such", "false"), template("pair", request("left"), request("right"), choice)
        with made(cluster, *objects):
            containers = {side: [{"name": "camera", "request": side}] for side in ("left", "right", "any")}
            api.create(claims.pod("pair", by_template("pair"), {**containers, "none": []}))
            seen = {name: claims.has(api, "pair", name) for name in (*containers, "none")}
            results = claims.allocated(cluster, claims.claim_of(api, "pair"))
            expect(seen.pop("none") == ([], set()), "a container that names no claim has a device")
            wanted = {"left": results["left"], "right": results["right"], "any": results.get("any/good")}
            expect({name: named for name, (named, _) in seen.items()} == wanted, f"containers have {seen}, allocated is {results}")
            expect(all(nodes == set(named) for named, nodes in seen.values()), f"nodes: {seen}")
            made_claim = claims.claim_of(api, "pair")
            pods.delete(api, "pair")
            until(lambda: not api.exists(f"{claims.CLAIMS}/{made_claim}"), 30, "the claim goes with its pod", every=0.05)
    return f"left, right and any/good: {', '.join(name for named, _ in seen.values() for name in named)}"


def dra_shared(cluster, count=4):
    """Pods that share one claim start at once: all have the same device, and nobody else has it"""
    node, api = cluster.node_a, cluster.api
    with driver(cluster, node, cameras(gophers(node, "ann", "bob"))):
        published.published(cluster, node, CAMERA, {"ann", "bob"})
        with made(cluster, device_class(), claim("shared"), claim("own")):
            names = [f"sharer-{n}" for n in range(count)]
            for name in names:
                api.create(claims.pod(name, by_name("shared")))
            seen = [claims.has(api, name) for name in names]
            expect(seen == [seen[0]] * count and len(seen[0][0]) == 1, f"the sharers have {seen}")
            api.create(claims.pod("other", by_name("own")))
            other, _ = claims.has(api, "other")
            expect(other != seen[0][0], f"two claims have {other}")
            # It stays prepared as long as one of them is there.
            pods.delete(api, *names[1:])
            api.create(claims.pod("late-sharer", by_name("shared")))
            expect(claims.has(api, "late-sharer") == seen[0], "a late sharer has something else")
            words = claims.complaints(api, "late-sharer")
            expect(not words, f"the kubelet complained: {words}")
    return f"{count + 1} pods have {seen[0][0][0]}"


def dra_admin(cluster):
    """adminAccess: a pod of an administrator's sees a device that another one holds"""
    node, api = cluster.node_a, cluster.api
    namespace = {"metadata": {"labels": {"resource.kubernetes.io/admin-access": "true"}}}
    api.patch("/api/v1/namespaces/default", namespace)
    with driver(cluster, node, cameras(gophers(node, "ann"))):
        published.published(cluster, node, CAMERA, {"ann"})
        with made(cluster, device_class(), claim("mine"), claim("looks", request(adminAccess=True))):
            for name in ("mine", "looks"):
                api.create(claims.pod(name, by_name(name)))
                expect(claims.has(api, name)[0] == ["ann"], f"{name} has something else than ann")
    return "both have ann"


def dra_replicas(cluster):
    """`replicas`: one device with so many shares where capacity can be consumed, and so many devices where it cannot"""
    node, api = cluster.node_a, cluster.api
    shares = 4
    consumable = cluster.allows("DRAConsumableCapacity")
    with driver(cluster, node, cameras(gophers(node, "ann"), replicas=shares)):
        count = 1 if consumable else shares
        until(lambda: len(published.offers(cluster, node, CAMERA)) == count, 30, f"{count} devices in the pool", every=0.05)
        two = request(capacity={"requests": {"shares": "2"}}) if consumable else request(count=2)
        with made(cluster, device_class(), template("one"), template("two", two)):
            for name, of in (("first", "two"), ("second", "one"), ("third", "one"), ("fourth", "one")):
                api.create(claims.pod(name, by_template(of)))
                if name != "fourth":
                    named, nodes = claims.has(api, name)
                    expect(set(named) == nodes == {"ann"}, f"{name} has {named} and {nodes}")
            pods.why_pending(api, "fourth")
            pods.delete(api, "second")
            expect(claims.has(api, "fourth")[1] == {"ann"}, "the fourth has something else")
    return f"{count} device in the pool; shares of 2, 1 and 1 run, one more waits until a share is free"


def dra_memory(cluster):
    """`unit: {memory}`: pods share one card by the GiB, none gets parts of two, and each knows how much is its own"""
    if not cluster.allows("DRAConsumableCapacity"):
        raise NotShown("the API server knows no consumable capacity (DRAConsumableCapacity)")
    node, api = cluster.node_a, cluster.api
    cards = Cards(node, [f"card GPU-{n} minor={n} pci=0000:{59 + n:x}:00.0 memory=16384 lost=0" for n in range(2)])
    gpu = {"vendor": "nvidia", "unit": {"memory": "1GiB"}, "driverRoot": str(cards.root)}
    entry = {"name": GPU, "gpu": gpu, "advertise": "dra", "env": {"CARD": "{uuid}", "SHARE": "{units}"}}

    def seen(name):
        lines = dict(line.split("=", 1) for line in pods.output(api, name).splitlines() if line.startswith(("CARD=", "SHARE=")))
        return lines["CARD"], int(lines["SHARE"])

    def part(size):
        return request(capacity={"requests": {"memory": size}})

    with driver(cluster, node, f"\n- {json.dumps(entry)}\n", environment=cards.environment):
        until(lambda: len(published.offers(cluster, node, GPU)) == 2, 30, "two cards in the pool", every=0.05)
        sizes = {"six": 6, "ten": 10, "nine": 9, "eight": 8}
        with made(cluster, device_class(), *(template(name, part(f"{size}Gi")) for name, size in sizes.items())):
            found = {}
            for name in ("six", "ten", "nine"):
                api.create(claims.pod(name, by_template(name)))
                found[name] = seen(name)
                expect(found[name][1] == sizes[name], f"{name} has {found[name]}")
            expect(found["six"][0] == found["ten"][0] != found["nine"][0], f"they are on {found}")
            # 7 GiB are free on one card, and 0 on the other.
            api.create(claims.pod("eight", by_template("eight")))
            pods.why_pending(api, "eight")
    return f"6 and 10 GiB of {found['six'][0]}, 9 GiB of {found['nine'][0]}; 8 GiB wait"


def dra_parts(cluster):
    """`gpu: {whole: true}`: a divided card is chosen whole or by its parts: each part excludes the whole, and the whole all parts"""
    if not cluster.allows("DRAPartitionableDevices"):
        raise NotShown("the API server knows no devices with counters (DRAPartitionableDevices)")
    node, api = cluster.node_a, cluster.api
    cards = Cards(node, ["card GPU-0 minor=0 pci=0000:3b:00.0 memory=40960 mig=1",
                         "mig 0 MIG-0 gi=7 memory=4864 sms=14 slices=4:1 name=NVIDIA_A100_MIG_1g.5gb",
                         "mig 0 MIG-1 gi=8 memory=9856 sms=28 slices=0:2 name=NVIDIA_A100_MIG_2g.10gb",
                         "card GPU-1 minor=1 pci=0000:86:00.0 memory=40960"])
    gpu = {"vendor": "nvidia", "mig": "mixed", "whole": True, "driverRoot": str(cards.root)}
    entry = {"name": GPU, "gpu": gpu, "advertise": "dra"}
    of_type = {"whole": 'type == "mig-all"', "small": 'profile == "1g.5gb"', "large": 'profile == "2g.10gb"', "card": 'type == "gpu"'}

    def seen(name):
        return next(line.split("=", 1)[1] for line in pods.output(api, name).splitlines() if line.startswith("NVIDIA_VISIBLE_DEVICES="))

    def chosen(condition):
        # A device that has no such attribute would be an error.
        attribute = condition.split()[0]
        device = f'device.attributes["{published.DRIVER}"]'
        return request(selectors=[{"cel": {"expression": f"{attribute!r} in {device} && {device}.{condition}"}}])

    with driver(cluster, node, f"\n- {json.dumps(entry)}\n", environment=cards.environment):
        until(lambda: len(published.offers(cluster, node, GPU)) == 4, 30, "two parts, their card and another one in the pool", every=0.05)
        with made(cluster, device_class(), template("any"), *(template(name, chosen(each)) for name, each in of_type.items())):
            api.create(claims.pod("first", by_template("whole")))
            expect(seen("first") == "MIG-0,MIG-1", f"the whole card is {seen('first')}")
            for name in ("small", "large"):
                api.create(claims.pod(name, by_template(name)))
                pods.why_pending(api, name)
            # The other card is nobody's part.
            api.create(claims.pod("card", by_template("card")))
            expect(seen("card") == "GPU-1", f"the other card is {seen('card')}")
            pods.delete(api, "first")
            expect((seen("small"), seen("large")) == ("MIG-0", "MIG-1"), f"the parts are {seen('small')} and {seen('large')}")
            api.create(claims.pod("second", by_template("whole")))
            pods.why_pending(api, "second")
            pods.delete(api, "small", "second")
            api.create(claims.pod("third", by_template("whole")))
            pods.why_pending(api, "third")
            pods.delete(api, "large")
            expect(seen("third") == "MIG-0,MIG-1", f"the whole card is {seen('third')}")
            # Who does not choose has a part.
            pods.delete(api, "third")
            api.create(claims.pod("any", by_template("any")))
            expect(seen("any") == "MIG-0", f"any device is {seen('any')}")
    return "MIG-0,MIG-1 for one pod, then for two, then for one again; while one has a part nobody gets the whole card"


def dra_extended(cluster):
    """A pod with `limits: {plughost.test/camera: 1}` runs by DRA on one node and by a device plugin on the other"""
    if not cluster.allows("DRAExtendedResource"):
        raise NotShown("the API server knows no extended resources by DRA (DRAExtendedResource)")
    node, api = cluster.node_a, cluster.api
    with driver(cluster, node, cameras(gophers(node, "ann"))) as plughost, cluster.node() as second:
        published.published(cluster, node, CAMERA, {"ann"})
        folder = gophers(second, "bob")
        printed = plughost.command("dra", "classes", "--config", str(node.folder / "plughost.yaml"))
        documents = [text for text in printed.split("---\n") if "DeviceClass" in text]
        expect(documents and "extendedResourceName:" in printed, f"dra classes printed: {printed}")
        with second.plughost(f"resources:{claims.entry(CAMERA, folder)}"), made(cluster, *documents):
            advertised(cluster, second, CAMERA, 1)
            found = {}
            for name in ("old-spec-1", "old-spec-2"):
                api.create(pods.pod(name, {CAMERA: 1}, claims.SEEN))
                found[api_node(api, name)] = claims.has(api, name)
            expect(found == {node.name: (["ann"], {"ann"}), second.name: (["bob"], {"bob"})}, f"they have {found}")
            expect(CAMERA not in api.node(node.name)["status"]["allocatable"], f"{CAMERA} is allocatable of {node.name}, too")
    return f"{node.name}: ann by DRA; {second.name}: bob by its plugin; DeviceClass by `plughost dra classes`"


def api_node(api, name):
    """Where the pod runs, once it does."""
    pods.output(api, name)
    return api.pod(name)["spec"]["nodeName"]


def dra_beside(cluster):
    """One plughost, one file, both roads: a pod with a device of a plugin and one of a claim has both"""
    node, api = cluster.node_a, cluster.api
    resource = "plughost.test/token"
    both = cameras(gophers(node, "ann")) + f"\n- {json.dumps({'name': resource, 'count': 3, 'env': {'TOKEN': '{id}'}})}\n"
    with driver(cluster, node, both):
        published.published(cluster, node, CAMERA, {"ann"})
        advertised(cluster, node, resource, 3)
        with made(cluster, device_class(), claim("mixed")):
            pod = json.loads(claims.pod("mixed", by_name("mixed")))
            pod["spec"]["containers"][0]["resources"]["limits"] = {resource: 2}
            api.create(json.dumps(pod))
            words = pods.output(api, "mixed")
            tokens = [line for line in words.splitlines() if line.startswith("TOKEN=")]
            expect(claims.has(api, "mixed") == (["ann"], {"ann"}) and len(tokens[0].split(",")) == 2, f"it has {words}")
    return f"CAMERA=ann by its claim, {tokens[0]} by the plugin"
