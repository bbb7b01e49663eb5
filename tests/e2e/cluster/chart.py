"""Replays of the Helm chart: what Helm's own code renders (tests/helm) is taken by the API server; and a release of it runs."""

import json
import os
import pathlib
import subprocess
import time
import urllib.request

import pods
from api import ApiError
from daemonset import NAMESPACE, image_name, import_image, namespace_goes, never_restarted, only_pod
from facts import advertised, advertised_none, expect
from process import until

REPOSITORY = pathlib.Path(__file__).resolve().parents[3]
CHART = REPOSITORY / "packaging/helm/plughost"
RELEASE = "plughost"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
GROUPS = {
    "ConfigMap": "/api/v1", "Service": "/api/v1", "ServiceAccount": "/api/v1", "DaemonSet": "/apis/apps/v1",
    "ClusterRole": RBAC, "ClusterRoleBinding": RBAC,
    "PodMonitor": "/apis/monitoring.coreos.com/v1", "ServiceMonitor": "/apis/monitoring.coreos.com/v1",
}
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
RESOURCE = "farm.example/null"


def rendered(cluster, *values):
    """The chart's objects with these files of values."""
    done = subprocess.run([cluster.chart / "render", CHART, RELEASE, NAMESPACE, *values],
                          capture_output=True, text=True)
    expect(done.returncode == 0, f"{values}: {done.stderr}")
    return json.loads(done.stdout)


def place(one):
    """Where the API server has objects of its kind."""
    kind = one["kind"]
    namespace = "" if kind.startswith("Cluster") else f"/namespaces/{NAMESPACE}"
    return f"{GROUPS[kind]}{namespace}/{kind.lower()}s"


def make_namespace(api):
    api.post("/api/v1/namespaces", json.dumps({
        "apiVersion": "v1", "kind": "Namespace",
        "metadata": {"name": NAMESPACE, "labels": {"pod-security.kubernetes.io/enforce": "privileged"}},
    }))


def try_to_create(api, one):
    """All of the API server's checks; a field that it does not know is an error, too. Nothing is kept."""
    api.post(f"{place(one)}?dryRun=All&fieldValidation=Strict", json.dumps(one))


def chart_dry_run(cluster):
    """The Helm chart: the API server would take each object of each file of values in tests/helm"""
    api = cluster.api
    definitions = []
    for file in sorted((cluster.chart / "definitions").iterdir()):
        definitions.append(f"{DEFINITIONS}/{api.post(DEFINITIONS, file.read_text())['metadata']['name']}")
    try:
        for path in definitions:
            kind = path.rsplit("/", 1)[1].split(".")[0]
            until(lambda: api.exists(f"/apis/monitoring.coreos.com/v1/{kind}"), 30, f"{kind} are known", every=0.05)
        make_namespace(api)
        with namespace_goes(api):
            counts = {}
            files = sorted((REPOSITORY / "tests/helm/values").iterdir())
            for file in files:
                for one in rendered(cluster, file):
                    try:
                        try_to_create(api, one)
                    except ApiError as error:
                        raise AssertionError(f"{file.name}: {error}") from error
                    counts[one["kind"]] = counts.get(one["kind"], 0) + 1
            one["metadata"]["unknown"] = True
            try:
                try_to_create(api, one)
                raise AssertionError(f"a {one['kind']} with an unknown field was taken: this shows nothing")
            except ApiError as error:
                expect("unknown field" in str(error), str(error))
    finally:
        for path in definitions:
            api.remove(path)
    expect(set(counts) == set(GROUPS), f"not every kind was seen: {counts}")
    return f"{len(files)} files of values: " + ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items()))


def chart_upgrade(cluster):
    """The Helm chart, by helm: pods get what its values offer, and an upgrade reaches allocatable in the same container"""
    api, node = cluster.api, cluster.node_a
    import_image(cluster)
    values = cluster.folder / "values.json"
    repository, tag = image_name().rsplit(":", 1)

    def helm(*arguments):
        """What it writes. It keeps things below HOME."""
        done = subprocess.run(
            [cluster.chart / "helm", *arguments, "--namespace", NAMESPACE, "--kubeconfig", cluster.kubeconfig],
            env={**os.environ, "HOME": str(cluster.folder)}, capture_output=True, text=True)
        expect(done.returncode == 0, f"helm {arguments}: {done.stderr}")
        return done.stdout

    def upgrade(count, presets):
        """When Helm was done."""
        values.write_text(json.dumps({
            "image": {"repository": repository, "tag": tag},
            "domain": "farm.example",
            "devices": [{"name": "null", "groups": [{"count": count, "paths": [{"path": "/dev/null"}]}]}],
            "presets": presets,
            "metrics": {"enabled": True, "port": 19464},
        }))
        told = helm("upgrade", "--install", RELEASE, CHART, "--create-namespace", "--values", values)
        expect(f"-n {NAMESPACE} exec ds/{RELEASE}" in told, f"NOTES.txt says something else: {told}")
        return time.monotonic()

    upgrade(3, [])
    with namespace_goes(api):
        advertised(cluster, node, RESOURCE, 3)
        before = only_pod(api)
        metrics = f"http://{before['status']['hostIP']}:19464/metrics"
        with urllib.request.urlopen(metrics, timeout=10) as answer:
            expect("plughost_build_info" in answer.read().decode(), f"{metrics} has no metrics")
        api.create(pods.pod("user", {RESOURCE: 2}, "test -c /dev/null"))
        pods.output(api, "user")
        upgraded = upgrade(5, ["count"])
        advertised(cluster, node, RESOURCE, 5)
        took = time.monotonic() - upgraded
        advertised(cluster, node, "nicktming.com/gpu", 10)  # of the ready-made entry in the image
        never_restarted(before, only_pod(api))
        pods.delete(api, "user")
        helm("uninstall", RELEASE, "--wait")
        advertised_none(cluster, node, RESOURCE)
    return f"allocatable followed the upgrade after {took:.1f} s (of which the kubelet's volume); one container, never restarted"
