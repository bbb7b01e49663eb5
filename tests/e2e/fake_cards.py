"""NVIDIA's cards for programs that are started: the library of tests/fakes/nvml, which shows what a text describes."""

import os
import shutil
import subprocess
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "fakes/nvml/nvml.c"


class FakeCards:
    """They can be other ones while programs with the environment run. lines: as the library's source says them."""

    def __init__(self, folder, lines):
        compiler = shutil.which("clang") or "cc"
        subprocess.run([compiler, "-shared", "-fPIC", "-pthread", "-o", folder / "libnvidia-ml.so.1", SOURCE], check=True)
        self._text = folder / "cards"
        self.environment = {"LD_LIBRARY_PATH": str(folder), "PLUGHOST_FAKE_NVML": str(self._text)}
        self.show(lines)

    def show(self, lines):
        new = self._text.with_name(".cards")
        new.write_text("".join(f"{line}\n" for line in lines))
        os.rename(new, self._text)
