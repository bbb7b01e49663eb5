#!/usr/bin/env python3
"""Every command that the operators' pages show is run, in a Debian that is booted for each page.

Each line of a block ```sh is run, one after the other; the first that fails, fails the page. A block ```sh cluster or
```sh elsewhere is not run: NOT_RUN below has each of its commands, with the reason. A block ```yaml NAME is a file that
the commands find by that name.
Usage: commands_test.py PACKAGES, the folder where ./dev package left them. Ends with 77 where no machine can be booted.
"""

import re
import shutil
import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "packaging"))

from machine import REPOSITORY, Machine, deb, main  # noqa: E402

PAGES = ("install", "upgrade", "troubleshooting", "security", "sizing", "fleet", "migrate")

NOT_RUN = {
    "kubectl get node NODE -o jsonpath='{.status.allocatable}'": "needs an API server",
    "kubectl get daemonset,configmap -n kube-system -o yaml | plughost convert - > config.yaml": "needs an API server",
    "helm install plughost plughost-0.1.0.tgz --namespace plughost --create-namespace "
    "--set image.repository=registry.example.com/plughost --set-file config=config.yaml":
        "needs a cluster; tests/e2e/cluster installs the chart",
    "kubectl label namespace plughost pod-security.kubernetes.io/enforce=privileged": "needs an API server",
    "helm upgrade plughost plughost-0.1.0.tgz --namespace plughost --reuse-values --set-file config=config.yaml":
        "needs a cluster; tests/e2e/cluster upgrades a release",
    "kubectl describe pod POD": "needs an API server",
    "semodule -i /usr/share/plughost/selinux/plughost.cil": "needs SELinux; tests/packaging/selinux_test.py loads it",
    "restorecon -R /var/lib/plughost": "needs SELinux",
    "kubectl label node NODE plughost=yes": "needs an API server",
    "kubectl -n kube-system patch daemonset generic-device-plugin --type merge -p '"
    '{"spec":{"template":{"spec":{"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":'
    '{"nodeSelectorTerms":[{"matchExpressions":[{"key":"plughost","operator":"DoesNotExist"}]}]}}}}}}}'
    "'": "needs an API server, and the other plugin",
    "kubectl apply -f packaging/kubernetes/daemonset.yaml":
        "needs an API server; tests/packaging/container_test.py checks the file",
    "for pod in $(kubectl -n plughost get pods -o name); do kubectl -n plughost exec -i $pod -- plughost facts "
    "--config - < fleet.yaml > facts/${pod#pod/}.json; done": "needs an API server",
    "kubectl -n plughost create configmap plughost --from-file config.yaml=fleet.yaml --dry-run=client -o yaml | "
    "kubectl apply -f -":
        "needs an API server; tests/e2e/cluster edits the ConfigMap",
    'ansible nodes -i inventory.yaml --become -m ansible.builtin.copy -a "src=fleet.yaml dest=/tmp/fleet.yaml"':
        "runs on the machine of whoever has the nodes",
    'ansible nodes -i inventory.yaml --become -m ansible.builtin.shell -a "plughost facts --config /tmp/fleet.yaml '
    '> /tmp/facts.json"': "runs on the machine of whoever has the nodes",
    'ansible nodes -i inventory.yaml --become -m ansible.builtin.fetch -a "src=/tmp/facts.json '
    'dest=facts/{{ inventory_hostname }}.json flat=true"': "runs on the machine of whoever has the nodes",
    "ansible-playbook -i inventory.yaml packaging/ansible/plughost.yaml -e package=plughost_0.1.0_amd64.deb "
    "-e config=fleet.yaml": "runs on the machine of whoever has the nodes; tests/packaging/ansible_test.py runs it",
    "dnf install -y ./plughost-0.1.0-1.x86_64.rpm": "needs dnf; tests/packaging/rpm_test.py installs it",
    "tar -xzf plughost-0.1.0-linux-amd64.tar.gz": "the page has installed the package; tests/packaging/tarball_test.py runs it",
    "plughost-0.1.0-linux-amd64/install.sh": "the page has installed the package; tests/packaging/tarball_test.py runs it",
    "skopeo copy --all oci-archive:plughost-0.1.0-image.oci.tar docker://registry.example.com/plughost:0.1.0":
        "needs a registry; tests/packaging/image_test.py copies it whole into a directory",
    "ctr -n k8s.io images import plughost-0.1.0-image.oci.tar": "needs containerd; tests/e2e/cluster imports $PLUGHOST_IMAGE",
    "k3s ctr images import plughost-0.1.0-image.oci.tar": "needs k3s",
    "skopeo copy oci-archive:plughost-0.1.0-image.oci.tar docker-daemon:plughost:0.1.0":
        "needs Docker; tests/packaging/image_test.py copies it into the same kind of archive",
    "for gpu in $(nvidia-smi --query-gpu=uuid --format=csv,noheader); do plughost drain nvidia.com/gpu=$gpu "
    '--reason "a new driver"; done': "needs NVIDIA's cards; tests/integration/gpu_test.cpp drains made ones",
    "modprobe --remove nvidia_uvm nvidia_drm nvidia_modeset nvidia": "needs NVIDIA's driver",
    "for gpu in $(nvidia-smi --query-gpu=uuid --format=csv,noheader); do plughost undrain nvidia.com/gpu=$gpu; done":
        "needs NVIDIA's cards; tests/integration/gpu_test.cpp undrains made ones",
    "ansible-playbook -i inventory.yaml packaging/ansible/plughost.yaml -e package=plughost_0.1.0_amd64.deb "
    "-e config=config.yaml": "runs on the machine of whoever has the nodes; tests/packaging/ansible_test.py runs it",
}

