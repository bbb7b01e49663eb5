"""A control plane: etcd, API server, scheduler, controller manager; and the nodes that were asked for.

Everything is below one folder, in namespaces that machine.furnish() prepared.
"""

import contextlib
import json
import secrets
import signal
import subprocess
import urllib.request

import images
from api import Api
from identities import Trust, kubeconfig, new_key, openssl
from node import Node
from process import Process, until
from relay import Relay

# Addresses that are meant for documentation: they exist in our network namespace only.
API = "192.0.2.1"
NODE = "192.0.2.{}"
PORT = 6443
RELAY_PORT = 7443
ETCD = "http://127.0.0.1:2379"

ADMINISTRATOR, SCHEDULER, CONTROLLERS = "administrator", "system:kube-scheduler", "system:kube-controller-manager"

# What nodes, and who is not named here, ask: a line each with its body, once it is answered.
AUDITED = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived", "ResponseStarted", "Panic"],
    "rules": [
        {"level": "None", "users": [ADMINISTRATOR, SCHEDULER, CONTROLLERS]},
        {"level": "None", "userGroups": ["system:serviceaccounts:kube-system"]},
        {"level": "None", "resources": [{"group": "coordination.k8s.io"}]},
        {"level": "Request"},
    ],
}


def add_address(address):
    subprocess.run(["ip", "address", "add", f"{address}/32", "dev", "lo"], check=True)


class ControlPlane:
    """Constructed means that API server answers. Nobody schedules, and there is no node."""

    def __init__(self, folder, binaries, logs):
        self.folder = folder
        self.binaries = binaries
        self.logs = logs
        self.address = f"https://{API}:{PORT}"
        self._parts = contextlib.ExitStack()
        try:
            add_address(API)
            self._start_control_plane()
        except BaseException:
            self._parts.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._parts.close()

    def _start(self, name, *arguments):
        ours = self.binaries / name
        return self._parts.enter_context(
            Process([ours if ours.exists() else name, *arguments], errors=self.logs / f"{name}.log"))

    def _start_control_plane(self):
        control = self.folder / "control"
        control.mkdir()
        self.trust = Trust(control)
        self._tokens = {user: secrets.token_hex(16) for user in (ADMINISTRATOR, SCHEDULER, CONTROLLERS)}
        (control / "tokens.csv").write_text("".join(
            f"{token},{user},{user}{',system:masters' if user == ADMINISTRATOR else ''}\n"
            for user, token in self._tokens.items()))
        self._start("etcd", f"--data-dir={control}/etcd", f"--listen-client-urls={ETCD}",
                    f"--advertise-client-urls={ETCD}", "--listen-peer-urls=http://127.0.0.1:2380",
                    "--unsafe-no-fsync")
        self._audit = control / "audit.log"
        self._asked, self._audited = [], 0  # what has been read of it, and how far
        self._command = self._api_server_command(control)
        self._server = self._start_api_server()

        # It makes its own certificate, which is its own authority.
        self._authority = control / "apiserver.crt"
        until(lambda: self._authority.exists() or not self._server.running(), 30, "the API server's certificate")
        self.api = Api(API, PORT, self._authority, token=self._tokens[ADMINISTRATOR])
        self._wait_for_api_server()

        self.kubeconfig = self._kubeconfig_file(control / "administrator.conf", self._tokens[ADMINISTRATOR])

    def _kubeconfig_file(self, path, token):
        path.write_text(self.kubeconfig_text({"token": token}))
        return path

    def kubeconfig_text(self, user):
        """user: as a kubeconfig says who one is."""
        return kubeconfig(self.address, self._authority, user)

    def api_as(self, certificate):
        """The API for who has the file with a client certificate and its key."""
        return Api(API, PORT, self._authority, certificate=certificate)

    def api_with(self, token):
        """The API for who has the token."""
        return Api(API, PORT, self._authority, token=token)

    def _api_server_command(self, control):
        private, public = control / "accounts.key", control / "accounts.pub"
        new_key(private)
        openssl("ec", "-in", private, "-pubout", "-out", public)
        policy = control / "audit.json"
        policy.write_text(json.dumps(AUDITED))
        return [
            f"--etcd-servers={ETCD}",
            f"--bind-address={API}",
            f"--secure-port={PORT}",
            f"--advertise-address={API}",
            f"--cert-dir={control}",
            f"--token-auth-file={control}/tokens.csv",
            f"--client-ca-file={self.trust.file}",
            "--authorization-mode=Node,RBAC",
            "--enable-admission-plugins=NodeRestriction",
            "--allow-privileged",  # as every distribution says
            "--kubelet-preferred-address-types=InternalIP",
            "--service-cluster-ip-range=198.51.100.0/24",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={public}",
            f"--service-account-signing-key-file={private}",
            # Our pods do not talk to the API: they need no account.
            "--disable-admission-plugins=ServiceAccount",
            f"--audit-policy-file={policy}",
            f"--audit-log-path={self._audit}",
            "--audit-log-maxsize=2000",  # MB; one file, whatever a run asks
        ]

    def _start_api_server(self):
        return self._start("kube-apiserver", *self._command)

    def _wait_for_api_server(self):
        until(lambda: self.api.ready() or not self._server.running(), 90, "the API server's /readyz", every=0.05)
        if not self._server.running():
            raise RuntimeError(f"kube-apiserver ended with {self._server.wait(1)}: see kube-apiserver.log")

    @contextlib.contextmanager
    def api_server_stopped(self):
        """There is none: connections are refused. Afterwards it answers, and remembers no change from before."""
        self._server.signal(signal.SIGKILL)
        self._server.wait(10)
        try:
            yield
        finally:
            self._server = self._start_api_server()
            self._wait_for_api_server()

    def relay(self):
        """Another way to the API server, for a with-statement."""
        return Relay(API, PORT, RELAY_PORT)

    def forget_history(self):
        """Who watches from a version before this one is told 410, Gone: neither etcd nor the API server knows the changes since."""
        with self.api_server_stopped():
            # Something that is none of its objects: so every version that it has given is an old one.
            version = self._etcd("put", {"key": "bmV3", "value": ""})["header"]["revision"]
            self._etcd("compaction", {"revision": version, "physical": True})

    @staticmethod
    def _etcd(call, document):
        request = urllib.request.Request(f"{ETCD}/v3/kv/{call}", json.dumps(document).encode())
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    def requests(self, agent):
        """What programs that call themselves so asked the API server and it answered, in this order."""
        with open(self._audit, "rb") as file:
            file.seek(self._audited)
            # The last line may be half of one still.
            while (line := file.readline()).endswith(b"\n"):
                self._asked.append(json.loads(line))
                self._audited = file.tell()
        return [event for event in self._asked if event.get("userAgent", "").startswith(agent)]


