"""Replays of what plughost asks of the API server, as the kubelet's own user, and of how it lives without."""

import json
import subprocess
import time

import pods
from api import ApiError
from facts import ENVIRONMENT, GOPHER, advertised, advertised_none, counted_entry, expect, gopher_entry, gophers
from pods import SHOWN, pod
from process import until

LABEL = "plughost.test/farm"
LATE = "plughost.test/labelled"
AGENT = "plughost"


def configuration(node, resources, kubeconfig="auto", **more):
    """auto: the kubelet's own kubeconfig is found where it is."""
    top = {"apiServer": {"kubeconfig": kubeconfig, "node": node.name}, **more}
    return "".join(f"{key}: {json.dumps(value)}\n" for key, value in top.items()) + f"resources:{resources}"


def labelled_entry(count=10):
    return f"{counted_entry(LATE, count)}  when: {{label: {{{LABEL}: \"yes\"}}}}\n"


def label(cluster, node, value):
    """None takes it away."""
    cluster.api.patch(f"/api/v1/nodes/{node.name}", {"metadata": {"labels": {LABEL: value}}})


def follows_the_label(cluster, node):
    """It goes with the label and comes with it: so the API server is heard. The label is there at the end."""
    label(cluster, node, None)
    advertised_none(cluster, node, LATE)
    label(cluster, node, "yes")
    advertised(cluster, node, LATE, 10)


def served_without(node, name, resource):
    """A pod that the kubelet knows from its own disk has a device, as ever. How long its start took."""
    started = time.monotonic()
    node.start_static(name, pod(name, {resource: 1}, ENVIRONMENT))
    try:
        until(lambda: SHOWN in node.static_output(name), 30, f"static pod {name} runs", every=0.05)
        return time.monotonic() - started
    finally:
        node.stop_static(name)


def refused(cluster, agent=AGENT):
    """What the API server forbade it, or did not know it for."""
    return [f"{one['verb']} {one['requestURI']}: {one['responseStatus']['code']}" for one in cluster.requests(agent)
            if one["responseStatus"]["code"] in (401, 403)]


def kubelet_identity(cluster):
    """What the kubelet's own user may do: its pods' status and its node's, and neither a pod nor another node; also once its certificate is another"""
    node, api = cluster.node_a, cluster.api
    api.create(pod("whose", {}, "true"))
    pods.output(api, "whose")
    node.rotate_certificate()
    own = cluster.api_as(node.certificate)
    mark = {"metadata": {"annotations": {"plughost.test/mark": "made"}}}
    whose = "/api/v1/namespaces/default/pods/whose"
    expect([one["metadata"]["name"] for one in own.get(f"/api/v1/pods?fieldSelector=spec.nodeName={node.name}")["items"]] == ["whose"],
           "it does not list its own pods")
    own.patch(f"{whose}/status", mark)
    expect(api.pod("whose")["metadata"]["annotations"]["plughost.test/mark"] == "made", "its mark is not on the pod")
    own.patch(f"/api/v1/nodes/{node.name}/status", {"status": {"capacity": {"plughost.test/cards": "2"}}})
    advertised(cluster, node, "plughost.test/cards", 2)
    own.patch(f"/api/v1/nodes/{node.name}/status", {"status": {"capacity": {"plughost.test/cards": None}}})
    api.post("/api/v1/nodes", json.dumps({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "another"}}))
    try:
        for what, path in (("a pod", whose), ("another node", "/api/v1/nodes/another/status")):
            try:
                own.patch(path, mark)
                raise AssertionError(f"it may patch {what}")
            except ApiError as error:
                expect(error.status == 403, f"{what}: {error}")
    finally:
        api.forget_node("another")
    return "pods listed by spec.nodeName, pods/status and nodes/status patched; a pod and another node: 403"


def node_label(cluster):
    """`when: {label}` from the Node object: the entry comes with the label and goes with it"""
    node = cluster.node_a
    with node.plughost(configuration(node, gopher_entry(gophers(node, "ann")) + labelled_entry())) as plughost:
        advertised(cluster, node, GOPHER, 1)
        expect(cluster.api.node(node.name)["status"]["allocatable"].get(LATE, "0") == "0", f"{LATE} is there without the label")
        started = time.monotonic()
        label(cluster, node, "yes")
        advertised(cluster, node, LATE, 10)
        took = time.monotonic() - started
        follows_the_label(cluster, node)
        label(cluster, node, None)
        advertised_none(cluster, node, LATE)
        attached = plughost.attachments(GOPHER)
        expect(attached == 1, f"{GOPHER} was attached {attached} times")
        expect(not (words := refused(cluster)), f"refused: {words}")
    return f"{LATE} was there {took:.1f} s after the label; nothing was refused to system:node"


def device_events(cluster):
    """A device that a pod holds turns Unhealthy, and Healthy again: Events on the node and on the pod say so"""
    node = cluster.node_a
    folder = gophers(node, "lou")
    with node.plughost(configuration(node, gopher_entry(folder), events=True)):
        advertised(cluster, node, GOPHER, 1)
        cluster.api.create(pod("event-holder", {GOPHER: 1}, ENVIRONMENT))
        pods.output(cluster.api, "event-holder")

        def told(name, kind):
            return [one for one in cluster.api.events(name)
                    if "lou" in one["message"] and one["type"] == kind and one["source"].get("component") == "plughost"]

        def both(kind):
            for name in (node.name, "event-holder"):
                until(lambda: told(name, kind), 30, f"a {kind} event on {name} that names lou", every=0.1)

        (folder / "lou").unlink()
        both("Warning")
        (folder / "lou").touch()
        both("Normal")
        words = told("event-holder", "Warning")[0]
    return f"{words['reason']}: “{words['message']}”"


