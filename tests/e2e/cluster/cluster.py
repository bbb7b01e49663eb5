"""A control plane: etcd, API server, scheduler, controller manager; and the nodes that were asked for.

Everything is below one folder, in namespaces that machine.furnish() prepared.
"""

import contextlib
import json
import secrets
import subprocess

import images
from api import Api
from node import Node
from process import Process, until

# Addresses that are meant for documentation: they exist in our network namespace only.
API = "192.0.2.1"
NODE = "192.0.2.{}"
PORT = 6443


def add_address(address):
    subprocess.run(["ip", "address", "add", f"{address}/32", "dev", "lo"], check=True)


class Cluster:
    """Constructed means that the API server answers and the first node, node-a, is ready."""

    def __init__(self, folder, binaries, plughost, chart, logs, cgroup):
        self.folder = folder
        self.binaries = binaries
        self.plughost = plughost
        self.chart = chart  # what tests/helm/build has made
        self.logs = logs
        self.cgroup = cgroup
        self._nodes = 0
        self._parts = contextlib.ExitStack()
        try:
            add_address(API)
            self.image = folder / "busybox.tar"
            images.write_busybox(self.image)
            self._start_control_plane()
            self.node_a = self._parts.enter_context(self.node())
        except BaseException:
            self._parts.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._parts.close()

    def node(self):
        """Another node, for a with-statement: node-a, node-b and so on. The API forgets it at the end."""
        self._nodes += 1
        address = NODE.format(10 + self._nodes)
        add_address(address)
        return Node(self, f"node-{chr(ord('a') + self._nodes - 1)}", address)

    def _start(self, name, *arguments):
        ours = self.binaries / name
        return self._parts.enter_context(
            Process([ours if ours.exists() else name, *arguments], errors=self.logs / f"{name}.log"))

    def _start_control_plane(self):
        control = self.folder / "control"
        control.mkdir()
        token = secrets.token_hex(16)
        (control / "tokens.csv").write_text(f"{token},everybody,everybody,system:masters\n")
        etcd = "http://127.0.0.1:2379"
        self._start("etcd", f"--data-dir={control}/etcd", f"--listen-client-urls={etcd}",
                    f"--advertise-client-urls={etcd}", "--listen-peer-urls=http://127.0.0.1:2380",
                    "--unsafe-no-fsync")
        server = self._start_api_server(control, etcd)

        # It makes its own certificate, which is its own authority.
        authority = control / "apiserver.crt"
        until(lambda: authority.exists() or not server.running(), 30, "the API server's certificate")
        self.api = Api(API, PORT, token, authority)
        until(lambda: self.api.ready() or not server.running(), 90, "the API server's /readyz", every=0.05)
        if not server.running():
            raise RuntimeError(f"kube-apiserver ended with {server.wait(1)}: see kube-apiserver.log")

        self.kubeconfig = control / "kubeconfig"
        self._write_kubeconfig(token, authority)
        common = [f"--kubeconfig={self.kubeconfig}", "--leader-elect=false", "--secure-port=0"]
        self._start("kube-scheduler", *common)
        self._start("kube-controller-manager", *common)

    def _start_api_server(self, control, etcd):
        private, public = control / "accounts.key", control / "accounts.pub"
        for command in (["ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", private],
                        ["ec", "-in", private, "-pubout", "-out", public]):
            subprocess.run(["openssl", *command], check=True, capture_output=True)
        return self._start(
            "kube-apiserver",
            f"--etcd-servers={etcd}",
            f"--bind-address={API}",
            f"--secure-port={PORT}",
            f"--advertise-address={API}",
            f"--cert-dir={control}",
            f"--token-auth-file={control}/tokens.csv",
            "--authorization-mode=RBAC",
            "--allow-privileged",  # as every distribution says
            "--kubelet-preferred-address-types=InternalIP",
            "--service-cluster-ip-range=198.51.100.0/24",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={public}",
            f"--service-account-signing-key-file={private}",
            # Our pods do not talk to the API: they need no account.
            "--disable-admission-plugins=ServiceAccount",
        )

    def _write_kubeconfig(self, token, authority):
        server = {"server": f"https://{API}:{PORT}", "certificate-authority": str(authority)}
        self.kubeconfig.write_text(json.dumps({
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "e2e",
            "clusters": [{"name": "e2e", "cluster": server}],
            "users": [{"name": "e2e", "user": {"token": token}}],
            "contexts": [{"name": "e2e", "context": {"cluster": "e2e", "user": "e2e"}}],
        }))