class Cluster(ControlPlane):
    """Constructed means that the first node, node-a, is ready, too."""

    def __init__(self, folder, binaries, plughost, chart, logs, cgroup, gates=""):
        super().__init__(folder, binaries, logs)
        self.plughost = plughost
        self.chart = chart  # what tests/helm/build has made
        self.cgroup = cgroup
        self.gates = gates  # the kubelets', as their --feature-gates has them
        self._nodes = 0
        try:
            self.image = folder / "busybox.tar"
            images.write_busybox(self.image)
            self._start_controllers()
            self.node_a = self._parts.enter_context(self.node())
        except BaseException:
            self._parts.close()
            raise

    def node(self, gates=None, runtime=""):
        """Another node, for a with-statement: node-a, node-b and so on. The API forgets it at the end.

        gates: None: the cluster's. runtime: lines for the CRI's table of containerd's configuration.
        """
        self._nodes += 1
        address = NODE.format(10 + self._nodes)
        add_address(address)
        return Node(self, f"node-{chr(ord('a') + self._nodes - 1)}", address, self.gates if gates is None else gates, runtime)

    def _start_controllers(self):
        common = ["--leader-elect=false", "--secure-port=0"]
        scheduler = self._kubeconfig_file(self.folder / "control/scheduler.conf", self._tokens[SCHEDULER])
        self._start("kube-scheduler", f"--kubeconfig={scheduler}", *common)
        # Each controller is an account of its own, since the bootstrap policy knows them only so.
        controllers = self._kubeconfig_file(self.folder / "control/controller-manager.conf", self._tokens[CONTROLLERS])
        self._start("kube-controller-manager", f"--kubeconfig={controllers}", "--use-service-account-credentials", *common)
