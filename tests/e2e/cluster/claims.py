"""ResourceClaims, what they are made from, and pods that have them."""

import contextlib
import json

import images
import pods
from api import ApiError
from facts import ENVIRONMENT
from process import until
from published import API, DRIVER, REGISTERED, SLICES
from with_api import configuration

CAMERA = "plughost.test/camera"
CLASS = "camera"
CLAIMS = f"{API}/namespaces/default/resourceclaims"
PLACES = {
    "DeviceClass": f"{API}/deviceclasses",
    "ResourceClaim": CLAIMS,
    "ResourceClaimTemplate": f"{API}/namespaces/default/resourceclaimtemplates",
}
# Each camera is a node that can be read, and nobody else's.
SEEN = (f"{ENVIRONMENT}; for node in /dev/camera-*; do [ ! -c $node ] || echo \"node=$node$(head -c 2 $node | od -A n -t u1)\"; done")


def cameras(folder, **more):
    """An entry by DRA: each file is a camera, and a container knows by name and by node which it has."""
    return entry(CAMERA, folder, advertise="dra", **more)


def entry(name, folder, **more):
    return "\n- " + json.dumps({
        "name": name,
        "directory": {"path": str(folder)},
        "env": {"CAMERA": "{id}"},
        "nodes": [{"hostPath": "/dev/zero", "containerPath": "/dev/camera-{id}"}],
        **more,
    }) + "\n"


@contextlib.contextmanager
def driver(cluster, node, entries, kubeconfig="auto", environment=None, **top):
    """plughost there, with DRA, and the kubelet has registered it. At the end the pods that hold claims go before it does, and its slices after it."""
    text = with_dra(node, entries, kubeconfig, **top)
    try:
        with node.plughost(text, environment) as plughost:
            try:
                # Before that the kubelet still calls whoever was there before, and a pod's next try is a minute away.
                plughost.wait_for_line(REGISTERED, 10)
                yield plughost
            finally:
                pods.delete(cluster.api, *cluster.api.pod_names(node.name))
    finally:
        for one in cluster.api.get(SLICES)["items"]:
            if one["spec"].get("nodeName") == node.name:
                with contextlib.suppress(ApiError):  # the kubelet may have been faster
                    cluster.api.remove(f"{SLICES}/{one['metadata']['name']}")


def with_dra(node, entries, kubeconfig="auto", **top):
    """The text of a configuration."""
    return configuration(node, entries, kubeconfig, dra={"driver": DRIVER}, **top)


def device_class(name=CLASS, condition="true", **more):
    """Of all devices of the driver for which the condition holds."""
    expression = f'device.driver == "{DRIVER}" && ({condition})'
    return _object("DeviceClass", name, {"selectors": [{"cel": {"expression": expression}}], **more})


def request(name="camera", of=CLASS, **more):
    """One device, unless it says more."""
    return {"name": name, "exactly": {"deviceClassName": of, **more}}


def claim(name, *requests, **more):
    return _object("ResourceClaim", name, {"devices": {"requests": requests or [request()], **more}})


def template(name, *requests, **more):
    return _object("ResourceClaimTemplate", name, {"spec": {"devices": {"requests": requests or [request()], **more}}})


def _object(kind, name, spec):
    return {"apiVersion": "resource.k8s.io/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}


@contextlib.contextmanager
def made(cluster, *objects):
    """They are in the API server, and gone at the end with the pods that hold them. An object or YAML."""
    paths = []
    try:
        for one in objects:
            paths.append(make(cluster, one))
        yield
    finally:
        try:
            pods.delete(cluster.api, *cluster.api.pod_names())
        finally:
            for path in reversed(paths):
                with contextlib.suppress(ApiError):  # a replay may have removed it
                    cluster.api.remove(path)
        until(lambda: not any(map(cluster.api.exists, paths)), 60, f"gone: {paths}", every=0.05)


def make(cluster, one):
    """One of them; its path."""
    kind = one["kind"] if isinstance(one, dict) else next(
        line.removeprefix("kind: ").strip('"') for line in one.splitlines() if line.startswith("kind: "))
    found = cluster.api.post(PLACES[kind], one if isinstance(one, str) else json.dumps(one))
    return f"{PLACES[kind]}/{found['metadata']['name']}"


def pod(name, claims, containers=None, node=None, restart="Never", script=SEEN, host_network=True):
    """JSON of a pod. claims: how it calls each of its claims → {"resourceClaimName": …} or {"resourceClaimTemplateName": …}.

    containers: name → which of these it has; default: one, main, that has all.
    """
    containers = containers or {"main": [{"name": each} for each in claims]}
    plain = [{
        "name": container,
        "image": images.NAME,
        "imagePullPolicy": "Never",
        "command": ["sh", "-ec", f"{script}; echo '{pods.SHOWN}'; trap exit TERM; sleep infinity & wait"],
        "resources": {"claims": has},
    } for container, has in containers.items()]
    return json.dumps({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {
            "hostNetwork": host_network,
            "restartPolicy": restart,
            "dnsPolicy": "None",
            "dnsConfig": {"nameservers": ["192.0.2.1"]},
            "nodeSelector": {"kubernetes.io/hostname": node.name} if node else {},
            "resourceClaims": [{"name": each, **source} for each, source in claims.items()],
            "containers": plain,
        },
    })


def by_name(name):
    return {"camera": {"resourceClaimName": name}}


def by_template(name):
    return {"camera": {"resourceClaimTemplateName": name}}


def has(api, name, container=""):
    """What its container has, once it runs: the cameras of its variables, and those whose nodes it can read."""
    lines = pods.output(api, name, container).splitlines()
    named = sorted({name for line in lines if line.startswith("CAMERA") for name in line.partition("=")[2].split(",")})
    nodes = {line.removeprefix("node=/dev/camera-").split()[0] for line in lines if line.startswith("node=") and line.split()[1:] == ["0", "0"]}
    return named, nodes


def allocated(cluster, name):
    """The devices that the scheduler gave the claim: request → names."""
    found = {}
    for one in cluster.api.get(f"{CLAIMS}/{name}")["status"].get("allocation", {}).get("devices", {}).get("results", []):
        found.setdefault(one["request"], []).append(one["device"])
    return found


def claim_of(api, pod_name, name="camera"):
    """What the claim is called that was made for the pod by a template, or that it names."""
    [status] = [one for one in api.pod(pod_name)["status"].get("resourceClaimStatuses", []) if one["name"] == name]
    return status["resourceClaimName"]


def complaints(api, pod_name):
    """The kubelet's words when it could not prepare something for the pod."""
    uid = api.pod(pod_name)["metadata"]["uid"]  # there may have been another one of that name
    return [one["message"] for one in api.events(pod_name)
            if one["reason"] == "FailedPrepareDynamicResources" and one["involvedObject"]["uid"] == uid]


def health(api, name):
    """What the pod's status says of its devices by claims: the set of it."""
    [status] = api.pod(name)["status"]["containerStatuses"]
    return {device.get("health") for resource in status.get("allocatedResourcesStatus", []) for device in resource["resources"]}
