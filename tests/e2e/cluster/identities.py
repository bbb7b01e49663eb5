"""Who is who at the API server: authorities for client certificates, and kubeconfig files."""

import base64
import json
import os
import pathlib
import subprocess
import tempfile


def openssl(*arguments):
    done = subprocess.run(["openssl", *arguments], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"openssl {' '.join(map(str, arguments))}: {done.stderr.strip()}")


def new_key(path):
    openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", path)


def replace(path, text):
    """Readers see the old file or the new one."""
    new = path.with_name(f".{path.name}.new")
    new.write_text(text)
    os.rename(new, path)


class Authority:
    """Signs client certificates. Its key is in the folder, its certificate is the text."""

    def __init__(self, folder):
        self._folder = folder
        new_key(folder / "authority.key")
        # Two authorities of one name are one to who looks for the signer of a certificate.
        subject = f"/CN={folder.name}"
        openssl("req", "-x509", "-key", folder / "authority.key", "-subj", subject, "-days", "1",
                "-out", folder / "authority.crt")
        self.certificate = (folder / "authority.crt").read_text()

    def issue(self, user, group):
        """Certificate and key in one text."""
        key, request, signed, purpose = (
            self._folder / name for name in ("client.key", "client.csr", "client.crt", "client.purpose"))
        new_key(key)
        openssl("req", "-new", "-key", key, "-subj", f"/O={group}/CN={user}", "-out", request)
        purpose.write_text("extendedKeyUsage = clientAuth\n")
        openssl("x509", "-req", "-in", request, "-CA", self._folder / "authority.crt",
                "-CAkey", self._folder / "authority.key", "-CAcreateserial", "-days", "1", "-extfile", purpose, "-out", signed)
        return signed.read_text() + key.read_text()


class Trust:
    """The authorities whose clients the API server takes, as the file that it reads anew when it changes."""

    def __init__(self, folder):
        self._folder = folder
        self._authorities = []
        self.file = folder / "clients.crt"
        self.add()  # the server starts with no empty file

    def add(self):
        """Another authority."""
        authority = Authority(pathlib.Path(tempfile.mkdtemp(prefix="authority-", dir=self._folder)))
        self._authorities.append(authority)
        self._write()
        return authority

    def remove(self, authority):
        """Its clients are strangers from now on, whatever their certificates say of time."""
        self._authorities.remove(authority)
        self._write()

    def _write(self):
        replace(self.file, "".join(one.certificate for one in self._authorities))


def kubeconfig(server, authority, user):
    """The text of one. authority: a file; it is in the text, as kubeadm writes it. user: as the file has it."""
    cluster = {"server": server, "certificate-authority-data": base64.b64encode(authority.read_bytes()).decode()}
    return json.dumps({
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "e2e",
        "clusters": [{"name": "e2e", "cluster": cluster}],
        "users": [{"name": "e2e", "user": user}],
        "contexts": [{"name": "e2e", "context": {"cluster": "e2e", "user": "e2e"}}],
    })
