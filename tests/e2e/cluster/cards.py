"""NVIDIA's cards on a node, as a text describes them: a driver's root with the library of tests/fakes/nvml."""

import os
import pathlib
import shutil
import stat
import subprocess

from facts import NotShown
from identities import replace

SOURCE = pathlib.Path(__file__).resolve().parents[2] / "fakes/nvml/nvml.c"
ZERO = os.makedev(1, 5)  # what a container opens in a card's place


class Cards:
    """lines: as the library's source says them. They can be other ones while plughost runs."""

    def __init__(self, node, lines):
        compiler = shutil.which("clang") or shutil.which("cc")
        if not compiler:
            raise NotShown("neither clang nor cc is here, which make the library of tests/fakes/nvml")
        self.root = node.fresh_folder()
        libraries, nodes = self.root / "usr/lib64", self.root / "dev"
        libraries.mkdir(parents=True)
        nodes.mkdir()
        subprocess.run([compiler, "-shared", "-fPIC", "-pthread", "-o", libraries / "libnvidia-ml.so.1", SOURCE], check=True)
        for name in ["nvidiactl", "nvidia-uvm", *(f"nvidia{n}" for n in range(len(lines)))]:
            os.mknod(nodes / name, 0o666 | stat.S_IFCHR, ZERO)
        self._text = self.root / "cards"
        self.environment = {"PLUGHOST_FAKE_NVML": str(self._text)}
        self.show(lines)

    def show(self, lines):
        replace(self._text, "".join(f"{line}\n" for line in lines))
