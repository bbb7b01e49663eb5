"""An image, as somebody gets it who has only the archive: read by skopeo, unpacked by umoci."""

import json
import os
import shutil
import subprocess

TOOLS = ("skopeo", "umoci")


def missing_tool():
    """The first that is not here, or ""."""
    return next((tool for tool in TOOLS if not shutil.which(tool)), "")


def skopeo(*command):
    return subprocess.run(["skopeo", "--insecure-policy", *command], check=True, stdout=subprocess.PIPE, text=True).stdout


def raw(archive):
    """What the archive names: a manifest, or an index of some."""
    return json.loads(skopeo("inspect", "--raw", f"oci-archive:{archive}"))


class Image:
    """Of one architecture: its `manifest`, `configuration`, and `layers` as files; what is in them is in `root`. It is put into `folder`, which must be empty."""

    def __init__(self, archive, architecture, folder):
        self.layout = folder / "layout"
        skopeo("--override-os", "linux", "--override-arch", architecture, "copy", "--quiet", f"oci-archive:{archive}", f"oci:{self.layout}:it")
        named, = json.loads((self.layout / "index.json").read_text())["manifests"]
        self.manifest = json.loads(self._blob(named).read_text())
        self.configuration = json.loads(self._blob(self.manifest["config"]).read_text())
        self.layers = [self._blob(layer) for layer in self.manifest["layers"]]
        rootless = [] if os.geteuid() == 0 else ["--rootless"]
        subprocess.run(["umoci", "unpack", *rootless, "--image", f"{self.layout}:it", folder / "bundle"], check=True)
        self.root = folder / "bundle/rootfs"

    def _blob(self, descriptor):
        return self.layout / "blobs" / descriptor["digest"].replace(":", "/")