def rights(cluster):
    """doctor names what its user may not do: nothing under the kubelet's own, each verb under a stranger's"""
    node = cluster.node_a
    resources = gopher_entry(gophers(node, "ira")) + labelled_entry()
    poor = node.fresh_folder()
    authority = cluster.trust.add()
    (poor / "user.pem").write_text(authority.issue("stranger", "strangers"))
    user = {"client-certificate": str(poor / "user.pem"), "client-key": str(poor / "user.pem")}
    (poor / "kubeconfig").write_text(cluster.kubeconfig_text(user))

    def doctor(text):
        path = node.fresh_folder() / "plughost.yaml"
        path.write_text(text)
        done = subprocess.run(node.inside(cluster.plughost, "doctor", "--config", path), capture_output=True, text=True)
        return [line for line in (done.stdout + done.stderr).splitlines() if "API server" in line or "may not" in line]

    rich = configuration(node, resources, events=True)
    strange = rich.replace('"auto"', json.dumps(str(poor / "kubeconfig")))
    expect(strange != rich, "one configuration is the other")
    with node.plughost(rich):
        advertised(cluster, node, GOPHER, 1)
        allowed = doctor(rich)
        expect(allowed and not any("may not" in line for line in allowed), f"under the kubelet's own user: {allowed}")
        until(lambda: any("may not" in line for line in doctor(strange)), 30, "doctor names what a stranger may not", every=0.2)
        missing = [line for line in doctor(strange) if "may not" in line]
        words = " ".join(missing)
        for part in ("nodes", "events"):
            expect(part in words, f"no {part} in {missing}")
    cluster.trust.remove(authority)
    return f"system:node: all allowed; a stranger: “{missing[0].strip()}”"


def by_relay(node, cluster, relay):
    """A file: the kubelet's own kubeconfig, but for the way to the API server."""
    path = node.fresh_folder() / "kubeconfig"
    path.write_text(node.kubeconfig.read_text().replace(cluster.address, relay.address))
    return str(path)


def api_server_away(cluster, seconds=5):
    """No API server for 5 s, then one that takes connections and does not answer: pods with devices start as ever"""
    node, api = cluster.node_a, cluster.api
    label(cluster, node, "yes")
    with cluster.relay() as relay:
        text = configuration(node, gopher_entry(gophers(node, "sam")) + labelled_entry(), by_relay(node, cluster, relay))
        with node.plughost(text) as plughost:
            advertised(cluster, node, GOPHER, 1)
            advertised(cluster, node, LATE, 10)
            before = served_without(node, "static-before", GOPHER)

            def served(name, resource):
                started = time.monotonic()
                api.create(pod(name, {resource: 1}, ENVIRONMENT))
                pods.output(api, name)
                took = time.monotonic() - started
                pods.delete(api, name)
                return took

            starts = []
            # Where it is silent to the kubelet, too, no pod starts, whoever gives devices.
            for how, away, start in (("stopped", cluster.api_server_stopped, lambda *what: served_without(node, *what)),
                                     ("silent", relay.silent, served)):
                with away():
                    end, count = time.monotonic() + seconds, 0
                    while time.monotonic() < end or count == 0:
                        count += 1
                        starts += [start(f"{how}-{n}-{count}", resource) for n, resource in enumerate((GOPHER, LATE))]
                    plughost.command("status")
                follows_the_label(cluster, node)
            label(cluster, node, None)
            advertised_none(cluster, node, LATE)
            attached = plughost.attachments(GOPHER)
            expect(attached == 1, f"{GOPHER} was attached {attached} times")
    return f"{len(starts)} pods, the slowest ran after {max(starts):.1f} s (before: {before:.1f} s); then the API server is heard again"


def api_server_away_long(cluster):
    """The same for a minute each"""
    return api_server_away(cluster, 60)


def forgotten_history(cluster):
    """410: the API server is another one and knows no old versions; what changes afterwards is heard"""
    node = cluster.node_a
    with node.plughost(configuration(node, gopher_entry(gophers(node, "may")) + labelled_entry())):
        advertised(cluster, node, GOPHER, 1)
        cluster.forget_history()
        started = time.monotonic()
        label(cluster, node, "yes")
        advertised(cluster, node, LATE, 10)
        took = time.monotonic() - started
        follows_the_label(cluster, node)
        label(cluster, node, None)
        advertised_none(cluster, node, LATE)
    return f"the label was heard {took:.1f} s after the API server was back"


def certificate_rotation(cluster):
    """The kubelet's certificate is another one, and the old is worth nothing: plughost goes on by the new one, unrestarted"""
    node = cluster.node_a
    with node.plughost(configuration(node, gopher_entry(gophers(node, "eve")) + labelled_entry())) as plughost:
        advertised(cluster, node, GOPHER, 1)
        follows_the_label(cluster, node)
        node.rotate_certificate()
        follows_the_label(cluster, node)
        # A watch is not asked twice who it is.
        with cluster.api_server_stopped():
            pass
        started = time.monotonic()
        label(cluster, node, None)
        advertised_none(cluster, node, LATE)
        took = time.monotonic() - started
        follows_the_label(cluster, node)
        label(cluster, node, None)
        advertised_none(cluster, node, LATE)
        plughost.command("status")
    return f"a new API server, which refuses the old certificate: heard after {took:.1f} s"
