"""A program that uses NVIDIA's cards by the driver's own library alone.

usage: cuda.py use [NODE...]   computes on the only card that it sees, and prints that card's UUID; with nodes in a
                               /dev of its own that has these alone
       cuda.py fault           writes where nothing is, which the driver reports as XID 31
"""

import ctypes
import os
import sys
import uuid
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))

from namespaces import mount, own_mount_namespace  # noqa: E402

_ILLEGAL_ADDRESS = 700
_FILL = b"""
.version 6.0
.target sm_50
.address_size 64
.visible .entry fill(.param .u64 where) {
  .reg .b32 %r<2>;
  .reg .b64 %a<4>;
  ld.param.u64 %a1, [where];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %a2, %r1, 4;
  add.s64 %a3, %a1, %a2;
  st.global.u32 [%a3], %r1;
  ret;
}
\0"""
_THREADS = 256


class Cuda:
    def __init__(self):
        self._library = ctypes.CDLL("libcuda.so.1")
        self.call("cuInit", 0)

    def call(self, name, *arguments, expected=0):
        code = getattr(self._library, name)(*arguments)
        if code != expected:
            sys.exit(f"{name}: {code} in place of {expected}")

    def only_card(self):
        count = ctypes.c_int()
        self.call("cuDeviceGetCount", ctypes.byref(count))
        if count.value != 1:
            sys.exit(f"{count.value} cards are to be seen")
        return ctypes.c_int(0)

    def uuid(self, card):
        found = (ctypes.c_ubyte * 16)()
        self.call("cuDeviceGetUuid_v2", ctypes.byref(found), card)
        return f"GPU-{uuid.UUID(bytes=bytes(found))}"

    def run(self, card, where=None):
        """What the card wrote, a number from each thread; where: there, in place of memory that is there."""
        context, module, function = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuCtxCreate_v2", ctypes.byref(context), 0, card)
        self.call("cuModuleLoadData", ctypes.byref(module), _FILL)
        self.call("cuModuleGetFunction", ctypes.byref(function), module, b"fill")
        memory = ctypes.c_uint64(where or 0)
        if where is None:
            self.call("cuMemAlloc_v2", ctypes.byref(memory), ctypes.c_size_t(4 * _THREADS))
        parameters = (ctypes.c_void_p * 1)(ctypes.addressof(memory))
        self.call("cuLaunchKernel", function, 1, 1, 1, _THREADS, 1, 1, 0, None, parameters, None)
        self.call("cuCtxSynchronize", expected=0 if where is None else _ILLEGAL_ADDRESS)
        written = (ctypes.c_uint32 * _THREADS)()
        if where is None:
            self.call("cuMemcpyDtoH_v2", written, memory, ctypes.c_size_t(4 * _THREADS))
        return list(written)


def keep_only(nodes):
    if why := own_mount_namespace():
        sys.exit(why)
    kept = {node: os.stat(node).st_rdev for node in [*nodes, "/dev/null", "/dev/zero", "/dev/urandom"]}
    mount("none", "/dev", "tmpfs")
    for node, number in kept.items():
        Path(node).parent.mkdir(parents=True, exist_ok=True)
        os.mknod(node, 0o20666, number)


def main():
    if nodes := sys.argv[2:]:
        keep_only(nodes)
    cuda = Cuda()
    card = cuda.only_card()
    if sys.argv[1] == "fault":
        cuda.run(card, where=0x10)
    elif cuda.run(card) != list(range(_THREADS)):
        sys.exit("the card computed something else")
    print(cuda.uuid(card))


if __name__ == "__main__":
    main()
