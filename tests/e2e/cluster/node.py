"""One node: containerd, a kubelet, and plughost when a replay asks for it.

A node has a mount namespace with its own /run, /var/lib and /var/log, since the kubelet's device-plugin
directory is the same whatever its --root-dir says. Seen from outside they are folders below the cluster's.
"""

import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import ssl
import subprocess
import tempfile
import urllib.error
import urllib.request

import images
from api import ApiError
from daemon import Plughost
from identities import replace
from machine import make_cgroup
from process import Process, until

READY_SECONDS = 60
OWN = {"run": "/run", "lib": "/var/lib", "log": "/var/log"}
OTHERS = ["/etc/kubernetes", "/etc/rancher", "/var/snap"]

# As k0s has it: kubeadm's certificate, and the file that names it where a node's own files are.
KUBECONFIG = "k0s/kubelet.conf"
CERTIFICATE = "kubelet/pki/kubelet-client-current.pem"
KUBELET_PORT = 10250

CONTAINERD = """
version = 3
[plugins.'io.containerd.cri.v1.images'.pinned_images]
sandbox = '{image}'
[plugins.'io.containerd.cri.v1.runtime']
# Without CAP_SYS_RESOURCE nobody may lower oom_score_adj, and runc dies when it is told to.
restrict_oom_score_adj = true
{more}
[plugins.'io.containerd.cri.v1.runtime'.cni]
conf_dir = '{folder}/cni'
bin_dirs = ['{folder}/cni']
use_internal_loopback = true
[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
runtime_type = 'io.containerd.runc.v2'
container_annotations = ['plughost.test/*']
[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
BinaryName = '{runc}'
"""

# Pods use the node's network, but for those with users of their own, which may not: they have none, and a plugin that
# says so. The node is not ready before there is some configuration.
NETWORK = {"cniVersion": "1.0.0", "name": "none", "plugins": [{"type": "nothing"}]}
NO_NETWORK = '''#!/bin/sh
echo '{"cniVersion": "1.0.0", "interfaces": [{"name": "eth0", "sandbox": "none"}], "ips": [{"address": "192.0.2.2/32", "interface": 0}]}'
'''


