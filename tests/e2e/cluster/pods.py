"""Pods as the replays use them: one busybox container that runs a script and then waits."""

import json

import images
from api import ApiError
from process import until

SHOWN = "-- shown --"
START_SECONDS = 60


class PodFailed(Exception):
    """A pod ended, and says why."""


def pod(name, limits, script, privileges=(), security=None, host_users=True, prepared=False):
    """YAML of a pod. limits: resource → count. The script must succeed, and what it writes is looked at. security: the pod's own context.

    prepared: an init container has the same limits, and ends at once.
    """
    first = {"name": "first", "image": images.NAME, "imagePullPolicy": "Never", "command": ["true"], "resources": {"limits": limits}}
    return f"""
apiVersion: v1
kind: Pod
metadata:
  name: {name}
spec:
  hostNetwork: {json.dumps(host_users)}  # there is no other network, and users of its own need one
  hostUsers: {json.dumps(host_users)}
  securityContext: {json.dumps(security or {})}
  restartPolicy: Never
  dnsPolicy: None  # a node may not see the machine's
  dnsConfig: {{nameservers: [192.0.2.1]}}
  initContainers: {json.dumps([first] if prepared else [])}
  containers:
  - name: main
    image: {images.NAME}
    imagePullPolicy: Never
    command: [sh, -ec, {json.dumps(f"{script}; echo '{SHOWN}'; trap exit TERM; sleep infinity & wait")}]
    resources:
      limits: {json.dumps(limits)}
    securityContext:
      capabilities:
        add: {json.dumps(list(privileges))}
"""


def output(api, name, container=""):
    """What the pod's script wrote, once it is done and the pod runs; PodFailed if it fails. container: which one, if it has several."""

    def done():
        status = api.pod(name)["status"]
        if status["phase"] == "Failed":
            log = "" if status.get("reason") else f"; it wrote: {api.log(name, container=container).strip()}"
            ends = [one["state"].get("terminated", {}).get("message", "") for one in status.get("containerStatuses", [])]
            raise PodFailed(f"pod {name} failed: {status.get('reason', '')} {status.get('message', '')}{' '.join(ends)}{log}")
        if any("waiting" in one["state"] for one in status.get("containerStatuses", [])):
            return False
        return status["phase"] == "Running" and SHOWN in (text := api.log(name, container=container)) and text

    return until(done, START_SECONDS, f"pod {name} runs", every=0.05).split(SHOWN)[0]


def why_pending(api, name):
    """The scheduler's words, once it found no node for the pod."""

    def words():
        for condition in api.pod(name)["status"].get("conditions", []):
            if condition["type"] == "PodScheduled" and condition.get("reason") == "Unschedulable":
                return condition["message"]
        return None

    return until(words, START_SECONDS, f"the scheduler says why pod {name} is Pending", every=0.05)


def container_of(pod):
    """Its container's id: another one would be another start."""
    [status] = pod["status"]["containerStatuses"]
    return status["containerID"].removeprefix("containerd://")


def container(api, name):
    return container_of(api.pod(name))


def health(api, name):
    """What the pod's status says of each device: id → Healthy, Unhealthy or Unknown."""
    [status] = api.pod(name)["status"]["containerStatuses"]
    return {
        device["resourceID"]: device["health"]
        for resource in status.get("allocatedResourcesStatus", []) for device in resource["resources"]
    }


def delete(api, *names):
    """Returns once they are gone, and their devices free."""
    for name in names:
        try:
            api.delete(name)
        except ApiError as error:
            if error.status != 404:  # it went by itself
                raise
    until(lambda: not any(api.pod(name) for name in names), START_SECONDS,
          f"gone: {', '.join(names)}", every=0.05)
