"""Replays of a driver that is an account of its own, as in a pod, with what `plughost dra rbac` prints and no other right."""

import contextlib
import json
import subprocess

import claims
import images
import published
from api import ApiError
from claims import CAMERA, by_template, cameras, device_class, driver, made, template, with_dra
from facts import expect, gophers
from process import until

NAMESPACE = ACCOUNT = "plughost"
USER = f"system:serviceaccount:{NAMESPACE}:{ACCOUNT}"
ADMISSION = "/apis/admissionregistration.k8s.io/v1"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
ACCOUNTS = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts"
PLACES = {
    "ServiceAccount": ACCOUNTS,
    "ClusterRole": f"{RBAC}/clusterroles",
    "ClusterRoleBinding": f"{RBAC}/clusterrolebindings",
    "ValidatingAdmissionPolicy": f"{ADMISSION}/validatingadmissionpolicies",
    "ValidatingAdmissionPolicyBinding": f"{ADMISSION}/validatingadmissionpolicybindings",
}


@contextlib.contextmanager
def applied(api, text):
    """The documents are in the API server; gives the policy's path. At the end they are gone, the namespace with its pods, too."""
    paths = ["/api/v1/namespaces/" + NAMESPACE]
    try:
        api.post("/api/v1/namespaces", json.dumps({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}))
        for document in text.split("---\n")[1:]:
            [kind] = [line.removeprefix("kind: ") for line in document.splitlines() if line.startswith("kind: ")]
            paths.append(f"{PLACES[kind]}/{api.post(PLACES[kind], document)['metadata']['name']}")
        [policy] = [path for path in paths if "admissionpolicies" in path]
        yield policy
    finally:
        for path in reversed(paths):
            with contextlib.suppress(ApiError):  # it was not made
                api.remove(path)
        until(lambda: not any(map(api.exists, paths)), 60, f"gone: {paths}", every=0.05)


def carrier(api, node):
    """The pod on the node that the account is for; it need not run."""
    return api.post(f"/api/v1/namespaces/{NAMESPACE}/pods", json.dumps({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "plughost"},
        "spec": {
            "serviceAccountName": ACCOUNT, "automountServiceAccountToken": False, "nodeName": node.name, "hostNetwork": True,
            "dnsPolicy": "None", "dnsConfig": {"nameservers": ["192.0.2.1"]}, "terminationGracePeriodSeconds": 0,
            "containers": [{"name": "main", "image": images.NAME, "imagePullPolicy": "Never", "command": ["sleep", "infinity"]}],
        },
    }))


def token(api, pod=None):
    """The account's, bound to the pod as those are that the kubelet puts into it; without one it says nothing of a node."""
    bound = {"boundObjectRef": {"apiVersion": "v1", "kind": "Pod", "name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"]}} if pod else {}
    asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"audiences": [], "expirationSeconds": 3600, **bound}}
    return api.post(f"{ACCOUNTS}/{ACCOUNT}/token", json.dumps(asked))["status"]["token"]


def slice_of(node_name, of=published.DRIVER, name="tried"):
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": name}, "spec": {
        "driver": of, "nodeName": node_name, "devices": [{"name": "tried"}],
        "pool": {"name": f"{node_name}/tried", "generation": 1, "resourceSliceCount": 1}}}


def refusal(do):
    """The API server's words; None where it did it."""
    try:
        do()
    except ApiError as error:
        return str(error)
    return None


