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


def configmap_edit(cluster):
    """The DaemonSet of packaging/: an edit of its ConfigMap reaches allocatable, in the same container"""
    if not pathlib.Path("/dev/fuse").exists():
        raise NotShown("this machine has no /dev/fuse (modprobe fuse), which the manifest offers")
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
        for document in MANIFEST.read_text().split("\n---\n"):
            api.post(PLACES[re.search(r"^kind: (\w+)$", document, re.MULTILINE).group(1)], document)
        advertised(cluster, node, RESOURCE, 20)
        before = only_pod(api)
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
