"""The calling thread's own mounts and network, which the processes that it starts share."""

import ctypes
import os
import socket
import struct
from pathlib import Path

_LIBC = ctypes.CDLL(None, use_errno=True)
_CLONE_NEWNS, _CLONE_NEWNET = 0x20000, 0x40000000
_MS_REC, _MS_PRIVATE = 0x4000, 0x40000
_MNT_FORCE, _MNT_DETACH = 1, 2
_KOBJECT_UEVENT = 15  # linux/netlink.h: the protocol
_TO_BE_SENT, _NO_ERROR = 16, b"\0" * 4  # the kernel's type of a uevent that it sends to all of a network namespace
_REQUEST_AND_ACK = 5


def mount(source, target, kind, flags=0, options=None):
    arguments = [str(each).encode() if each is not None else None for each in (source, target, kind)]
    if _LIBC.mount(*arguments, ctypes.c_ulong(flags), options.encode() if options else None) != 0:
        raise OSError(ctypes.get_errno(), f"mount {target}: {os.strerror(ctypes.get_errno())}")


def unmount(target):
    """Whoever waits for an answer of it gets an error."""
    _LIBC.umount2(str(target).encode(), _MNT_FORCE | _MNT_DETACH)


def own_mount_namespace():
    """Gives the calling thread its own mounts. Returns why that cannot be, or nothing."""
    if _LIBC.unshare(_CLONE_NEWNS) != 0:
        return f"no mount namespace of its own: {os.strerror(ctypes.get_errno())}; run it as root"
    mount(None, "/", None, _MS_REC | _MS_PRIVATE)
    return None


class OwnNetwork:
    """A network namespace in which nothing is heard but what it sends; until close()."""

    def __init__(self):
        self._former = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        if _LIBC.unshare(_CLONE_NEWNET) != 0:
            error = ctypes.get_errno()
            os.close(self._former)
            raise OSError(error, f"no network namespace of its own: {os.strerror(error)}")
        self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _KOBJECT_UEVENT)

    def close(self):
        self._socket.close()
        _LIBC.setns(self._former, _CLONE_NEWNET)
        os.close(self._former)

    def send_uevent(self, action, directory, properties):
        """directory: the device's, in /sys. Returns when whoever listens has it."""
        path = str(Path("/") / Path(directory).relative_to("/sys"))
        words = [f"{action}@{path}", f"ACTION={action}", f"DEVPATH={path}"]
        words += [f"{name}={value}" for name, value in properties.items()]
        body = b"".join(word.encode() + b"\0" for word in words)
        self._socket.sendto(struct.pack("=IHHII", 16 + len(body), _TO_BE_SENT, _REQUEST_AND_ACK, 0, 0) + body, (0, 0))
        answer = self._socket.recv(8192)
        if answer[16:20] != _NO_ERROR:
            raise OSError(-struct.unpack("=i", answer[16:20])[0], "the kernel takes no uevent")
