"""A node as `plughost facts` records one, made from a few words: what the kernel and udev show of a device follows from what it is.

Sources: the kernel's Documentation/admin-guide/{sysfs-rules.rst,devices.txt} and Documentation/ABI, and systemd's rules.d.
"""

import json
import posixpath
import re
import uuid

BUSES = {"acpi", "auxiliary", "gpio", "hid", "i2c", "pci", "platform", "spi", "usb", "usb-serial", "virtio"}
# /dev/BUS/N and not /dev/N, as the classes' devnode() has it.
FOLDERS = {"accel": "accel/", "drm": "dri/", "infiniband_mad": "infiniband/", "infiniband_verbs": "infiniband/", "input": "input/",
           "sound": "snd/", "vfio": "vfio/"}
# Drivers whose name on the bus usb-serial differs from the one on the bus usb.
USB_SERIAL_DRIVERS = {"option": "option1"}
# The nodes that LXC and Docker make in every container.
CONTAINER_NODES = ("null", "zero", "full", "random", "urandom", "tty", "console")
VENDORS = {"1002": "Advanced Micro Devices, Inc. [AMD/ATI]", "1022": "Advanced Micro Devices, Inc. [AMD]",
           "10de": "NVIDIA Corporation", "15b3": "Mellanox Technologies", "1a03": "ASPEED Technology, Inc.",
           "1ac1": "Global Unichip Corp.", "1da3": "Habana Labs Ltd.", "1e3e": "Iluvatar CoreX", "1e52": "Tenstorrent Inc",
           "1e60": "Hailo Technologies Ltd.", "8086": "Intel Corporation"}


def udev_word(text):
    """As udev makes a text fit for the name of a file."""
    return re.sub(r"[^0-9A-Za-z#+\-.:=@_]", "_", re.sub(r"\s+", "_", text.strip()))


def files_below(directory, above=""):
    """Yields the name below the directory and the value of each entry that is no directory."""
    for name, what in directory.items():
        if isinstance(what, dict):
            yield from files_below(what, f"{above}{name}/")
        else:
            yield above + name, what


