"""What an ELF program (64 bit, little endian) asks of the machine that it runs on."""

import struct
from pathlib import Path

# Of <elf.h>.
MACHINES = {62: "amd64", 183: "arm64"}
LOAD, DYNAMIC, INTERPRETER = 1, 2, 3
NEEDED, STRING_TABLE, SEARCH_PATH, RUN_PATH, VERSIONS_NEEDED, VERSIONS_COUNT = 1, 5, 15, 29, 0x6FFFFFFE, 0x6FFFFFFF


class Program:
    """`libraries` it names, `versions` of their symbols by library, `search_path` for them or "", its `machine`, the `size` of what is
    loaded, and the `interpreter`."""

    def __init__(self, path):
        self._bytes = Path(path).read_bytes()
        if self._bytes[:6] != b"\x7fELF\x02\x01":
            raise ValueError(f"{path} is no such program")
        kind, machine = struct.unpack_from("<HH", self._bytes, 16)
        self.machine = MACHINES.get(machine, str(machine))
        first, = struct.unpack_from("<Q", self._bytes, 32)
        size, count = struct.unpack_from("<HH", self._bytes, 54)
        self._parts = []  # type, where in the file, where in memory, how much of the file
        for number in range(count):
            part, _, offset, address, _, length = struct.unpack_from("<IIQQQQ", self._bytes, first + number * size)
            self._parts.append((part, offset, address, length))
        self.position_independent = kind == 3
        self.size = max(offset + length for part, offset, _, length in self._parts if part == LOAD)
        self.interpreter = next((self._text(offset) for part, offset, _, _ in self._parts if part == INTERPRETER), "")
        self._dynamic = self._read_dynamic()
        self.libraries = [self._name(value) for tag, value in self._dynamic if tag == NEEDED]
        self.search_path = "".join(self._name(value) for tag, value in self._dynamic if tag in (SEARCH_PATH, RUN_PATH))
        self.versions = self._read_versions()

    def _text(self, offset):
        return self._bytes[offset:self._bytes.index(b"\0", offset)].decode()

    def _in_file(self, address):
        return next(offset + address - begin for part, offset, begin, length in self._parts
                    if part == LOAD and begin <= address < begin + length)

    def _value(self, tag):
        return next(value for each, value in self._dynamic if each == tag)

    def _name(self, offset):
        return self._text(self._in_file(self._value(STRING_TABLE)) + offset)

    def _read_dynamic(self):
        offset, length = next((offset, length) for part, offset, _, length in self._parts if part == DYNAMIC)
        entries = struct.iter_unpack("<QQ", self._bytes[offset:offset + length])
        return [entry for entry in entries if entry[0] != 0]

    def _read_versions(self):
        """{"libc.so.6": {"GLIBC_2.34", …}, …}"""
        found = {}
        if all(tag != VERSIONS_NEEDED for tag, _ in self._dynamic):  # the loader needs nobody
            return found
        library = self._in_file(self._value(VERSIONS_NEEDED))
        for _ in range(self._value(VERSIONS_COUNT)):
            _, count, file, first, following = struct.unpack_from("<HHIII", self._bytes, library)
            versions = found.setdefault(self._name(file), set())
            version = library + first
            for _ in range(count):
                _, _, _, name, after = struct.unpack_from("<IHHII", self._bytes, version)
                versions.add(self._name(name))
                version += after
            library += following
        return found
