"""Replays of plughost in a container: the manifest that people apply, as it is."""

import contextlib
import json
import pathlib
import re
import time

import images
import pods
from api import ApiError
from facts import NotShown, advertised, expect
from process import until

MANIFEST = pathlib.Path(__file__).resolve().parents[3] / "packaging/kubernetes/daemonset.yaml"
NAMESPACE = "plughost"
PLACES = {
    "Namespace": "/api/v1/namespaces",
    "ConfigMap": f"/api/v1/namespaces/{NAMESPACE}/configmaps",
    "DaemonSet": f"/apis/apps/v1/namespaces/{NAMESPACE}/daemonsets",
}
RESOURCE = "example.com/fuse"  # what its ConfigMap offers


@contextlib.contextmanager
def namespace_goes(api):
    """The namespace goes at the end with all that is in it; its pods' words are printed if something fails."""
    try:
        yield
    except Exception:
        for pod in api.pods(NAMESPACE):
            name = pod["metadata"]["name"]
            print(f"--- {name}: {json.dumps(pod['status'].get('containerStatuses'))}")
            with contextlib.suppress(ApiError):
                print(api.log(name, NAMESPACE), flush=True)
        raise
    finally:
        namespace = f"{PLACES['Namespace']}/{NAMESPACE}"
        api.remove(namespace)
        until(lambda: not api.exists(namespace), 60, f"the namespace {NAMESPACE} is gone", every=0.05)


def only_pod(api):
    """False while there is none, or several."""
    found = api.pods(NAMESPACE)
    return len(found) == 1 and found[0]


def image_name():
    """Of the manifest."""
    return re.search(r"image: (\S+)", MANIFEST.read_text()).group(1)


def import_image(cluster):
    """plughost's, on the first node, under the manifest's name."""
    archive = cluster.folder / "plughost.tar"
    images.write_plughost(archive, cluster.plughost, image_name())
    cluster.node_a.import_image(archive)


def never_restarted(before, after):
    expect(pods.container_of(after) == pods.container_of(before), "the container is another one")
    [status] = after["status"]["containerStatuses"]
    expect(status["restartCount"] == 0, f"it was started {status['restartCount'] + 1} times")


def needs_fuse():
    if not pathlib.Path("/dev/fuse").exists():
        raise NotShown("this machine has no /dev/fuse (modprobe fuse), which the manifest offers")


def ready(pod):
    return any(one["type"] == "Ready" and one["status"] == "True" for one in pod["status"]["conditions"])


def started(cluster):
    """The pod of the manifest, as soon as it is ready and its devices are counted."""
    for document in MANIFEST.read_text().split("\n---\n"):
        cluster.api.post(PLACES[re.search(r"^kind: (\w+)$", document, re.MULTILINE).group(1)], document)
    advertised(cluster, cluster.node_a, RESOURCE, 20)
    return until(lambda: (found := only_pod(cluster.api)) and ready(found) and found, 60, "the pod is ready", every=0.05)


def configmap_edit(cluster):
    """The DaemonSet of packaging/: an edit of its ConfigMap reaches allocatable, in the same container"""
    needs_fuse()
    api, node = cluster.api, cluster.node_a
    import_image(cluster)

    def edit(count):
        """When the API server took it."""
        configuration = api.get(f"{PLACES['ConfigMap']}/plughost")["data"]["config.yaml"]
        edited = re.sub(r"count: \S+", f"count: {count}", configuration)
        expect(edited != configuration, f"nothing to edit in {configuration}")
        api.patch(f"{PLACES['ConfigMap']}/plughost", {"data": {"config.yaml": edited}})
        return time.monotonic()

    with namespace_goes(api):
        before = started(cluster)
        edited = edit(30)
        advertised(cluster, node, RESOURCE, 30)
        took = time.monotonic() - edited
        # One that cannot be used changes nothing, and says where it is wrong.
        edit("none")
        log = until(lambda: "stays in force" in (text := api.log(before["metadata"]["name"], NAMESPACE)) and text,
                    60, "the log says that the old configuration stays in force", every=0.05)
        expect(re.search(r"config\.yaml:\d+:\d+: .*count", log), f"no place in {log}")
        edit(25)
        advertised(cluster, node, RESOURCE, 25)
        never_restarted(before, only_pod(api))
    return f"allocatable followed the edit after {took:.1f} s (of which the kubelet's volume); one container, never restarted"


def rolling_update(cluster):
    """The DaemonSet of packaging/ gets new pods: from 1.37 on no device is missing; after an undone update the old pod serves again"""
    needs_fuse()
    api, node = cluster.api, cluster.node_a
    import_image(cluster)
    users = 0

    def roll(version, probe=None):
        """As `kubectl rollout restart` and `undo` do; with another command for the startup probe. The counts that the kubelet has had before."""
        so_far = len(node.device_counts(RESOURCE))
        path = f"{PLACES['DaemonSet']}/plughost"
        [container] = api.get(path)["spec"]["template"]["spec"]["containers"]
        container["startupProbe"]["exec"]["command"] = probe or usual_probe
        api.patch(path, {"spec": {"template": {
            "metadata": {"annotations": {"plughost.test/version": version}}, "spec": {"containers": [container]}}}})
        return so_far

    def successor(of):
        """The pod beside it, once that serves; pods are admitted meanwhile."""
        def serves():
            nonlocal users
            users += 1
            api.create(pods.pod(f"user-{users}", {RESOURCE: 1}, "test -c /dev/fuse"))
            pods.output(api, f"user-{users}")
            pods.delete(api, f"user-{users}")
            others = [one for one in api.pods(NAMESPACE) if one["metadata"]["uid"] != of["metadata"]["uid"]]
            return others and "taken over" in api.log(others[0]["metadata"]["name"], NAMESPACE) and others[0]

        return until(serves, 60, "a new pod has taken over", every=0)

    with namespace_goes(api):
        first = started(cluster)
        usual_probe = first["spec"]["containers"][0]["startupProbe"]["exec"]["command"]
        so_far = roll("2")
        second = successor(first)
        until(lambda: (left := only_pod(api)) and left["metadata"]["uid"] == second["metadata"]["uid"], 60,
              "the old pod is gone", every=0.05)
        counts = node.device_counts(RESOURCE)[so_far:]
        if node.tells_pods():
            expect(counts and set(counts) == {20}, f"the kubelet counted {counts}")
        never_restarted(only_pod(api), only_pod(api))

        # One that serves, and is found bad.
        roll("3", ["/nowhere"])
        successor(second)
        expect(len(api.pods(NAMESPACE)) == 2, "the old pod is gone before the new one is ready")
        so_far = roll("2")
        until(lambda: (left := only_pod(api)) and left["metadata"]["uid"] == second["metadata"]["uid"], 60,
              "the undone pod is gone", every=0.05)
        until(lambda: (again := node.device_counts(RESOURCE)[so_far:]) and again[-1] == 20, 30, f"20 of {RESOURCE} again", every=0.05)
        api.create(pods.pod("last", {RESOURCE: 20}, "test -c /dev/fuse"))
        pods.output(api, "last")
    return (f"the kubelet counted {sorted(set(counts))} while one pod took over from the other, and {users} pods ran;"
            " undone, the old pod serves again")
