#!/usr/bin/env python3
"""The DaemonSet: read by Kubernetes' own types, and run by runc, from the image, with just the rights that it asks for.

Usage: container_test.py PACKAGES, the folder where ./dev package left them. Ends with 77 where no machine can be booted.

Not shown: the container runtime's default filter of system calls, and that a cluster admits the pod.
"""

import json
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import yaml

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))

from machine import REPOSITORY, Machine, deb, image, main, standin_deb  # noqa: E402
from oci import Image, missing_tool  # noqa: E402

FILE = REPOSITORY / "packaging/kubernetes/daemonset.yaml"


def documents():
    return {document["kind"]: document for document in yaml.safe_load_all(FILE.read_text())}


def missing(wanted, found, where=""):
    """The places of wanted that found does not have, with the same value."""
    if isinstance(wanted, dict) and isinstance(found, dict):
        return [place for key, value in wanted.items() for place in missing(value, found.get(key), f"{where}.{key}")]
    if isinstance(wanted, list) and isinstance(found, list) and len(wanted) == len(found):
        return [place for n, (one, other) in enumerate(zip(wanted, found)) for place in missing(one, other, f"{where}[{n}]")]
    return [] if wanted == found else [where]


class DaemonSet(unittest.TestCase):
    def test_kubernetes_types_know_every_field(self):
        # kubectl reads it into Kubernetes' own types and writes these: a field that they do not have is gone.
        daemon_set = documents()["DaemonSet"]
        done = subprocess.run(["kubectl", "set", "serviceaccount", "--local", "-f", "-", "default", "-o", "json"],
                              check=True, input=json.dumps(daemon_set), stdout=subprocess.PIPE, text=True)
        self.assertEqual(missing(daemon_set, json.loads(done.stdout)), [])

    def test_every_mount_has_its_volume(self):
        pod = documents()["DaemonSet"]["spec"]["template"]["spec"]
        self.assertEqual({volume["name"] for volume in pod["volumes"]},
                         {mount["name"] for mount in pod["containers"][0]["volumeMounts"]})

    def test_the_daemon_works_with_the_rights_that_it_asks_for(self):
        machine = self.enterContext(Machine())
        machine.install(deb())
        machine.run("systemctl disable --now plughost && mkdir -p /container/rootfs /run/udev && mknod /dev/fuse c 10 229")
        architecture = deb().stem.split("_")[-1]
        contents = Image(image(), architecture, Path(self.enterContext(tempfile.TemporaryDirectory(prefix="plughost-image-"))))
        shutil.copy(contents.layers[0], machine.shared / "layer")
        machine.run("tar --extract --same-owner --same-permissions --file /shared/layer --directory /container/rootfs")
        machine.install(standin_deb())
        kubelet = self.enterContext(machine.process("plughost-kubelet", "--stay"))
        kubelet.wait_for_line("listening on", 10)

        documented = documents()
        machine.run("mkdir /config")
        for name, text in documented["ConfigMap"]["data"].items():
            (machine.shared / name).write_text(text)
            machine.run(f"cp /shared/{name} /config/ && plughost check --strict /config/{name}")
        for volume in documented["DaemonSet"]["spec"]["template"]["spec"]["volumes"]:
            if volume.get("hostPath", {}).get("type") == "DirectoryOrCreate":
                machine.run(f"mkdir -p {volume['hostPath']['path']}")
        (machine.shared / "config.json").write_text(json.dumps(self.bundle(documented["DaemonSet"], contents.configuration["config"])))
        machine.run("cp /shared/config.json /container/")
        container = self.enterContext(machine.process("runc", "run", "--bundle", "/container", "plughost"))
        try:
            kubelet.wait_for_line("example.com/fuse: 20 devices, 20 healthy", 20)
        except Exception as error:
            raise AssertionError(f"{error}\n" + "\n".join(container.lines())) from error
        probe = documented["DaemonSet"]["spec"]["template"]["spec"]["containers"][0]["startupProbe"]["exec"]["command"]
        self.assertEqual(machine.run(f"runc exec plughost {' '.join(probe)}").strip(), "example.com/fuse")
        self.assertEqual(machine.run("stat --format '%U %G %a' /run/plughost-pod/control.sock").strip(), "root root 600")
        code, words = machine.outcome("runc exec plughost /usr/bin/plughost upgrade")
        self.assertEqual(code, 1)
        self.assertIn("a container ends with its first process", words)
        process = json.loads(machine.run("runc state plughost"))["pid"]
        has = dict(line.split(":\t", 1) for line in machine.run(f"cat /proc/{process}/status").splitlines())
        self.assertEqual((has["Uid"].split()[1], has["NoNewPrivs"]), ("0", "1"))
        self.assertEqual({int(has[each], 16) for each in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")}, {0})
        root = next(line.split() for line in machine.run(f"cat /proc/{process}/mountinfo").splitlines() if line.split()[4] == "/")
        self.assertIn("ro", root[5].split(","))
        kubelet.write("allocate example.com/fuse 1 pod-a")
        kubelet.wait_for_line("pod-a holds", 10)
        start = kubelet.mark()
        machine.run("rm /dev/fuse")  # inotify through the mount
        kubelet.wait_for_line("example.com/fuse: 20 devices, 0 healthy", 10, start)
        machine.run("runc kill plughost TERM")
        self.assertEqual(container.wait(10), 0)

    def bundle(self, daemon_set, image_s):
        """What a container runtime makes of it, as far as the rights go."""
        pod = daemon_set["spec"]["template"]["spec"]
        container = pod["containers"][0]
        rights = container["securityContext"]
        self.assertEqual(rights["capabilities"], {"drop": ["ALL"]})
        volumes = {volume["name"]: volume for volume in pod["volumes"]}

        def mount(item):
            volume = volumes[item["name"]]
            source = volume.get("hostPath", {}).get("path", "/config")
            options = ["rbind", "ro" if item.get("readOnly") else "rw"]
            if "mountPropagation" in item:
                options.append("rslave")
            return {"destination": item["mountPath"], "type": "bind", "source": source, "options": options}

        kinds = ["pid", "mount", "ipc", "uts"] + ([] if pod["hostNetwork"] else ["network"])
        return {
            "ociVersion": "1.0.2",
            "process": {
                "user": {"uid": rights["runAsUser"], "gid": 0}, "args": [*image_s["Entrypoint"], *container["args"]],
                "env": image_s["Env"], "cwd": image_s["WorkingDir"],
                "capabilities": {kind: [] for kind in ("bounding", "effective", "permitted", "inheritable")},
                "noNewPrivileges": not rights["allowPrivilegeEscalation"],
            },
            "root": {"path": "rootfs", "readonly": rights["readOnlyRootFilesystem"]},
            "mounts": [{"destination": "/proc", "type": "proc", "source": "proc"}]
            + [mount(item) for item in container["volumeMounts"]],
            "linux": {"namespaces": [{"type": kind} for kind in kinds]},
        }


if __name__ == "__main__":
    if missing_tool():
        print(f"not shown: there is no {missing_tool()} here (./dev package-test installs it)")
        sys.exit(77)
    main()