# What a node has that the pages take for granted.
CONFIG = """\
resources:
- name: example.com/token
  count: 4
"""
# Commands that answer a question: with these codes, too, they have done what the page says.
MAY_END_WITH = {
    "plughost doctor": (1, "it has found something, as it should in a machine without a kubelet's process"),
    "plughost checkpoint": (1, "the stand-in kubelet has written none yet"),
    "systemctl status --no-pager plughost": (3, "it is not running"),
    "journalctl --unit plughost --no-pager --grep Unhealthy": (1, "there is no such line"),
    "timeout 2 udevadm monitor --kernel": (124, "it was ended after 2 s, as it says"),
}


def blocks(page):
    """(info, text) of each fenced block in the shell's language."""
    return re.findall(r"^```sh ?(\w*)\n(.*?)^```$", (REPOSITORY / f"docs/{page}.md").read_text(), re.M | re.S)


def files(page):
    """(name, text) of each block in YAML that has the name of a file."""
    return re.findall(r"^```yaml (\S+)\n(.*?)^```$", (REPOSITORY / f"docs/{page}.md").read_text(), re.M | re.S)


class Commands(unittest.TestCase):
    def machine_of(self, page):
        machine = self.enterContext(Machine())
        shutil.copy(deb(), machine.shared)
        (machine.shared / "config.yaml").write_text(CONFIG)
        for name, text in files(page):
            (machine.shared / name).write_text(text)
        machine.run("cp /shared/* /root/ && cp /repository/build/release/plughost-kubelet /shared/standin")
        if page != "install":  # it begins without
            machine.install(deb())
            machine.run("cp /root/config.yaml /etc/plughost/ && systemctl reload plughost")
        kubelet = self.enterContext(machine.process("/shared/standin", "--stay"))
        kubelet.wait_for_line("listening on", 10)
        if page != "install":
            kubelet.wait_for_line("example.com/token: 4 devices, 4 healthy", 20)
        return machine

    def test_each_page_s_commands(self):
        for page in PAGES:
            with self.subTest(page):
                machine = self.machine_of(page)
                shown = [text for info, text in blocks(page) if not info]
                self.assertGreater(len(shown), 0)
                for command in (line for text in shown for line in text.splitlines()):
                    code, words = machine.outcome(f"cd /root && {command}", seconds=120)
                    self.assertIn(code, (0, MAY_END_WITH.get(command, (0, ""))[0]), f"{command}\n{words}")

    def test_the_commands_that_are_not_run_are_those_that_have_a_reason(self):
        marked = {line for page in PAGES for info, text in blocks(page) if info for line in text.splitlines()}
        self.assertEqual(marked, set(NOT_RUN))

    def test_every_shell_block_is_seen(self):
        for page in PAGES:
            text = (REPOSITORY / f"docs/{page}.md").read_text()
            self.assertEqual(len(re.findall(r"^```\S", text, re.M)),
                             len(blocks(page)) + len(files(page)), f"{page}: a block is in no language, or in another")


if __name__ == "__main__":
    main()