class Node:
    """Constructed means that the scheduler may put pods here."""

    def __init__(self, cluster, name, address, gates, runtime):
        """gates: the kubelet's, as its --feature-gates has them; empty: as the version has them. runtime: lines of containerd's configuration."""
        self.name = name
        self.folder = cluster.folder / name
        self.plugins = self.folder / "lib/kubelet/device-plugins"
        self.static = self.folder / "lib/kubelet/manifests"
        self._cluster = cluster
        self._address = address
        self._gates = gates
        self._parts = contextlib.ExitStack()
        self._kubelet = None
        self._cgroup = f"{cluster.cgroup}/{name}"
        make_cgroup(self._cgroup)
        try:
            self._furnish()
            self._identify()
            self._start_containerd(runtime)
            self.import_image(self._cluster.image)
            self._start_kubelet()
            until(self._ready, READY_SECONDS, f"{name} is ready", every=0.05)
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """The API forgets the node and its pods. Containers that are left end with our namespaces."""
        if self._kubelet:
            self._kubelet.close()
            with contextlib.suppress(OSError, ApiError):  # not even the API may be there
                for pod in self._cluster.api.pod_names(self.name):
                    self._cluster.api.delete(pod, seconds=0)
                self._cluster.api.forget_node(self.name)
            self._cluster.trust.remove(self._authority)
        self._parts.close()

    def _furnish(self):
        for own in [*OWN, "cni"]:
            (self.folder / own).mkdir(parents=True)
        self.static.mkdir(parents=True)
        (self.folder / "cni/none.conflist").write_text(json.dumps(NETWORK))
        plugin = self.folder / "cni/nothing"
        plugin.write_text(NO_NETWORK)
        plugin.chmod(0o755)
        binds = "; ".join(f"mount --bind {self.folder / own} {where}" for own, where in OWN.items())
        # A machine that is a node itself has its own kubelet's files there.
        binds += "".join(f"; [ ! -d {where} ] || mount -t tmpfs none {where}" for where in OTHERS)
        # As on a machine that systemd started: pods may ask for mounts that come later.
        binds += "; mount --make-rshared /"
        self._holder = self._parts.enter_context(
            Process(["unshare", "--mount", "sh", "-ec", f"{binds}; echo furnished; exec sleep infinity"]))
        self._holder.wait_for_line("furnished", 10)

    def _identify(self):
        self._authority = self._cluster.trust.add()
        self.user = f"system:node:{self.name}"
        self.certificate = self.folder / "lib" / CERTIFICATE
        self.certificate.parent.mkdir(parents=True)
        self._certificates = 0
        self._write_certificate()
        self.kubeconfig = self.folder / "lib" / KUBECONFIG
        self.kubeconfig.parent.mkdir()
        self._write_kubeconfig(f"/var/lib/{CERTIFICATE}")

    def _write_kubeconfig(self, certificate):
        user = {"client-certificate": certificate, "client-key": certificate}
        replace(self.kubeconfig, self._cluster.kubeconfig_text(user))

    def replace_kubeconfig(self):
        """It names another certificate of the same user, in another place; the API server takes the one of before no more."""
        former = self._authority
        self._authority = self._cluster.trust.add()
        self._certificates += 1
        self.certificate = self.certificate.with_name(f"other-{self._certificates}.pem")
        self.certificate.write_text(self._authority.issue(self.user, "system:nodes"))
        until(lambda: self._taken(self.certificate), 30, "the API server takes the new certificate", every=0.05)
        self._write_kubeconfig(str(pathlib.Path("/var/lib", CERTIFICATE).with_name(self.certificate.name)))
        self._cluster.trust.remove(former)
        self.restart_kubelet(signal.SIGTERM)

    def _write_certificate(self):
        """As the kubelet's own rotation does: a file, and a link that is turned to it."""
        self._certificates += 1
        name = f"kubelet-client-{self._certificates}.pem"
        (self.certificate.parent / name).write_text(self._authority.issue(self.user, "system:nodes"))
        new = self.certificate.with_name("new")
        new.symlink_to(name)
        os.rename(new, self.certificate)

    def rotate_certificate(self):
        """Another certificate, of another authority, in the same place; soon the API server takes the old one no more.

        The kubelet is restarted: by itself it would look after minutes.
        """
        old_authority, old = self._authority, self.fresh_folder() / "old.pem"
        shutil.copy(self.certificate, old)
        self._authority = self._cluster.trust.add()
        self._write_certificate()
        until(lambda: self._taken(self.certificate), 30, "the API server takes the new certificate", every=0.05)
        self._cluster.trust.remove(old_authority)
        until(lambda: not self._taken(old), 30, "the API server takes the old certificate no more", every=0.05)
        self.restart_kubelet(signal.SIGTERM)

    def _taken(self, certificate):
        try:
            return self._cluster.api_as(certificate).node(self.name)
        except ApiError as error:
            if error.status == 401:
                return None
            raise

    def fresh_folder(self):
        """An empty one, for a replay's files."""
        return pathlib.Path(tempfile.mkdtemp(dir=self.folder))

    def inside(self, *arguments):
        """The command line that runs a program in the node's mount namespace."""
        return ["nsenter", f"--mount=/proc/{self._holder.pid}/ns/mnt", "--", *arguments]

    def import_image(self, archive):
        self._ctr("images", "import", archive)

    def _ctr(self, *arguments):
        return self.run(self._cluster.binaries / "ctr", "--namespace", "k8s.io", *arguments)

    def _log(self, part):
        return self._cluster.logs / f"{part}-{self.name}.log"

    def _start_containerd(self, more):
        binaries = self._cluster.binaries
        config = self.folder / "containerd.toml"
        config.write_text(
            CONTAINERD.format(image=images.NAME, folder=self.folder, runc=binaries / "runc", more=more))
        self._parts.enter_context(Process(
            self.inside(binaries / "containerd", "--config", config),
            {"PATH": f"{binaries}:{os.environ['PATH']}"},  # for its shim
            errors=self._log("containerd")))
        socket = self.folder / "run/containerd/containerd.sock"
        until(socket.exists, 20, f"containerd's socket on {self.name}")

    def _start_kubelet(self):
        config = self.folder / "kubelet.json"
        config.write_text(json.dumps({
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "address": self._address,
            "healthzBindAddress": self._address,
            "authentication": {"anonymous": {"enabled": True}, "webhook": {"enabled": False}},
            "authorization": {"mode": "AlwaysAllow"},
            "cgroupDriver": "cgroupfs",
            "cgroupRoot": f"/{self._cgroup}",
            "failCgroupV1": False,
            "failSwapOn": False,
            "containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock",
            # The disk is the machine's, and its being full is not what is tested.
            "evictionHard": {"memory.available": "1Mi"},
            "imageGCHighThresholdPercent": 100,
            "makeIPTablesUtilChains": False,
            # 10 s and 60 s by default. The replays are about what is told to whom, not how often.
            "nodeStatusUpdateFrequency": "1s",
            "syncFrequency": "1s",
            "oomScoreAdj": 0,
            "resolvConf": "",
            "staticPodPath": "/var/lib/kubelet/manifests",
            "volumePluginDir": "/var/lib/kubelet/volume-plugins",
            "maxPods": 1500,
            "featureGates": {name: value == "true" for name, value in
                             (gate.split("=") for gate in self._gates.split(",") if gate)},
        }))
        self._kubelet = Process(
            self.inside(
                self._cluster.binaries / "kubelet", f"--config={config}", f"--hostname-override={self.name}",
                f"--kubeconfig=/var/lib/{KUBECONFIG}", f"--node-ip={self._address}", "-v=2"),
            errors=self._log("kubelet"))

    def _ready(self):
        if not self._kubelet.running():
            raise RuntimeError(
                f"the kubelet ended with {self._kubelet.wait(1)}: see {self._log('kubelet').name}")
        node = self._cluster.api.node(self.name)
        if not node or node["spec"].get("taints"):
            return False
        conditions = node["status"].get("conditions", [])
        return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)

    def restart_kubelet(self, number, between=lambda: None):
        """Ends the kubelet with a signal and starts it again, as an init system does. between: what happens while there is none."""
        self._kubelet.signal(number)
        self._kubelet.wait(30)
        between()
        self._start_kubelet()

    def forget_resources_but(self, *kept):
        """After a kubelet's start without a checkpoint: it takes what earlier plugins left on the node for somebody's, and offers it."""
        capacity = self._cluster.api.node(self.name)["status"]["capacity"]
        gone = {key: None for key in capacity if "/" in key and key not in kept}
        self._cluster.api.patch(f"/api/v1/nodes/{self.name}/status", {"status": {"capacity": gone}})

    def checkpoint(self):
        """What the kubelet's checkpoint says, and when it was written; empty before the first."""
        path = self.plugins / "kubelet_internal_checkpoint"
        try:
            with open(path) as file:
                return json.load(file)["Data"], os.fstat(file.fileno()).st_mtime
        except FileNotFoundError:
            return {}, 0

    def registered(self, resource, count, since=0):
        """When the kubelet wrote that it knows so many healthy devices; None if it has not since then."""
        data, written = self.checkpoint()
        ids = (data.get("RegisteredDevices") or {}).get(resource) or []
        return written if written >= since and len(ids) == count else None

    def device_counts(self, resource):
        """The counts of healthy devices that the kubelet has had, in its own words, so far."""
        counts = []
        for line in self._log("kubelet").read_text(errors="replace").splitlines():
            if f'="{resource}"' in line and "Mark all resources Unhealthy" in line:
                counts.append(0)
            elif f'="{resource}"' in line and "Processed device updates" in line:
                counts.append(int(re.search(r"healthyCount=(\d+)", line).group(1)))
        return counts

    def given(self, uid):
        """Does the checkpoint say that the pod has devices?"""
        return any(entry["PodUID"] == uid for entry in self.checkpoint()[0].get("PodDeviceEntries") or [])

    def kill_container(self, container):
        """Its process ends as in a crash."""
        os.kill(self.tasks()[container], signal.SIGKILL)

    def end_container(self, container):
        """Its process is asked to end."""
        os.kill(self.tasks()[container], signal.SIGTERM)

    def tells_pods(self):
        """Does the kubelet tell its pods itself?"""
        return (self.folder / "lib/kubelet/pods-api/pods-api.sock").exists()

    def pods(self):
        """The names of the pods that the kubelet knows; none while it is not there."""
        try:
            known = self._cluster.api.get(f"/api/v1/nodes/{self.name}/proxy/pods")["items"]
        except ApiError:
            known = None
        return {pod["metadata"]["name"] for pod in known or []}

    def ask_kubelet(self, path):
        """What the kubelet itself answers, whether or not there is an API server."""
        context = ssl._create_unverified_context()  # of its own making
        with urllib.request.urlopen(f"https://{self._address}:{KUBELET_PORT}{path}", context=context, timeout=10) as answer:
            return answer.read().decode()

    def start_static(self, name, pod):
        """A pod that the kubelet starts without being told by the API server. pod is YAML."""
        # At once, as a whole: a kubelet that has read half of one does not always look again.
        whole = self.folder / f"{name}.yaml"
        whole.write_text(pod)
        whole.rename(self.static / whole.name)

    def stop_static(self, name):
        (self.static / f"{name}.yaml").unlink()

    def static_output(self, name):
        """What its container has written so far."""
        with contextlib.suppress(urllib.error.HTTPError):  # none yet
            return self.ask_kubelet(f"/containerLogs/default/{name}-{self.name}/main")
        return ""

    def tasks(self):
        """The process of each container that runs, sandboxes included."""
        rows = self._ctr("tasks", "list").splitlines()[1:]
        columns = map(str.split, rows)
        return {container: int(pid) for container, pid, status in columns if status == "RUNNING"}

    def specification(self, container):
        """The OCI specification that runc got."""
        tasks = self.folder / "run/containerd/io.containerd.runtime.v2.task/k8s.io"
        return json.loads((tasks / container / "config.json").read_text())

    def run(self, *arguments):
        """Standard output of a program in the node's mount namespace."""
        return subprocess.run(self.inside(*arguments), check=True, capture_output=True, text=True).stdout

    def plughost(self, configuration, environment=None):
        """plughost on this node, for a with-statement."""
        return Plughost(self, self._cluster.plughost, configuration, self._log("plughost"), environment)