class Machine:
    def __init__(self, node, kernel, arch="x86_64", dmi=("", ""), model="", cloud=False, pool="desk"):
        """cloud: its kernel is one for virtual machines, without sound. pool: one of its labels."""
        self.node = node
        self.tree = {}
        self.more = {}  # beside the tree
        self.usb_facts = {}  # what udev knows of a USB device, by its path
        self.devnums = {}
        self.entries = {}  # of udev's database, for every device: its id, its node and its links, by its path
        self.text("/proc/sys/kernel/hostname", node + "\n")
        self.text("/proc/sys/kernel/osrelease", kernel + "\n")
        self.text("/proc/sys/kernel/arch", arch + "\n")
        if dmi[0]:
            self.device("/sys/devices/virtual/dmi/id", "dmi", {"sys_vendor": dmi[0], "product_name": dmi[1]})
        if model:
            self.put("/proc/device-tree", ["link", "/sys/firmware/devicetree/base"])
            self.text("/sys/firmware/devicetree/base/model", model + "\0")
        labels = {"example.com/pool": pool, "kubernetes.io/arch": {"x86_64": "amd64", "aarch64": "arm64"}[arch],
                  "kubernetes.io/hostname": node, "kubernetes.io/os": "linux"}
        self.text("/etc/plughost/labels", json.dumps({"metadata": {"name": node, "labels": labels}}))
        self.begin_dev()
        if not cloud:
            self.nodes("snd/seq 116:1, snd/timer 116:33")

    # --- the tree

    def put(self, path, what):
        *above, name = path.strip("/").split("/")
        directory = self.tree
        for each in above:
            directory = directory.setdefault(each, {})
        assert directory.get(name, what) == what, f"{self.node}: {path} is there already"
        directory[name] = what

    def text(self, path, text):
        self.put(path, text)

    def find(self, path):
        found = self.tree
        for each in path.strip("/").split("/"):
            found = found.get(each) if isinstance(found, dict) else None
        return found

    def link(self, path, to):
        self.put(path, ["link", posixpath.relpath(to, posixpath.dirname(path))])

    def node_at(self, name, number, kind="char"):
        self.put("/dev/" + name, [kind, number])

    def nodes(self, text):
        """Nodes without a device in /sys that matters, as in "nvidia0 195:0, nvidiactl 195:255"."""
        for each in text.split(","):
            self.node_at(*each.split())

    # --- devices

    def device(self, path, subsystem, attributes=None, driver="", number="", name="", uevent=None, rules=None, links=(), tags=()):
        """A device, its node and what udev knows. number: "226:0", if it has a node; name: of the node, if it is not the device's own.
        rules: the properties that udev's rules have found; links: below /dev."""
        base = posixpath.basename(path)
        words = {}
        if number:
            words["MAJOR"], words["MINOR"] = number.split(":")
            words["DEVNAME"] = name or FOLDERS.get(subsystem, "") + base.replace("!", "/")
            self.node_at(words["DEVNAME"], number, "block" if subsystem == "block" else "char")
        words.update({key: value for key, value in (uevent or {}).items() if key == "DEVTYPE"})
        if driver:
            words["DRIVER"] = driver
        words.update({key: value for key, value in (uevent or {}).items() if key != "DEVTYPE"})
        self.text(path + "/uevent", "".join(f"{key}={value}\n" for key, value in words.items()))
        for key, value in (attributes or {}).items():
            self.text(f"{path}/{key}", f"{value}\n")
        if number:
            self.text(path + "/dev", number + "\n")
        if subsystem in BUSES:
            self.link(f"{path}/subsystem", f"/sys/bus/{subsystem}")
            self.link(f"/sys/bus/{subsystem}/devices/{base}", path)
        else:
            subsystem = subsystem.removeprefix("class/")
            self.link(f"{path}/subsystem", f"/sys/class/{subsystem}")
            self.link(f"/sys/class/{subsystem}/{base}", path)
            above = self.device_above(path)
            if above:
                self.link(f"{path}/device", above)
        if driver:
            self.link(f"{path}/driver", f"/sys/bus/{subsystem}/drivers/{driver}")
        entry = self.udev_id(subsystem, base, number, words)
        self.entries[path] = (entry, words.get("DEVNAME", ""), links)
        self.udev(entry, rules or {}, links, tags)
        for each in links:
            if not self.find("/dev/" + each):  # two of one make want one name: the first has it
                self.link("/dev/" + each, "/dev/" + words["DEVNAME"])
        return path

    def device_above(self, path):
        while (path := posixpath.dirname(path)) != "/":
            if isinstance(self.find(path), dict) and "uevent" in self.find(path):
                return path
        return ""

    @staticmethod
    def udev_id(subsystem, base, number, words):
        if number:
            return ("b" if subsystem == "block" else "c") + number
        return f"n{words['IFINDEX']}" if subsystem == "net" else f"+{subsystem}:{base}"

    def udev(self, name, rules, links, tags):
        """systemd's sd_device database: nothing of a device that no rule has touched."""
        if not rules and not links and not tags:
            return
        lines = [f"S:{each}" for each in links] + ["I:4711815"]
        lines += [f"E:{key}={value}" for key, value in rules.items()]
        lines += [f"{letter}:{tag}" for letter in "GQ" for tag in tags] + ["V:1"]
        self.text("/run/udev/data/" + name, "\n".join(lines) + "\n")

    def udevd_runs(self, unfinished=()):
        """Adds a running udevd, which has finished with all devices except those at or below the paths in `unfinished`: these have
        no entry in its database and no links. It has an entry for every other device with a node or an interface. Adds /sys/dev,
        which leads from a node to its device. Call it last. Source: systemd's device_should_have_db()."""
        self.put("/run/udev/control", ["socket"])
        database = self.find("/run/udev/data")
        for path, (entry, node, links) in self.entries.items():
            if entry[0] in "bc":
                self.link(f"/sys/dev/{'block' if entry[0] == 'b' else 'char'}/{entry[1:]}", path)
            if not any(f"{path}/".startswith(f"{each}/") for each in unfinished):
                if not entry.startswith("+"):
                    database.setdefault(entry, "I:4711815\nV:1\n")
                continue
            database.pop(entry, None)
            for each in links:
                *above, name = each.split("/")
                if self.find("/dev/" + each) == ["link", posixpath.relpath("/dev/" + node, posixpath.dirname("/dev/" + each))]:
                    del self.find("/dev/" + "/".join(above))[name]

    def in_container(self, has):
        """Replaces the host's /dev with that of a container: the nodes of every container, and those for whose names `has` returns
        true. Removes udev's links and its database, because a container has its own /run. Call it last."""
        host = dict(files_below(self.tree.pop("dev")))
        self.tree.pop("run", None)
        for name, what in host.items():
            if what[0] in ("char", "block") and (name in CONTAINER_NODES or has(name)):
                self.put("/dev/" + name, what)
        self.put("/dev/log", host["log"])
        if not self.find("/dev/ptmx"):
            self.put("/dev/ptmx", ["link", "pts/ptmx"])

    def virtual(self, subsystem, base, number="", attributes=None, **more):
        return self.device(f"/sys/devices/virtual/{subsystem}/{base}", subsystem, attributes, number=number, **more)

    def misc(self, *devices):
        """As in "kvm 232" or "net/tun 200"."""
        for each in devices:
            name, minor = each.split()
            self.virtual("misc", posixpath.basename(name), "10:" + minor, name=name)

    def begin_dev(self):
        """What is in every /dev: some nodes are there before their module is (modules.devname)."""
        for each in ("null 3", "zero 5", "full 7", "random 8", "urandom 9", "kmsg 11"):
            self.virtual("mem", each.split()[0], "1:" + each.split()[1])
        for name, number in (("tty", "5:0"), ("console", "5:1"), ("ptmx", "5:2")):
            self.virtual("tty", name, number)
        self.misc("fuse 229", "loop-control 237", "cpu_dma_latency 124")
        self.nodes("net/tun 10:200, vhost-net 10:238, vhost-vsock 10:241, uinput 10:223, uhid 10:239, vfio/vfio 10:196, "
                   "mapper/control 10:236, btrfs-control 10:234")
        self.put("/dev/log", ["link", "/run/systemd/journal/dev-log"])
        self.put("/dev/initctl", ["link", "/run/initctl"])
        self.virtual("net", "lo", attributes={"type": "772", "ifindex": "1"}, uevent={"INTERFACE": "lo", "IFINDEX": "1"})

    def serial_ports(self, count=4, at="/sys/devices/platform/serial8250"):
        self.device(at, "platform", driver="serial8250")
        for n in range(count):
            self.device(f"{at}/tty/ttyS{n}", "tty", number=f"4:{64 + n}")

    def loops(self, count):
        for n in range(count):
            self.device(f"/sys/devices/virtual/block/loop{n}", "block", number=f"7:{n}", uevent={"DEVTYPE": "disk"})

    # --- PCI

    def pci(self, above, address, ids, driver="", name="", numa=-1, group=None, of=None, attributes=None):
        """above: the path of the bridge, or "" for the root bus. ids: "VENDOR:DEVICE CLASS [SUBVENDOR:SUBDEVICE [REVISION]]".
        of: the path of the function that this one is a virtual function of."""
        parts = ids.split() + ["0000:0000", "00"][len(ids.split()) - 2:]
        (vendor, device), (sub_vendor, sub_device) = parts[0].split(":"), parts[2].split(":")
        path = f"{above or '/sys/devices/pci' + address[:7]}/{address}"
        modalias = "pci:" + "".join(f"{key}{each.upper():0>8}" for key, each in
                                     (("v", vendor), ("d", device), ("sv", sub_vendor), ("sd", sub_device)))
        code = parts[1].upper()
        self.device(path, "pci",
                    {"vendor": "0x" + vendor, "device": "0x" + device, "class": "0x" + parts[1],
                     "subsystem_vendor": "0x" + sub_vendor, "subsystem_device": "0x" + sub_device,
                     "revision": "0x" + parts[3], "numa_node": str(numa), **(attributes or {})},
                    driver,
                    uevent={"PCI_CLASS": code.lstrip("0") or "0", "PCI_ID": parts[0].upper(), "PCI_SUBSYS_ID": parts[2].upper(),
                            "PCI_SLOT_NAME": address,
                            "MODALIAS": f"{modalias}bc{code[:2]}sc{code[2:4]}i{code[4:]}"},
                    rules={"ID_VENDOR_FROM_DATABASE": VENDORS[vendor], "ID_MODEL_FROM_DATABASE": name} if name else None)
        if group is not None:
            self.link(path + "/iommu_group", f"/sys/kernel/iommu_groups/{group}")
        if of:
            self.link(path + "/physfn", of)
            number = sum(key.startswith("virtfn") for key in self.find(of))
            self.link(f"{of}/virtfn{number}", path)
        return path

    def port(self, address, above="", ids="8086:7ae8 060400", numa=-1):
        """A bridge: a root port, or a port of a switch."""
        return self.pci(above, address, ids, "pcieport", numa=numa)

    def switch(self, above, up, downs, ids, numa=-1):
        """A PCIe switch: its downstream ports' paths."""
        upstream = self.port(up, above, ids, numa)
        return [self.port(each, upstream, ids, numa) for each in downs]

    def nvme(self, above, number, minor, name="", ids="144d:a80a 010802 144d:a801", numa=-1, address="0000:01:00.0"):
        path = self.pci(above, address, ids, "nvme", name, numa)
        self.device(f"{path}/nvme/nvme{number}", "nvme", {"model": "SAMSUNG MZVL21T0HCLR-00B00"}, number=f"241:{number}")
        self.device(f"{path}/nvme/nvme{number}/nvme{number}n1", "block", {"removable": "0"}, number=f"259:{minor}",
                    uevent={"DEVTYPE": "disk"})

    def net(self, above, name, index, kind=1, port="", switch="", devtype=""):
        """A network interface. kind: ARPHRD_*, 1 for Ethernet, 32 InfiniBand, 280 CAN. port: phys_port_name. switch: phys_switch_id,
        which only the ports of a switch have."""
        where = f"{above}/net/{name}" if above else f"/sys/devices/virtual/net/{name}"
        names = {key: value for key, value in (("phys_port_name", port), ("phys_switch_id", switch)) if value}
        return self.device(where, "net", {"type": str(kind), "ifindex": str(index), "dev_port": "0", "dev_id": "0x0", **names},
                           uevent={**({"DEVTYPE": devtype} if devtype else {}), "INTERFACE": name, "IFINDEX": str(index)})

    def drm(self, card, number, render=None, connectors=(), slot="", rules=None):
        """The nodes of a graphics card. slot: as udev names the place, if it is no PCI card."""
        base = posixpath.basename(card)
        place = slot or "pci-" + base
        self.find("/sys/class").setdefault("drm", {})["version"] = "drm 1.1.0 20060810\n"
        path = self.device(f"{card}/drm/card{number}", "drm", number=f"226:{number}", uevent={"DEVTYPE": "drm_minor"},
                           rules={"ID_PATH": place, "ID_PATH_TAG": re.sub(r"[:.]", "_", place), **(rules or {})},
                           links=[f"dri/by-path/{place}-card"], tags=["seat", "master-of-seat", "uaccess"])
        for each in connectors:
            self.device(f"{path}/card{number}-{each}", "drm", uevent={"DEVTYPE": "drm_connector"})
        if render is not None:
            self.device(f"{card}/drm/renderD{render}", "drm", number=f"226:{render}", uevent={"DEVTYPE": "drm_minor"},
                        rules={"ID_PATH": place}, links=[f"dri/by-path/{place}-render"], tags=["seat", "uaccess"])

    def framebuffer(self, above, number, name):
        self.device(f"{above}/graphics/fb{number}", "graphics", {"name": name}, number=f"29:{number}")
        if not isinstance(self.find("/sys/class/graphics/fbcon"), list):
            self.virtual("graphics", "fbcon")

    def sound(self, above, card, ident, devices, links=()):
        """devices: the nodes with their minors, as in "controlC0 2, pcmC0D0p 3"."""
        path = self.device(f"{above}/sound/card{card}", "sound", {"id": ident, "number": str(card)}, tags=["systemd", "sound"])
        for each in devices.split(","):
            name, minor = each.split()
            self.device(f"{path}/{name}", "sound", number="116:" + minor, links=links if name.startswith("control") else (),
                        tags=["uaccess"])

    def sequencer(self):
        """What the modules of sound have beside the cards."""
        for name, number in (("timer", "116:33"), ("seq", "116:1")):
            self.virtual("sound", name, number)

    # --- USB

    def usb_bus(self, host, bus, speed=480):
        """A root hub below the controller at the path `host`."""
        address = posixpath.basename(host)
        self.devnums[bus] = 0
        return self.usb(f"{host}/usb{bus}", "", "1d6b:0002" if speed == 480 else "1d6b:0003", "Linux 6.8.0 xhci-hcd",
                        "xHCI Host Controller", address, bus=bus, classes=["09/00/00 hub"], speed=speed)

    def usb(self, hub, port, ids, manufacturer="", product="", serial="", classes=(), speed=12, bus=None, revision="0100",
            place=None):
        """What is plugged in at a hub's port. classes: of its interfaces with the driver of each, as in "08/06/50 usb-storage".
        place: udev's ID_PATH of the host controller, found by itself on PCI."""
        above = posixpath.basename(hub)  # "usb1" or "1-2"
        name = above if bus else f"{above.removeprefix('usb')}{'.' if '-' in above else '-'}{port}"
        path = hub if bus else f"{hub}/{name}"
        bus = bus or int(re.match(r"\d+", name).group())
        self.devnums[bus] += 1
        devnum = self.devnums[bus]
        vendor, model = ids.split(":")
        minor = (bus - 1) * 128 + devnum - 1
        words = (udev_word(manufacturer) or vendor, udev_word(product) or model)
        rules = {"ID_BUS": "usb", "ID_MODEL": words[1], "ID_MODEL_ID": model, "ID_VENDOR": words[0], "ID_VENDOR_ID": vendor,
                 "ID_SERIAL": "_".join(words + ((udev_word(serial),) if serial else ())), "ID_REVISION": revision,
                 "ID_USB_INTERFACES": ":" + "".join(each.split()[0].replace("/", "") + ":" for each in classes)}
        if serial:
            rules["ID_SERIAL_SHORT"] = udev_word(serial)
        known = self.usb_facts.get(hub)
        host = place or (known["host"] if known else "pci-" + posixpath.basename(posixpath.dirname(path)))
        rules["ID_PATH"] = host
        if known:
            rules["ID_PATH"] += f"-usb-0:{name.split('-')[1]}"
        self.usb_facts[path] = {"rules": rules, "host": host, "port": name.split("-")[1] if "-" in name else "0"}
        attributes = {"idVendor": vendor, "idProduct": model, "bcdDevice": revision, "busnum": str(bus), "devnum": str(devnum),
                      "devpath": name.split("-")[1] if "-" in name else "0", "speed": str(speed),
                      "bDeviceClass": "09" if "hub" in " ".join(classes) else "00"}
        for key, value in (("manufacturer", manufacturer), ("product", product), ("serial", serial)):
            if value:
                attributes[key] = value
        self.device(path, "usb", attributes, "usb", f"189:{minor}", f"bus/usb/{bus:03}/{devnum:03}",
                    {"DEVTYPE": "usb_device",
                     "PRODUCT": f"{int(vendor, 16):x}/{int(model, 16):x}/{int(revision, 16):x}", "TYPE": "0/0/0",
                     "BUSNUM": f"{bus:03}", "DEVNUM": f"{devnum:03}"}, rules, tags=["systemd"] if len(classes) > 1 else ())
        for number, each in enumerate(classes):
            code, driver = (each.split() + [""])[:2]
            self.device(f"{path}/{name if '-' in name else f'{bus}-0'}:1.{number}", "usb",
                        {"bInterfaceNumber": f"{number:02}", "bInterfaceClass": code.split("/")[0],
                         "bInterfaceSubClass": code.split("/")[1], "bInterfaceProtocol": code.split("/")[2]}, driver,
                        uevent={"DEVTYPE": "usb_interface", "INTERFACE": "/".join(str(int(x, 16)) for x in code.split("/"))})
        return path

    def interface(self, usb, number=0):
        return f"{usb}/{posixpath.basename(usb)}:1.{number}"

    def rules_of(self, usb, number=0, **more):
        facts = self.usb_facts[usb]
        rules = dict(facts["rules"])
        rules.update(ID_USB_INTERFACE_NUM=f"{number:02}", ID_PATH=f"{facts['host']}-usb-0:{facts['port']}:1.{number}", **more)
        return rules

    def usb_tty(self, usb, name, number=0):
        """The serial port of an interface: ttyACM* of the driver cdc_acm, ttyUSB* of the adapters' drivers."""
        interface = self.interface(usb, number)
        driver = self.find(interface)["driver"][1].rsplit("/", 1)[1]
        rules = self.rules_of(usb, number, ID_USB_DRIVER=driver)
        adapter = name.startswith("ttyUSB")
        port = "-port0" if adapter else ""
        where = interface
        if adapter:
            where = self.device(f"{interface}/{name}", "usb-serial", {"port_number": "0"}, USB_SERIAL_DRIVERS.get(driver, driver))
        n = int(re.search(r"\d+$", name).group())
        self.device(f"{where}/tty/{name}", "tty", number=f"{188 if adapter else 166}:{n}", rules=rules,
                    links=[f"serial/by-id/usb-{rules['ID_SERIAL']}-if{number:02}{port}",
                           f"serial/by-path/{rules['ID_PATH']}{port}"], tags=["systemd"])

    def usb_wwan(self, usb, number, n, index):
        """Adds the node and the network interface of a modem's QMI interface. The minors begin at 176: cdc-wdm.c."""
        interface = self.interface(usb, number)
        self.device(f"{interface}/usbmisc/cdc-wdm{n}", "usbmisc", number=f"180:{176 + n}")
        self.net(interface, f"wwan{n}", index, 65534, devtype="wwan")

    def usb_camera(self, usb, numbers, media):
        """A webcam: its picture, and its metadata. Their minors are given as they come."""
        interface = self.interface(usb)
        for index, n in enumerate(numbers):
            rules = self.rules_of(usb, 0, ID_V4L_VERSION="2", ID_V4L_PRODUCT=self.find(usb)["product"].strip(),
                                  ID_V4L_CAPABILITIES=":" if index else ":capture:")
            self.device(f"{interface}/video4linux/video{n}", "video4linux",
                        {"index": str(index), "name": self.find(usb)["product"].strip()}, number=f"81:{n}", rules=rules,
                        links=[f"v4l/by-id/usb-{rules['ID_SERIAL']}-video-index{index}",
                               f"v4l/by-path/{rules['ID_PATH']}-video-index{index}"], tags=["uaccess"])
        self.device(f"{interface}/media{media}", "media", {"model": self.find(usb)["product"].strip()}, number=f"237:{media}")

    def hidraw(self, usb, n, number=0, instance=1):
        rules = self.usb_facts[usb]["rules"]
        hid = f"0003:{rules['ID_VENDOR_ID']}:{rules['ID_MODEL_ID']}.{instance:04X}".upper()
        path = self.device(f"{self.interface(usb, number)}/{hid}", "hid", driver="hid-generic")
        self.device(f"{path}/hidraw/hidraw{n}", "hidraw", number=f"239:{n}", tags=["uaccess"] if "YubiKey" in rules["ID_MODEL"] else ())

    # --- buses of small machines, and what else has a class of its own

    def platform(self, path, driver="", attributes=None):
        return self.device("/sys/devices/platform/" + path, "platform", attributes, driver)

    def video(self, above, n, name, index=0, capabilities=":", slot=""):
        """A video device of a system on a chip; its place as udev's path_id has it."""
        rules = {"ID_V4L_VERSION": "2", "ID_V4L_PRODUCT": name, "ID_V4L_CAPABILITIES": capabilities}
        links = []
        if slot:
            rules["ID_PATH"] = slot
            links = [f"v4l/by-path/{slot}-video-index{index}"]
        return self.device(f"{above}/video4linux/video{n}", "video4linux", {"index": str(index), "name": name}, number=f"81:{n}",
                           rules=rules, links=links, tags=["uaccess"])

    def i2c(self, above, n, name):
        adapter = self.device(f"{above}/i2c-{n}", "i2c", {"name": name})
        self.device(f"{adapter}/i2c-dev/i2c-{n}", "i2c-dev", {"name": name}, number=f"89:{n}")

    def spi(self, above, bus, chip, minor):
        self.device(f"{above}/spi_master/spi{bus}", "spi_master")
        where = self.device(f"{above}/spi_master/spi{bus}/spi{bus}.{chip}", "spi", {"modalias": "spi:spidev"}, "spidev")
        self.device(f"{where}/spidev/spidev{bus}.{chip}", "spidev", number=f"153:{minor}")

    def gpio(self, above, n, base, label, lines):
        self.device(f"{above}/gpiochip{n}", "gpio", number=f"254:{n}")
        self.device(f"{above}/gpio/gpiochip{base}", "class/gpio", {"label": label, "base": str(base), "ngpio": str(lines)})

    def watchdog(self, above, n, identity):
        self.device(f"{above}/watchdog/watchdog{n}", "watchdog", {"identity": identity}, number=f"247:{n}", tags=["systemd"])
        if n == 0:
            self.device(f"{above}/misc/watchdog", "misc", number="10:130")

    def tpm(self, above):
        self.device(f"{above}/tpm/tpm0", "tpm", {"tpm_version_major": "2"}, number="10:224", tags=["systemd"])
        self.device(f"{above}/tpmrm/tpmrm0", "tpmrm", number="252:65536", tags=["systemd"])

    def ptp(self, above, n, name, pps=None):
        self.device(f"{above}/ptp/ptp{n}", "ptp", {"clock_name": name}, number=f"248:{n}")
        if pps is not None:
            self.device(f"/sys/devices/virtual/pps/pps{pps}", "pps", {"name": f"ptp{n}"}, number=f"249:{pps}")

    def rdma(self, card, name, n, netdev, index, guid, layer="InfiniBand", state="4: ACTIVE", rate="200 Gb/sec (4X HDR)",
             representors=0, **of_switch):
        """An RDMA device below the card at that path, with its nodes and its network interface. n: of uverbsN and umadN.
        representors: how many a card in switchdev mode has; each is a port of the device, which has no GIDs and no MADs then.
        of_switch: see net(). Source: the kernel's mlx5_port_rep_immutable()."""
        device = self.device(f"{card}/infiniband/{name}", "infiniband",
                             {"node_guid": guid, "node_type": "1: CA", "sys_image_guid": guid, "fw_ver": "20.43.2026",
                              "board_id": "MT_0000000223", "hca_type": "MT4123", "ports/1/state": state,
                              "ports/1/phys_state": "5: LinkUp" if state == "4: ACTIVE" else "3: Disabled",
                              "ports/1/link_layer": layer, "ports/1/rate": rate}, uevent={"NAME": name})
        for number in range(2, 2 + representors):
            self.text(f"{device}/ports/{number}/state", state + "\n")
            self.text(f"{device}/ports/{number}/link_layer", layer + "\n")
        self.device(f"{card}/infiniband_verbs/uverbs{n}", "infiniband_verbs",
                    {"ibdev": name, "abi_version": "1"}, number=f"231:{192 + n}")
        if not representors:
            self.text(f"{device}/ports/1/gid_attrs/ndevs/0", netdev + "\n")
            self.device(f"{card}/infiniband_mad/umad{n}", "infiniband_mad", {"ibdev": name, "port": "1"}, number=f"231:{n}")
        if layer == "InfiniBand":
            self.device(f"{card}/infiniband_mad/issm{n}", "infiniband_mad", {"ibdev": name, "port": "1"}, number=f"231:{64 + n}")
        self.net(card, netdev, index, 32 if layer == "InfiniBand" else 1, **of_switch)

    def subfunction(self, card, n, number):
        """Adds a subfunction of a network card, an auxiliary device below the card's PCI function. Returns its path."""
        return self.device(f"{card}/mlx5_core.sf.{n}", "auxiliary", {"sfnum": str(number)}, "mlx5_core.sf",
                           uevent={"MODALIAS": "auxiliary:mlx5_core.sf"})

    def can(self, above, name, index):
        return self.net(above, name, index, 280)

    # --- NVIDIA

    def nvidia(self, cards, version="570.86.15", bonds=None):
        """What the driver and NVML show. cards: of (address, name, MiB of memory); bonds: score by pair of indices."""
        self.nodes("nvidiactl 195:255, nvidia-modeset 195:254, nvidia-uvm 508:0, nvidia-uvm-tools 508:1, "
                   "nvidia-caps/nvidia-cap1 234:1, nvidia-caps/nvidia-cap2 234:2")
        self.text("/proc/driver/nvidia/version",
                  f"NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  {version}  Release Build\n")
        told = []
        for index, (address, name, memory) in enumerate(cards):
            gpu = "GPU-" + str(uuid.uuid5(uuid.NAMESPACE_DNS, f"{self.node}/{address}"))
            self.node_at(f"nvidia{index}", f"195:{index}")
            self.text(f"/proc/driver/nvidia/gpus/{address}/information",
                      f"Model: \t\t {name}\nIRQ:   \t\t {120 + index}\nGPU UUID: \t {gpu}\nVideo BIOS: \t 92.00.45.00.03\n"
                      f"Bus Type: \t PCIe\nDMA Size: \t 47 bits\nDMA Mask: \t 0x7fffffffffff\nBus Location: \t {address}\n"
                      f"Device Minor: \t {index}\nGPU Firmware: \t {version}\nGPU Excluded:\t No\n")
            told.append({"index": str(index), "uuid": gpu, "name": name, "pci": address, "minor": index,
                         "memory": memory * 2**20, "nodes": [f"/dev/nvidia{index}"], "migEnabled": False, "parts": [],
                         "bonds": [{"pci": cards[other][0], "score": score} for (one, other), score in
                                   sorted((bonds or {}).items()) if one == index]})
        self.more["nvml"] = {"cards": told}
        return told

    def divide(self, card, parts):
        """MIG on one card. parts: of (profile, MiB, GPU instance). The numbers of their capabilities are the driver's:
        cap1 and cap2 are for all, and each card's instances have a range of their own."""
        card["migEnabled"] = True
        lines = {"config": 1, "monitor": 2, **self.more.get("minors", {})}
        for index, (profile, memory, instance) in enumerate(parts):
            first = card["minor"] * 135 + 3 + instance * 9
            lines[f"gpu{card['minor']}/gi{instance}/access"] = first
            lines[f"gpu{card['minor']}/gi{instance}/ci0/access"] = first + 1
            for minor in (first, first + 1):
                self.node_at(f"nvidia-caps/nvidia-cap{minor}", f"234:{minor}")
            card["parts"].append({"index": f"{card['index']}:{index}", "profile": profile.replace("+", "."),
                                  "uuid": "MIG-" + str(uuid.uuid5(uuid.NAMESPACE_DNS, f"{card['uuid']}/{instance}")),
                                  "name": f"{card['name']} MIG {profile}", "pci": card["pci"], "minor": card["minor"],
                                  "memory": memory * 2**20,
                                  "nodes": card["nodes"] + [f"/dev/nvidia-caps/nvidia-cap{minor}" for minor in (first, first + 1)],
                                  "bonds": card["bonds"] + [{"pci": card["pci"], "score": 60}]})
        self.more["minors"] = lines

    # --- as a file

    def facts(self):
        minors = self.more.pop("minors", None)
        if minors:
            self.text("/proc/driver/nvidia-caps/mig-minors", "".join(f"{name} {minor}\n" for name, minor in minors.items()))
        return {"plughostFacts": 1, "node": self.node, "recorded": "2026-01-31T12:00:00Z", "tree": self.tree, **self.more}


def as_text(value, depth=0):
    """JSON with an entry of a directory in each line; what is short and has nothing below it is in one."""
    if isinstance(value, dict) and value:
        line = json.dumps(value, ensure_ascii=False)
        if len(line) < 80 and not any(isinstance(each, dict) for each in value.values()):
            return line
        inner = " " * (depth + 1)
        entries = [f"{inner}{json.dumps(key)}: {as_text(each, depth + 1)}" for key, each in value.items()]
        return "{\n" + ",\n".join(entries) + "\n" + " " * depth + "}"
    if isinstance(value, list) and any(isinstance(each, dict) for each in value):
        inner = " " * (depth + 1)
        return "[\n" + ",\n".join(inner + as_text(each, depth + 1) for each in value) + "\n" + " " * depth + "]"
    return json.dumps(value, ensure_ascii=False)


def sorted_tree(value):
    return {key: sorted_tree(value[key]) for key in sorted(value)} if isinstance(value, dict) else value


def text_of(machine):
    facts = machine.facts()
    facts["tree"] = sorted_tree(facts["tree"])
    return as_text(facts) + "\n"