def dra_account(cluster):
    """What `plughost dra rbac` prints is taken by the API server, and enough: the account publishes and prepares, for its pod's node and driver alone"""
    node, api = cluster.node_a, cluster.api
    folder = node.fresh_folder()
    user = folder / "token"
    (folder / "kubeconfig").write_text(cluster.kubeconfig_text({"tokenFile": str(user)}))
    entries = cameras(gophers(node, "ann", "bob"))
    configuration = folder / "plughost.yaml"
    configuration.write_text(with_dra(node, entries, str(folder / "kubeconfig")))
    printed = node.run(cluster.plughost, "dra", "rbac", "--account", f"{NAMESPACE}/{ACCOUNT}", "--config", configuration)
    with applied(api, printed) as policy:
        own = token(api, carrier(api, node))
        user.write_text(own)

        def checked():
            status = api.get(policy).get("status", {})
            return "typeChecking" in status and status

        warnings = until(checked, 120, "the policy's expressions are checked", every=0.05)["typeChecking"].get("expressionWarnings")
        expect(not warnings, f"the API server warns of the policy: {warnings}")

        # Slices of others, for it to try its hand at.
        others = [slice_of("another", name="of-another-node"), slice_of(node.name, of="other.example", name="of-another-driver")]
        for one in others:
            api.post(published.SLICES, json.dumps(one))
        try:
            here, nowhere = cluster.api_with(own), cluster.api_with(token(api))
            trial = f"{published.SLICES}?dryRun=All"
            tries = {
                "a slice of another node": lambda: here.post(trial, json.dumps(slice_of("another"))),
                "a slice of no node": lambda: here.post(trial, json.dumps(of_all_nodes())),
                "another driver's slice": lambda: here.post(trial, json.dumps(slice_of(node.name, of="other.example"))),
                "a change of another node's": lambda: here.replace(f"{published.SLICES}/of-another-node"),
                "a change of another driver's": lambda: here.replace(f"{published.SLICES}/of-another-driver"),
                "the end of another node's": lambda: here.remove(f"{published.SLICES}/of-another-node"),
                "the end of another driver's": lambda: here.remove(f"{published.SLICES}/of-another-driver"),
                "a slice by a token without a pod": lambda: nowhere.post(trial, json.dumps(slice_of(node.name))),
            }
            # The server hears of a new policy, and of a new role, by watches of its own.
            until(lambda: all("ValidatingAdmissionPolicy" in (refusal(do) or "") for do in list(tries.values())[:3]), 30,
                  "the policy is in force", every=0.05)
            for what, do in tries.items():
                words = refusal(do)
                expect(words and "ValidatingAdmissionPolicy 'dra.plughost.test'" in words, f"{what}: {words or 'taken'}")
            expect(refusal(lambda: here.post(trial, json.dumps(slice_of(node.name)))) is None, "a slice of its own is refused")
            for what in ("/api/v1/pods", "/api/v1/secrets", claims.CLAIMS, f"{published.API}/deviceclasses"):
                expect(": 403 " in (refusal(lambda: here.get(what)) or ""), f"it may list {what}")

            with driver(cluster, node, entries, str(folder / "kubeconfig")), made(cluster, device_class(), template("one")):
                published.published(cluster, node, CAMERA, {"ann", "bob"})
                api.create(claims.pod("served", by_template("one")))
                named, nodes = claims.has(api, "served")
                expect(set(named) == nodes and len(named) == 1, f"it has {named} and {nodes}")
                # What somebody else deletes and edits it writes anew: it watches, updates and creates.
                [one] = published.slices(cluster, node)
                path = f"{published.SLICES}/{one['metadata']['name']}"
                api.patch(path, {"spec": {"devices": [{"name": "nobody"}]}})
                published.published(cluster, node, CAMERA, {"ann", "bob"})
                api.remove(path)
                published.published(cluster, node, CAMERA, {"ann", "bob"})
                missing = [line for line in doctor(cluster, node, configuration) if "may not" in line]
                expect(not missing, f"doctor says: {missing}")
            asked = [event for event in cluster.requests(published.AGENT) if event["user"]["username"] == USER]
            refused = [f"{event['verb']} {event['requestURI']}: {event['responseStatus']['code']}" for event in asked
                       if event["responseStatus"]["code"] in (401, 403, 422)]
            expect(not refused, f"refused: {refused}")
            kinds = sorted({f"{event['verb']} {event['objectRef']['resource']}" for event in asked
                            if event.get("objectRef", {}).get("resource", "selfsubjectaccessreviews") != "selfsubjectaccessreviews"})
            expect("create resourceslices" in kinds and "get resourceclaims" in kinds, f"it asked {kinds}")
        finally:
            for one in others:
                with contextlib.suppress(ApiError):  # it could be removed, which has been told
                    api.remove(f"{published.SLICES}/{one['metadata']['name']}")
    return f"{len(tries)} attempts at slices that are not its own refused; it asked: {', '.join(kinds)}"


def of_all_nodes():
    one = slice_of("another")
    del one["spec"]["nodeName"]
    one["spec"]["allNodes"] = True
    return one


def doctor(cluster, node, configuration):
    done = subprocess.run(node.inside(cluster.plughost, "doctor", "--config", configuration), capture_output=True, text=True)
    return (done.stdout + done.stderr).splitlines()
