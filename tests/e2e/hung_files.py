"""A directory of files that stops answering: a file system that speaks the kernel's FUSE protocol.

It is mounted in a mount namespace of the calling thread's own, which its child processes share.
"""

import errno
import os
import stat
import struct
import threading

from namespaces import mount, own_mount_namespace, unmount

# linux/fuse.h
LOOKUP, GETATTR, OPEN, READ, OPENDIR, READDIR = 1, 3, 14, 15, 27, 28
_FORGET, _STATFS, _RELEASE, _FLUSH, _INIT = 2, 17, 18, 25, 26
_RELEASEDIR, _INTERRUPT, _BATCH_FORGET = 29, 36, 42
_ROOT = 1


def own_mounts():
    """Gives the calling thread its own mounts, for files that hang. Returns why that cannot be, or nothing."""
    if not os.path.exists("/dev/fuse"):
        return "this kernel has no /dev/fuse, and so no file system that can be made to hang"
    return own_mount_namespace()


class HungFiles:
    """Mounted from the constructor to close(). Nothing in it is cached, so that every look asks."""

    def __init__(self, directory, files):
        """files: names, or a dictionary with each one's text. All can be run."""
        self._directory = str(directory)
        self._texts = {name: text.encode() for name, text in files.items()} if isinstance(files, dict) else {}
        self._names = [".", "..", *files]
        self._lock = threading.Lock()
        self._hanging = None  # the calls that get no answer
        self._waiting = []  # for one
        self._device = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
        options = f"fd={self._device},rootmode=40000,user_id=0,group_id=0,allow_other"
        mount("hung-files", self._directory, "fuse", 0, options)
        self._server = threading.Thread(target=self._serve, daemon=True)
        self._server.start()

    def hang(self, *calls):
        """From now on nobody gets an answer to these calls; none: to any."""
        with self._lock:
            self._hanging = calls or range(1, 64)

    def answer(self):
        """Whoever waits gets an answer, and so does everybody from now on."""
        with self._lock:
            self._hanging = None
            waiting, self._waiting = self._waiting, []
            for request in waiting:
                self._reply(request)

    def write(self, name, text):
        """What the file says from now on."""
        with self._lock:
            self._texts[name] = text.encode()

    def close(self):
        """Whoever waits for an answer gets an error."""
        unmount(self._directory)
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
            opcode, _, _ = _head(request)
            with self._lock:
                if self._hanging and opcode in self._hanging:
                    self._waiting.append(request)
                elif opcode not in (_FORGET, _BATCH_FORGET, _INTERRUPT):
                    self._reply(request)

    def _reply(self, request):
        opcode, unique, node = _head(request)
        if opcode in (_FORGET, _BATCH_FORGET, _INTERRUPT):
            return
        error, answer = self._answer(opcode, node, request[40:])
        try:
            os.write(self._device, struct.pack("=IiQ", 16 + len(answer), -error, unique) + answer)
        except OSError:
            pass  # who asked does not wait any more

    def _answer(self, opcode, node, body):
        if opcode == _INIT:
            return 0, struct.pack("=IIIIHHIIHHI28x", 7, 31, 0, 0, 1, 1, 4096, 1, 0, 0, 0)
        if opcode == LOOKUP:
            name = body.rstrip(b"\0").decode()
            if name not in self._names:
                return errno.ENOENT, b""
            found = self._names.index(name)
            return 0, struct.pack("=QQQQII", found, 0, 0, 0, 0, 0) + self._attributes(found)
        if opcode == GETATTR:
            return 0, struct.pack("=QII", 0, 0, 0) + self._attributes(node)
        if opcode in (OPEN, OPENDIR):
            return 0, struct.pack("=QII", 0, 0, 0)
        if opcode == READ:
            offset, size = struct.unpack_from("=8xQI", body)
            return 0, self._text(node)[offset : offset + size]
        if opcode == READDIR:
            (offset,) = struct.unpack_from("=8xQ", body)
            return 0, b"".join(self._entry(number) for number in range(offset, len(self._names)))
        if opcode in (_RELEASE, _RELEASEDIR, _FLUSH):
            return 0, b""
        if opcode == _STATFS:
            return 0, bytes(80)
        return errno.ENOSYS, b""

    def _text(self, node):
        return self._texts.get(self._names[node], b"")

    def _attributes(self, node):
        mode = stat.S_IFDIR | 0o755 if node == _ROOT else stat.S_IFREG | 0o755
        size = len(self._text(node))
        return struct.pack("=QQQQQQIIIIIIIIII", node, size, 0, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)

    def _entry(self, number):
        name = self._names[number].encode()
        kind = stat.S_IFDIR if number < 2 else stat.S_IFREG
        padding = bytes(-len(name) % 8)
        # A node has its name's place as its number: 0 is none, and 1 is the root.
        return struct.pack("=QQII", max(number, _ROOT), number + 1, len(name), kind >> 12) + name + padding


def _head(request):
    """What is called, the call's number, and the file's."""
    return struct.unpack_from("=4xIQQ", request)
