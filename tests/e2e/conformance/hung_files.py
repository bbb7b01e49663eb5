"""A directory of empty files that stops answering: a file system that speaks the kernel's FUSE protocol.

It is mounted in a mount namespace of the calling thread's own, which its child processes share.
"""

import ctypes
import errno
import os
import stat
import struct
import threading

_LIBC = ctypes.CDLL(None, use_errno=True)
_CLONE_NEWNS = 0x20000
_MS_REC, _MS_PRIVATE = 0x4000, 0x40000
_MNT_FORCE, _MNT_DETACH = 1, 2

# linux/fuse.h
_LOOKUP, _FORGET, _GETATTR, _OPEN, _STATFS, _RELEASE = 1, 2, 3, 14, 17, 18
_FLUSH, _INIT, _OPENDIR, _READDIR, _RELEASEDIR, _INTERRUPT, _BATCH_FORGET = 25, 26, 27, 28, 29, 36, 42
_ROOT = 1


def _mount(source, target, kind, flags, options):
    arguments = [each.encode() if each is not None else None for each in (source, target, kind)]
    if _LIBC.mount(*arguments, ctypes.c_ulong(flags), options.encode() if options else None) != 0:
        raise OSError(ctypes.get_errno(), f"mount {target}: {os.strerror(ctypes.get_errno())}")


def own_mounts():
    """Gives the calling thread its own mounts. Returns why that cannot be, or nothing."""
    if not os.path.exists("/dev/fuse"):
        return "this kernel has no /dev/fuse, and so no file system that can be made to hang"
    if _LIBC.unshare(_CLONE_NEWNS) != 0:
        return f"no mount namespace of its own: {os.strerror(ctypes.get_errno())}; run it as root"
    _mount(None, "/", None, _MS_REC | _MS_PRIVATE, None)
    return None


class HungFiles:
    """Mounted from the constructor to close(). Nothing in it is cached, so that every look asks."""

    def __init__(self, directory, names):
        self._directory = str(directory)
        self._names = [".", "..", *names]
        self._hanging = threading.Event()
        self._device = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
        options = f"fd={self._device},rootmode=40000,user_id=0,group_id=0,allow_other"
        _mount("hung-files", self._directory, "fuse", 0, options)
        self._server = threading.Thread(target=self._serve, daemon=True)
        self._server.start()

    def hang(self):
        """From now on nobody gets an answer."""
        self._hanging.set()

    def close(self):
        """Whoever waits for an answer gets an error."""
        _LIBC.umount2(self._directory.encode(), _MNT_FORCE | _MNT_DETACH)
        self._server.join()
        os.close(self._device)

    def _serve(self):
        while True:
            try:
                request = os.read(self._device, 1 << 17)
            except OSError as error:
                if error.errno == errno.ENODEV:  # unmounted
                    return
                continue  # the request was taken back
            opcode, unique, node = struct.unpack_from("=4xIQQ", request)
            if opcode in (_FORGET, _BATCH_FORGET, _INTERRUPT) or self._hanging.is_set():
                continue
            error, answer = self._answer(opcode, node, request[40:])
            try:
                os.write(self._device, struct.pack("=IiQ", 16 + len(answer), -error, unique) + answer)
            except OSError:
                pass  # who asked does not wait any more

    def _answer(self, opcode, node, body):
        if opcode == _INIT:
            return 0, struct.pack("=IIIIHHIIHHI28x", 7, 31, 0, 0, 1, 1, 4096, 1, 0, 0, 0)
        if opcode == _LOOKUP:
            name = body.rstrip(b"\0").decode()
            if name not in self._names:
                return errno.ENOENT, b""
            found = self._names.index(name)
            return 0, struct.pack("=QQQQII", found, 0, 0, 0, 0, 0) + self._attributes(found)
        if opcode == _GETATTR:
            return 0, struct.pack("=QII", 0, 0, 0) + self._attributes(node)
        if opcode in (_OPEN, _OPENDIR):
            return 0, struct.pack("=QII", 0, 0, 0)
        if opcode == _READDIR:
            (offset,) = struct.unpack_from("=8xQ", body)
            return 0, b"".join(self._entry(number) for number in range(offset, len(self._names)))
        if opcode in (_RELEASE, _RELEASEDIR, _FLUSH):
            return 0, b""
        if opcode == _STATFS:
            return 0, bytes(80)
        return errno.ENOSYS, b""

    def _attributes(self, node):
        mode = stat.S_IFDIR | 0o755 if node == _ROOT else stat.S_IFREG | 0o644
        return struct.pack("=QQQQQQIIIIIIIIII", node, 0, 0, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)

    def _entry(self, number):
        name = self._names[number].encode()
        kind = stat.S_IFDIR if number < 2 else stat.S_IFREG
        padding = bytes(-len(name) % 8)
        # A node has its name's place as its number: 0 is none, and 1 is the root.
        return struct.pack("=QQII", max(number, _ROOT), number + 1, len(name), kind >> 12) + name + padding
