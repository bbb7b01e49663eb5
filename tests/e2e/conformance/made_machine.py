"""A made machine's /dev, /sys and uevents: seen by the calling thread and by the processes that it starts."""

import os
import shutil
import stat
from pathlib import Path

from namespaces import OwnNetwork, mount, own_mount_namespace, unmount

from .lines import NotShown

_HIDDEN = ("/dev", "/sys", "/run")  # by what is made; in /run a udevd's word
# Programs need the first ones themselves.
_NODES = """
    null c 1:3, zero c 1:5, full c 1:7, random c 1:8, urandom c 1:9,
    fuse c 10:229, kvm c 10:232, net/tun c 10:200, vhost-net c 10:238, vfio/vfio c 10:196, loop-control c 10:237,
    ttyUSB0 c 188:0, ttyUSB1 c 188:1, ttyUSB2 c 188:2, ttyUSB10 c 188:10,
    ttyACM0 c 166:0, ttyACM1 c 166:1, ttyS0 c 4:64, ttyS1 c 4:65,
    video0 c 81:0, video1 c 81:1, video2 c 81:2, dri/card0 c 226:0, dri/renderD128 c 226:128,
    dri/renderD129 c 226:129, snd/seq c 116:1, snd/controlC0 c 116:2, snd/pcmC0D0p c 116:3,
    snd/pcmC0D0c c 116:4, i2c-0 c 89:0, i2c-1 c 89:1, i2c-10 c 89:10, spidev0.0 c 153:0,
    gpiochip0 c 254:0, hidraw0 c 248:0, hidraw1 c 248:1, input/event0 c 13:64, input/event1 c 13:65,
    loop0 b 7:0, loop1 b 7:1
"""
_LINKS = {
    "serial/by-id/usb-FTDI_FT232R_A50285BI-if00-port0": "../../ttyUSB0",
    "serial/by-id/usb-1a86_USB_Serial-if00-port0": "../../ttyUSB1",
    "serial/by-path/pci-0000:00:14.0-usb-0:2:1.0-port0": "../../ttyUSB0",
    "modem": "ttyACM0",
    "video-gone": "video9",
}
_FILES = (
    "dev/video-notes",
    "dev/shm/firmware.bin",
    "dev/shm/sockets/ctl.sock",
    "dev/shm/models/large/weights",
    "dev/shm/models/small/weights",
)
_DIRECTORIES = ("dev/video-old",)
_USB_BUS = Path("/sys/devices/pci0000:00/0000:00:14.0/usb1")
_USB = {  # by port: vendor, product, serial number, number on the bus
    "1-1": ("0403", "6001", "A50285BI", 2),
    "1-2": ("1a86", "7523", "", 3),
    "1-3": ("1a86", "7523", "", 4),
    "1-4": ("18d1", "9302", "", 12),
    "1-5": ("0451", "0016", "L1", 6),
    "1-6": ("0451", "0016", "L2", 7),
}


class MadeMachine:
    """From the constructor to close()."""

    def __init__(self, needed):
        """needed: a directory that must stay to be seen."""
        self._mounted, self._network = [], None
        for directory in _HIDDEN:
            if needed.resolve().is_relative_to(directory):
                raise NotShown(f"{needed} is in {directory}, which is made here; TMPDIR says where it is")
        if reason := own_mount_namespace():
            raise NotShown(reason)
        try:
            for directory in _HIDDEN:
                mount("made", directory, "tmpfs")
                self._mounted.append(directory)
            self._network = OwnNetwork()
            self._make()
        except OSError as error:
            self.close()
            raise NotShown(f"no machine can be made here: {error}") from error

    def close(self):
        for directory in self._mounted:
            unmount(directory)
        if self._network:
            self._network.close()

    def plug_in(self, port, vendor, product, serial, number):
        """A USB device with the number on the bus, and so with the node."""
        attributes = {"idVendor": vendor, "idProduct": product, "busnum": "1", "devnum": str(number)}
        if serial:
            attributes["serial"] = serial
        node = {"DEVNAME": f"bus/usb/001/{number:03}", "MAJOR": "189", "MINOR": str(number - 1)}
        self._add(_USB_BUS / port, "usb", attributes, {"DEVTYPE": "usb_device", **node})

    def unplug(self, port):
        number = int((_USB_BUS / port / "devnum").read_text())
        shutil.rmtree(_USB_BUS / port)
        for link in f"/sys/bus/usb/devices/{port}", f"/sys/dev/char/189:{number - 1}", f"/dev/bus/usb/001/{number:03}":
            Path(link).unlink()
        self._network.send_uevent("remove", _USB_BUS / port, {"SUBSYSTEM": "usb", "DEVTYPE": "usb_device"})

    def add_card(self, address, vendor, group):
        """A PCI function that is bound to vfio-pci, in an IOMMU group."""
        vfio = Path("/sys/devices/virtual/vfio", str(group))
        if not vfio.exists():
            self._add(vfio, "vfio", {}, {"DEVNAME": f"vfio/{group}", "MAJOR": "511", "MINOR": str(group)})
            _link("/sys/class/vfio", vfio)
        card = Path("/sys/devices/pci0000:00", address)
        self._add(card, "pci", {"vendor": f"0x{vendor}", "device": "0x2230", "class": "0x030000"}, {})
        for name, to in ("driver", "/sys/bus/pci/drivers/vfio-pci"), ("iommu_group", f"/sys/kernel/iommu_groups/{group}"):
            Path(to).mkdir(parents=True, exist_ok=True)
            (card / name).symlink_to(os.path.relpath(to, card))

    def _add(self, directory, subsystem, attributes, uevent):
        directory.mkdir(parents=True)
        lines = "".join(f"{name}={value}\n" for name, value in uevent.items())
        for name, text in {**attributes, "uevent": lines}.items():
            (directory / name).write_text(text + "\n" * (name != "uevent"))
        bus = Path("/sys/bus", subsystem)
        (directory / "subsystem").symlink_to(os.path.relpath(bus, directory))
        _link(bus / "devices", directory)
        if "DEVNAME" in uevent:
            number = f"{uevent['MAJOR']}:{uevent['MINOR']}"
            _link("/sys/dev/char", directory, number)
            _make_node(Path("/dev", uevent["DEVNAME"]), "c", number)
        self._network.send_uevent("add", directory, {"SUBSYSTEM": subsystem, **uevent})

    def _make(self):
        for node in _NODES.split(","):
            name, kind, number = node.split()
            _make_node(Path("/dev", name), kind, number)
        for name, target in _LINKS.items():
            link = Path("/dev", name)
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(target)
        for name in _FILES:
            Path("/", name).parent.mkdir(parents=True, exist_ok=True)
            Path("/", name).touch()
        for name in _DIRECTORIES:
            Path("/", name).mkdir()
        for port, device in _USB.items():
            self.plug_in(port, *device)


def _make_node(path, kind, number):
    path.parent.mkdir(parents=True, exist_ok=True)
    major, minor = map(int, number.split(":"))
    os.mknod(path, {"b": stat.S_IFBLK, "c": stat.S_IFCHR}[kind] | 0o666, os.makedev(major, minor))
    path.chmod(0o666)  # whatever the umask


def _link(home, directory, name=None):
    home = Path(home)
    home.mkdir(parents=True, exist_ok=True)
    (home / (name or directory.name)).symlink_to(os.path.relpath(directory, home))
