"""An image made on the spot: Debian's static busybox under all its names, as an OCI archive."""

import hashlib
import io
import json
import os
import pathlib
import subprocess
import tarfile

BUSYBOX = pathlib.Path("/bin/busybox")
NAME = "plughost.test/busybox:e2e"


def _add(archive, name, data, mode=0o644):
    entry = tarfile.TarInfo(name)
    entry.size = len(data)
    entry.mode = mode
    archive.addfile(entry, io.BytesIO(data))


def _root_file_system():
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


def write(path):
    """Writes the archive for `ctr images import`. Its command waits for ever, as a pod's sandbox must."""
    kind = "application/vnd.oci.image"
    architecture = {"x86_64": "amd64", "aarch64": "arm64"}[os.uname().machine]
    with tarfile.open(path, "w") as archive:

        def blob(media_type, data):
            digest = hashlib.sha256(data).hexdigest()
            _add(archive, f"blobs/sha256/{digest}", data)
            return {"mediaType": media_type, "digest": f"sha256:{digest}", "size": len(data)}

        def document(media_type, value):
            return blob(media_type, json.dumps(value).encode())

        layer = blob(f"{kind}.layer.v1.tar", _root_file_system())
        config = document(f"{kind}.config.v1+json", {
            "os": "linux",
            "architecture": architecture,
            "config": {"Env": ["PATH=/bin"], "Cmd": ["sleep", "infinity"]},
            "rootfs": {"type": "layers", "diff_ids": [layer["digest"]]},
        })
        manifest = document(f"{kind}.manifest.v1+json", {
            "schemaVersion": 2, "mediaType": f"{kind}.manifest.v1+json", "config": config, "layers": [layer],
        })
        manifest["annotations"] = {"io.containerd.image.name": NAME}
        _add(archive, "index.json", json.dumps({"schemaVersion": 2, "manifests": [manifest]}).encode())
        _add(archive, "oci-layout", b'{"imageLayoutVersion": "1.0.0"}')
