"""Images made on the spot, as OCI archives: Debian's static busybox under all its names, and plughost."""

import hashlib
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import tarfile

BUSYBOX = pathlib.Path("/bin/busybox")
NAME = "plughost.test/busybox:e2e"
PRESETS = pathlib.Path(__file__).resolve().parents[3] / "plugins.d"


def _add(archive, name, data, mode=0o644):
    entry = tarfile.TarInfo(name)
    entry.size = len(data)
    entry.mode = mode
    archive.addfile(entry, io.BytesIO(data))


def _busybox():
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for name, mode in (("bin", 0o755), ("etc", 0o755), ("mnt", 0o755), ("tmp", 0o1777)):
            entry = tarfile.TarInfo(name)
            entry.type, entry.mode = tarfile.DIRTYPE, mode
            archive.addfile(entry)
        _add(archive, "bin/busybox", BUSYBOX.read_bytes(), 0o755)
        applets = subprocess.run([BUSYBOX, "--list"], check=True, capture_output=True, text=True).stdout
        for applet in applets.split():
            if applet != "busybox":
                entry = tarfile.TarInfo(f"bin/{applet}")
                entry.type, entry.linkname = tarfile.SYMTYPE, "busybox"
                archive.addfile(entry)
    return stream.getvalue()


def _with_libraries(program, where):
    """The program and what it is linked with, each library where it is here; and the ready-made entries."""
    stream = io.BytesIO()
    linked = subprocess.run(["ldd", program], check=True, capture_output=True, text=True).stdout
    with tarfile.open(fileobj=stream, mode="w") as archive:
        _add(archive, where.lstrip("/"), program.read_bytes(), 0o755)
        for library in re.findall(r"(/\S+) \(0x", linked):
            _add(archive, library.lstrip("/"), pathlib.Path(library).read_bytes(), 0o755)
        for entry in PRESETS.glob("*.yaml"):
            _add(archive, f"usr/share/plughost/plugins.d/{entry.name}", entry.read_bytes())
    return stream.getvalue()


def write_busybox(path):
    """For `ctr images import`. Its command waits for ever, as a pod's sandbox must."""
    _write(path, NAME, _busybox(), {"Env": ["PATH=/bin"], "Cmd": ["sleep", "infinity"]})


def write_plughost(path, program, name):
    """For `ctr images import`: $PLUGHOST_IMAGE, which `./dev package` makes, or one that runs as that does."""
    if "PLUGHOST_IMAGE" in os.environ:
        shutil.copy(os.environ["PLUGHOST_IMAGE"], path)
        return
    entry = "/usr/bin/plughost"
    _write(path, name, _with_libraries(program, entry), {"Entrypoint": [entry], "Cmd": ["run"]})


def _write(path, name, file_system, command):
    kind = "application/vnd.oci.image"
    architecture = {"x86_64": "amd64", "aarch64": "arm64"}[os.uname().machine]
    with tarfile.open(path, "w") as archive:

        def blob(media_type, data):
            digest = hashlib.sha256(data).hexdigest()
            _add(archive, f"blobs/sha256/{digest}", data)
            return {"mediaType": media_type, "digest": f"sha256:{digest}", "size": len(data)}

        def document(media_type, value):
            return blob(media_type, json.dumps(value).encode())

        layer = blob(f"{kind}.layer.v1.tar", file_system)
        config = document(f"{kind}.config.v1+json", {
            "os": "linux",
            "architecture": architecture,
            "config": command,
            "rootfs": {"type": "layers", "diff_ids": [layer["digest"]]},
        })
        manifest = document(f"{kind}.manifest.v1+json", {
            "schemaVersion": 2, "mediaType": f"{kind}.manifest.v1+json", "config": config, "layers": [layer],
        })
        manifest["annotations"] = {"io.containerd.image.name": name}
        _add(archive, "index.json", json.dumps({"schemaVersion": 2, "manifests": [manifest]}).encode())
        _add(archive, "oci-layout", b'{"imageLayoutVersion": "1.0.0"}')
