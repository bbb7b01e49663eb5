#!/usr/bin/env python3
"""Makes recorded nodes: `make.py DIRECTORY` writes all of them there, as the build of the tests does; `make.py` writes the two
samples and a hash of each machine beside it, and `make.py --check` says which of these differ.

One function is one machine, in the order in which somebody would describe it. What the kernel and udev make of the words is in
machine.py.
"""

import hashlib
import sys
from pathlib import Path

sys.dont_write_bytecode = True

from machine import Machine, text_of  # noqa: E402

HERE = Path(__file__).resolve().parent
SUMS = HERE / "sums.txt"


def workstation():
    """A desk with what a developer of devices has: serial adapters, a webcam, sound, a security key."""
    m = Machine("desk-01", "6.8.0-52-generic", dmi=("Dell Inc.", "Precision 3680"))
    m.serial_ports()
    m.loops(8)
    m.misc("kvm 232", "vhost-net 238", "net/tun 200", "rfkill 242", "hpet 228", "uinput 223")
    m.pci("", "0000:00:00.0", "8086:a740 060000 1028:0c72 01", name="Raptor Lake-S Host Bridge/DRAM Controller", group=0)
    graphics = m.pci("", "0000:00:02.0", "8086:a780 030000 1028:0c72 04", "i915", "Raptor Lake-S GT1 [UHD Graphics 770]", group=1)
    m.drm(graphics, 1, 128, ("DP-1", "DP-2", "HDMI-A-1"))
    m.framebuffer(graphics, 0, "i915drmfb")
    for n in range(3):
        m.i2c(graphics, n, f"i915 gmbus dp{'abc'[n]}")
    m.nvme(m.port("0000:00:06.0", ids="8086:a74d 060400"), 0, 0)
    m.tpm("/sys/devices/LNXSYSTM:00/LNXSYBUS:00/MSFT0101:00")
    m.watchdog(m.platform("iTCO_wdt", "iTCO_wdt"), 0, "iTCO_wdt")
    m.net(m.pci("", "0000:00:1f.6", "8086:0dc7 020000 1028:0c72 11", "e1000e", "Ethernet Connection (23) I219-LM", group=14),
          "eno1", 2)
    m.ptp("/sys/devices/pci0000:00/0000:00:1f.6", 0, "e1000e ptp")
    m.sequencer()
    m.sound(m.pci("", "0000:00:1f.3", "8086:7a50 040300 1028:0c72 11", "snd_hda_intel", "Raptor Lake High Definition Audio",
                  group=14), 0, "PCH", "controlC0 5, hwC0D0 4, pcmC0D0c 3, pcmC0D0p 2", ["snd/by-path/pci-0000:00:1f.3"])
    host = m.pci("", "0000:00:14.0", "8086:7a60 0c0330 1028:0c72 11", "xhci_hcd", "Raptor Lake USB 3.2 Gen 2x2 XHCI", group=3)
    root = m.usb_bus(host, 1)
    m.usb_bus(host, 2, 20000)
    m.usb(root, 14, "8087:0033", classes=["e0/01/01 btusb", "e0/01/01 btusb"])
    keyboard = m.usb(root, 1, "046d:c31c", "Logitech", "USB Keyboard", classes=["03/01/01 usbhid", "03/00/00 usbhid"], speed=1.5)
    m.hidraw(keyboard, 0)
    key = m.usb(root, 2, "1050:0407", "Yubico", "YubiKey OTP+FIDO+CCID",
                classes=["03/01/01 usbhid", "03/00/00 usbhid", "0b/00/00 usbfs"])
    m.hidraw(key, 1, 0, 2)
    m.hidraw(key, 2, 1, 3)
    webcam = m.usb(root, 3, "046d:0892", "", "HD Pro Webcam C920", "8F3B2D6F", speed=480,
                   classes=["0e/01/00 uvcvideo", "0e/02/00 uvcvideo", "01/01/00 snd-usb-audio", "01/02/00 snd-usb-audio"])
    m.usb_camera(webcam, (0, 1), 0)
    m.sound(m.interface(webcam, 2), 1, "C920", "controlC1 7, pcmC1D0c 6",
            ["snd/by-id/usb-046d_HD_Pro_Webcam_C920_8F3B2D6F-02", "snd/by-path/pci-0000:00:14.0-usb-0:3:1.2"])
    # A hub of WCH's: its vendor is that of serial adapters.
    hub = m.usb(root, 5, "1a86:8091", "", "USB HUB", classes=["09/00/02 hub"], speed=480)
    m.usb_tty(m.usb(hub, 1, "0403:6001", "FTDI", "FT232R USB UART", "A50285BI", classes=["ff/ff/ff ftdi_sio"]), "ttyUSB0")
    m.usb_tty(m.usb(hub, 2, "1a86:7523", "", "USB Serial", classes=["ff/01/02 ch341"]), "ttyUSB1")
    m.usb_tty(m.usb(hub, 3, "1a86:7523", "", "USB Serial", classes=["ff/01/02 ch341"]), "ttyUSB2")
    m.usb_tty(m.usb(hub, 4, "10c4:ea60", "Silicon Labs", "CP2102 USB to UART Bridge Controller", "0001",
                    classes=["ff/00/00 cp210x"]), "ttyUSB3")
    board = m.usb(root, 6, "0483:374b", "STMicroelectronics", "STM32 STLink", "066CFF505282494867161234",
                  classes=["ff/ff/ff", "08/06/50 usb-storage", "02/02/01 cdc_acm", "0a/00/00 cdc_acm"])
    m.usb_tty(board, "ttyACM0", 2)
    for name in ("amy", "bob"):
        m.put(f"/etc/gophers/{name}", ["file"])
    return m


def dgx():
    """A DGX-1 with V100: a hybrid cube mesh of NVLinks, and a network card for each pair of GPUs."""
    m = Machine("dgx-01", "5.15.0-1063-nvidia", dmi=("NVIDIA", "DGX-1 with V100-32"), pool="batch")
    m.serial_ports()
    m.misc("kvm 232", "infiniband/rdma_cm 58")
    m.nodes("gdrdrv 506:0")
    bmc(m, "0000:00:1c.0", "0000:0f:00.0", "0000:10:00.0")
    gpus = []
    for pair, (root, up, downs, cards, nic, numa) in enumerate((
            ("0000:00:02.0", "0000:02:00.0", ("0000:03:08.0", "0000:03:0c.0", "0000:03:10.0"), ("0000:06:00.0", "0000:07:00.0"),
             "0000:05:00.0", 0),
            ("0000:00:03.0", "0000:08:00.0", ("0000:09:08.0", "0000:09:0c.0", "0000:09:10.0"), ("0000:0a:00.0", "0000:0b:00.0"),
             "0000:0c:00.0", 0),
            ("0000:80:02.0", "0000:81:00.0", ("0000:82:08.0", "0000:82:0c.0", "0000:82:10.0"), ("0000:85:00.0", "0000:86:00.0"),
             "0000:84:00.0", 1),
            ("0000:80:03.0", "0000:87:00.0", ("0000:88:08.0", "0000:88:0c.0", "0000:88:10.0"), ("0000:89:00.0", "0000:8a:00.0"),
             "0000:8b:00.0", 1))):
        ports = m.switch(m.port(root, ids="8086:6f04 060400", numa=numa), up, downs, "10b5:8796 060400", numa)
        for port, card in zip(ports, cards):
            m.pci(port, card, "10de:1db5 030200 10de:1249 a1", "nvidia", "GV100GL [Tesla V100 SXM2 32GB]", numa)
            gpus.append((card, "Tesla V100-SXM2-32GB", 32768))
        ib = m.pci(ports[2], nic, "15b3:1013 020700 15b3:0003", "mlx5_core", "MT27700 Family [ConnectX-4]", numa)
        m.rdma(ib, f"mlx5_{pair}", pair, f"ib{pair}", 4 + pair, f"248a:0703:00b4:7a{pair}6", rate="100 Gb/sec (4X EDR)")
    # As nvidia-smi topo -m shows them: how many NVLinks two GPUs have between them.
    links = ("01122000", "10210200", "12020010", "21200001", "20000112", "02001021", "00101202", "00012120")
    bonds = {}
    for one in range(8):
        for other in range(8):
            near = 50 if one // 2 == other // 2 else 30 if one // 4 == other // 4 else 10
            if one != other:
                bonds[one, other] = near + 100 * int(links[one][other])
    m.nvidia(gpus, "535.216.01", bonds)
    m.net(m.pci(m.port("0000:00:1c.4", ids="8086:8d18 060400", numa=0), "0000:0e:00.0", "8086:1528 020000 10de:ffff 01", "ixgbe",
                "Ethernet Controller 10-Gigabit X540-AT2", 0), "enp14s0", 2)
    m.nvme(m.port("0000:00:1d.0", ids="8086:8d10 060400", numa=0), 0, 0, address="0000:12:00.0", numa=0)
    return m


def bmc(m, root, bridge, card, ids="1a03:2000 030000 1a03:2000 30"):
    """A server's management controller with its screen, its watchdog and IPMI."""
    above = m.port(bridge, m.port(root, numa=0), "1a03:1150 060400", 0)
    screen = m.pci(above, card, ids, "ast", "ASPEED Graphics Family", 0)
    m.drm(screen, 0, connectors=("VGA-1",))
    m.framebuffer(screen, 0, "astdrmfb")
    si = m.platform("IPI0001:00", "ipmi_si")
    m.device(f"{si}/ipmi/ipmi0", "ipmi", number="240:0")


def a100_mig():
    """Four A100 with NVLink between each two of them; two are divided by MIG, and have no NVLink then."""
    m = Machine("a100-01", "5.14.0-427.40.1.el9_4.x86_64", dmi=("Supermicro", "AS -2124GQ-NART"), pool="batch")
    m.serial_ports()
    m.misc("kvm 232")
    m.nodes("gdrdrv 506:0")
    bmc(m, "0000:60:05.0", "0000:61:00.0", "0000:62:00.0")
    cards = []
    for address, numa in (("0000:01:00.0", 0), ("0000:41:00.0", 0), ("0000:81:00.0", 1), ("0000:c1:00.0", 1)):
        root = m.port(f"{address[:5]}{int(address[5:7], 16) - 1:02x}:01.1", ids="1022:1483 060400", numa=numa)
        m.pci(root, address, "10de:20b0 030200 10de:134f a1", "nvidia", "GA100 [A100 SXM4 40GB]", numa)
        cards.append((address, "NVIDIA A100-SXM4-40GB", 40960))
    bonds = {(one, other): (20 if one // 2 == other // 2 else 10) + (400 if min(one, other) >= 2 else 0)
             for one in range(4) for other in range(4) if one != other}
    told = m.nvidia(cards, "550.127.08", bonds)
    m.divide(told[0], [("1g.5gb", 4864, 7 + n) for n in range(7)])
    m.divide(told[1], [("3g.20gb", 19968, 1), ("2g.10gb", 9856, 5), ("1g.5gb+me", 4864, 13)])
    m.net(m.pci(m.port("0000:20:03.1", ids="1022:1483 060400", numa=0), "0000:21:00.0", "15b3:1017 020000 15b3:0020", "mlx5_core",
                "MT27800 Family [ConnectX-5]", 0), "ens1f0np0", 2)
    return m


def inference():
    """Cards of two sorts, for which one number of replicas would be wrong."""
    m = Machine("inference-01", "6.1.0-28-amd64", dmi=("HPE", "ProLiant DL380 Gen10 Plus"))
    m.serial_ports()
    m.tpm("/sys/devices/LNXSYSTM:00/LNXSYBUS:00/MSFT0101:00")
    cards = []
    for address, ids, name, memory, numa in (("0000:3b:00.0", "10de:1eb8 030200 10de:12a2 a1", "Tesla T4", 15360, 0),
                                             ("0000:86:00.0", "10de:27b8 030200 10de:16ee a1", "NVIDIA L4", 23034, 1),
                                             ("0000:af:00.0", "10de:27b8 030200 10de:16ee a1", "NVIDIA L4", 23034, 1)):
        root = m.port(f"{address[:5]}{int(address[5:7], 16) - 1:02x}:00.0", ids="8086:347a 060400", numa=numa)
        m.drm(m.pci(root, address, ids, "nvidia", name, numa), len(cards), 128 + len(cards))
        cards.append((address, name, memory))
    m.nvidia(cards, "550.127.08", {(0, 1): 10, (1, 0): 10, (0, 2): 10, (2, 0): 10, (1, 2): 20, (2, 1): 20})
    m.net(m.pci(m.port("0000:00:1c.0", numa=0), "0000:04:00.0", "14e4:165f 020000 103c:22be", "tg3", numa=0), "eno1", 2)
    return m


def mi300x():
    """Eight MI300X, not partitioned: the driver makes the nodes of seven more partitions for each all the same."""
    m = Machine("mi300x-01", "5.15.0-122-generic", dmi=("Supermicro", "AS -8125GS-TNMR2"))
    m.serial_ports()
    m.misc("kvm 232")
    bmc(m, "0000:c0:05.0", "0000:c1:00.0", "0000:c2:00.0")
    m.virtual("kfd", "kfd", "234:0")
    minor = 0
    for n, bus in enumerate(("05", "26", "46", "65", "85", "a6", "c6", "e5")):
        numa = n // 4
        root = m.port(f"0000:{int(bus, 16) - 4:02x}:01.1", ids="1022:14ab 060400", numa=numa)
        ports = m.switch(root, f"0000:{int(bus, 16) - 2:02x}:00.0", [f"0000:{int(bus, 16) - 1:02x}:00.0"], "1000:c030 060400", numa)
        card = m.pci(ports[0], f"0000:{bus}:00.0", "1002:74a1 120000 1002:74a1", "amdgpu", "Aqua Vanjaram [Instinct MI300X]", numa)
        m.text(f"{card}/current_compute_partition", "SPX\n")
        m.text(f"{card}/ras/umc_err_count", "ue: 0\nce: 0\n")
        m.drm(card, 1 + minor, 128 + minor)
        minor += 1
        for partition in range(7):
            index = n * 7 + partition
            where = m.platform(f"amdgpu_xcp_{index}")
            m.drm(where, 1 + minor, 128 + minor, slot=f"platform-amdgpu_xcp_{index}")
            minor += 1
    m.net(m.pci(m.port("0000:40:03.1", ids="1022:14ab 060400", numa=0), "0000:41:00.0", "14e4:1750 020000 14e4:2100", "bnxt_en",
                numa=0), "ens21np0", 2)
    return m


def intel_ai():
    """A desktop of Intel's alone: graphics in the processor, a card, and an NPU."""
    m = Machine("arc-01", "6.11.0-19-generic", dmi=("ASUS", "System Product Name"))
    m.serial_ports(1)
    m.misc("kvm 232", "vhost-net 238")
    screen = m.pci("", "0000:00:02.0", "8086:7d67 030000 1043:8882 06", "i915", "Arrow Lake-S [Intel Graphics]", group=0)
    m.drm(screen, 1, 129, ("DP-1", "HDMI-A-1"))
    npu = m.pci("", "0000:00:0b.0", "8086:ad1d 120000 1043:8882 01", "intel_vpu", "Arrow Lake NPU", group=6)
    m.device(f"{npu}/accel/accel0", "accel", number="261:0", uevent={"DEVTYPE": "accel_minor"})
    port, = m.switch(m.port("0000:00:01.0", ids="8086:ae4d 060400"), "0000:01:00.0", ["0000:02:01.0"], "8086:e2ff 060400")
    card = m.pci(port, "0000:03:00.0", "8086:e20b 030000 1849:6021", "xe", "Battlemage G21 [Arc B580]", group=17)
    m.drm(card, 0, 128, ("DP-4", "HDMI-A-4"))
    m.framebuffer(card, 0, "xedrmfb")
    m.sequencer()
    m.sound(m.pci("", "0000:80:1f.3", "8086:7f50 040300 1043:8882", "snd_hda_intel", group=22), 0, "PCH",
            "controlC0 5, hwC0D0 4, pcmC0D0c 3, pcmC0D0p 2")
    m.net(m.pci(m.port("0000:80:1c.0", ids="8086:7f38 060400"), "0000:81:00.0", "8086:125c 020000 1043:8867", "igc",
                "Ethernet Controller I226-V", group=23), "enp129s0", 2)
    m.ptp("/sys/devices/pci0000:80/0000:80:1c.0/0000:81:00.0", 0, "i226 clock", pps=0)
    return m


def rdma():
    """InfiniBand, Ethernet with virtual functions (two for containers, two for virtual machines), and a port that is down."""
    m = Machine("hpc-01", "5.14.0-427.40.1.el9_4.x86_64", dmi=("Lenovo", "ThinkSystem SR665 V3"), pool="batch")
    m.serial_ports()
    m.misc("kvm 232", "vhost-net 238", "infiniband/rdma_cm 58", "vfio/vfio 196")
    for n, (bus, numa, state) in enumerate((("17", 0, "4: ACTIVE"), ("ca", 1, "1: DOWN"))):
        root = m.port(f"0000:{int(bus, 16) - 1:02x}:01.1", ids="1022:14ab 060400", numa=numa)
        card = m.pci(root, f"0000:{bus}:00.0", "15b3:101b 020700 15b3:0007", "mlx5_core", "MT28908 Family [ConnectX-6]", numa,
                     group=40 + n)
        m.rdma(card, f"mlx5_{n}", n, f"ibp{int(bus, 16)}s0", 4 + n, f"b83f:d203:00a1:7c{n}4", state=state)
    root = m.port("0000:97:01.1", ids="1022:14ab 060400", numa=1)
    dx = [m.pci(root, f"0000:98:00.{n}", "15b3:101d 020000 15b3:0016", "mlx5_core", "MT2892 Family [ConnectX-6 Dx]", 1, 50 + n)
          for n in range(2)]
    m.rdma(dx[0], "mlx5_2", 2, "ens3f0np0", 6, "b83f:d203:0066:1f30", "Ethernet", rate="100 Gb/sec (4X EDR)")
    m.rdma(dx[1], "mlx5_3", 3, "ens3f1np1", 7, "b83f:d203:0066:1f31", "Ethernet", rate="100 Gb/sec (4X EDR)")
    for n in range(4):
        function = m.pci(root, f"0000:98:00.{2 + n}", "15b3:101e 020000 15b3:0016", "mlx5_core" if n < 2 else "vfio-pci",
                         "ConnectX Family mlx5Gen Virtual Function", 1, 52 + n, dx[0])
        if n < 2:
            m.rdma(function, f"mlx5_{4 + n}", 4 + n, f"ens3f0v{n}", 8 + n, "0000:0000:0000:0000", "Ethernet",
                   rate="100 Gb/sec (4X EDR)")
        else:
            m.virtual("vfio", str(52 + n), f"242:{n - 2}")
    m.ptp(dx[0], 0, "mlx5_ptp", pps=0)
    m.ptp(dx[1], 1, "mlx5_ptp", pps=1)
    return m


def raspberry_pi():
    """A Raspberry Pi 4 with a camera module. Most of its video devices are codecs and image processors, not cameras."""
    m = Machine("rpi-01", "6.6.51+rpt-rpi-v8", "aarch64", model="Raspberry Pi 4 Model B Rev 1.5")
    m.loops(8)
    m.platform("soc")
    for n, name in enumerate(("fe201000.serial", "fe215040.serial")):
        uart = m.platform("soc/" + name, ("uart-pl011", "bcm2835-aux-uart")[n])
        m.device(f"{uart}/tty/{('ttyAMA0', 'ttyS0')[n]}", "tty", number=("204:64", "4:64")[n],
                 links=[f"serial{1 - n}"], tags=["systemd"])
    m.gpio(m.platform("soc/fe200000.gpio", "pinctrl-bcm2835"), 0, 512, "pinctrl-bcm2711", 58)
    firmware = m.platform("soc/soc:firmware", "raspberrypi-firmware")
    m.gpio(m.platform("soc/soc:firmware/soc:firmware:gpio", "raspberrypi-exp-gpio"), 1, 570, "raspberrypi-exp-gpio", 8)
    m.device(f"{firmware}/bcm2708_vcio/vcio", "bcm2708_vcio", number="100:0")
    m.i2c(m.platform("soc/fe804000.i2c", "i2c-bcm2835"), 1, "bcm2835 (i2c@7e804000)")
    for n in (0, 1):
        m.i2c(m.platform(f"soc/fef0{4 + 5 * n}500.i2c", "brcmstb-i2c"), 20 + n, f"fef0{4 + 5 * n}500.i2c")
    spi = m.platform("soc/fe204000.spi", "spi-bcm2835")
    for chip in (0, 1):
        m.spi(spi, 0, chip, chip)
    camera = m.platform("soc/fe801000.csi", "unicam")
    m.video(camera, 0, "unicam-image", 0, ":capture:", "platform-fe801000.csi")
    m.video(camera, 1, "unicam-embedded", 1, ":", "platform-fe801000.csi")
    codec = m.platform("soc/soc:vchiq/bcm2835-codec", "bcm2835-codec")
    for n, what in ((10, "decode"), (11, "encode"), (12, "isp"), (18, "image_fx"), (31, "encode_image")):
        slot = "platform-bcm2835-codec" if n == 10 else ""  # one of them keeps the link's name
        m.video(codec, n, f"bcm2835-codec-{what}", 0, ":", slot)
    isp = m.platform("soc/soc:vchiq/bcm2835-isp", "bcm2835-isp")
    for n in range(4):
        m.video(isp, 13 + n, f"bcm2835-isp-{'output' if n == 0 else 'capture' if n < 3 else 'stats'}{n}", n,
                (":video_output:", ":capture:", ":capture:", ":")[n], "platform-bcm2835-isp")
    hevc = m.platform("soc/feb10000.codec", "rpivid")
    m.video(hevc, 19, "rpivid", 0, ":", "platform-feb10000.codec")
    v3d = m.platform("v3dbus/fec00000.v3d", "v3d")
    m.drm(v3d, 0, 128, slot="platform-fec00000.v3d")
    vc4 = m.platform("gpu", "vc4-drm")
    m.drm(vc4, 1, connectors=("HDMI-A-1", "HDMI-A-2"), slot="platform-gpu")
    m.framebuffer(vc4, 0, "vc4drmfb")
    m.sequencer()
    m.sound(m.platform("soc/soc:vchiq/bcm2835_audio", "bcm2835_audio"), 0, "Headphones", "controlC0 2, pcmC0D0p 3")
    m.sound(m.platform("soc/fef00700.hdmi", "vc4_hdmi"), 1, "vc4hdmi0", "controlC1 4, pcmC1D0p 5")
    m.watchdog(m.platform("soc/fe100000.watchdog/bcm2835-wdt", "bcm2835-wdt"), 0, "Broadcom BCM2835 Watchdog timer")
    m.virtual("misc", "vchiq", "10:122")
    m.virtual("misc", "vcsm-cma", "10:121")
    m.virtual("bcm2835-gpiomem", "gpiomem", "239:0")
    for n, name in enumerate(("linux,cma", "system")):
        m.virtual("dma_heap", name, f"251:{n}", name=f"dma_heap/{name}")
    bridge = m.pci("/sys/devices/platform/scb/fd500000.pcie/pci0000:00", "0000:00:00.0", "14e4:2711 060400 0000:0000 20", "pcieport")
    host = m.pci(bridge, "0000:01:00.0", "1106:3483 0c0330 1106:3483 01", "xhci_hcd")
    root = m.usb_bus(host, 1)
    m.usb_bus(host, 2, 5000)
    m.usb(root, 1, "2109:3431", "", "USB2.0 Hub", classes=["09/00/00 hub"], speed=480)
    m.net(m.platform("scb/fd580000.ethernet", "bcmgenet"), "eth0", 2)
    card = m.device("/sys/devices/platform/emmc2bus/fe340000.mmc/mmc_host/mmc0/mmc0:aaaa", "mmc", {"type": "SD"})
    m.device(f"{card}/block/mmcblk0", "block", {"removable": "0"}, number="179:0", uevent={"DEVTYPE": "disk"})
    return m


def vm():
    """A virtual machine of a cloud: a disk, a network, and nothing that anybody could want."""
    m = Machine("vm-01", "6.1.0-28-cloud-amd64", dmi=("QEMU", "Standard PC (Q35 + ICH9, 2009)"), cloud=True)
    virtio_machine(m)
    return m


def virtio_machine(m):
    m.serial_ports(1)
    m.pci("", "0000:00:00.0", "8086:29c0 060000 1af4:1100")
    for n, (ids, driver) in enumerate((("1af4:1041 020000 1af4:1100 01", "virtio_net"), ("1af4:1042 010000 1af4:1100 01", "virtio_blk"),
                                       ("1af4:1044 00ff00 1af4:1100 01", "virtio_rng"))):
        port = m.port(f"0000:00:02.{n}", ids="1b36:000c 060400")
        function = m.pci(port, f"0000:0{1 + n}:00.0", ids, "virtio-pci")
        device = m.device(f"{function}/virtio{n}", "virtio", {"vendor": "0x1af4", "device": f"0x000{(1, 2, 4)[n]}"}, driver)
        if n == 0:
            m.net(device, "enp1s0", 2)
        elif n == 1:
            m.device(f"{device}/block/vda", "block", {"removable": "0"}, number="254:0", uevent={"DEVTYPE": "disk"})
    m.virtual("misc", "hw_random", "10:183", name="hwrng")


def vm_tdx():
    """A virtual machine that Intel TDX protects."""
    m = Machine("vm-tdx-01", "6.8.0-1021-azure", dmi=("QEMU", "Standard PC (Q35 + ICH9, 2009)"), cloud=True)
    virtio_machine(m)
    m.misc("tdx_guest 125")
    return m


def vm_snp():
    """A virtual machine that AMD SEV-SNP protects, with the clock of its host."""
    m = Machine("vm-snp-01", "6.8.0-1019-gcp", dmi=("Google", "Google Compute Engine"), cloud=True)
    virtio_machine(m)
    m.device(m.platform("sev-guest", "sev-guest") + "/misc/sev-guest", "misc", number="10:125")
    m.ptp("/sys/devices/virtual", 0, "KVM virtual PTP")
    return m


def edge():
    """A box at a shop's door: Coral by PCIe and USB (one of them has its firmware already), Hailo, and a camera."""
    m = Machine("edge-01", "6.1.0-28-amd64", dmi=("OnLogic", "HX401"))
    m.serial_ports()
    m.misc("kvm 232")
    screen = m.pci("", "0000:00:02.0", "8086:46d1 030000 8086:7270", "i915", "Alder Lake-N [UHD Graphics]", group=0)
    m.drm(screen, 0, 128, ("HDMI-A-1", "DP-1"))
    coral = m.pci(m.port("0000:00:1c.0", ids="8086:54b8 060400"), "0000:01:00.0", "1ac1:089a 0880ff 1ac1:089a", "apex",
                  "Coral Edge TPU", group=10)
    m.device(f"{coral}/apex/apex_0", "apex", number="120:0")
    m.pci(m.port("0000:00:1d.0", ids="8086:54b0 060400"), "0000:02:00.0", "1e60:2864 0b4000 1e60:2864 01", "hailo",
          "Hailo-8 AI Processor", group=11)
    m.virtual("hailo_chardev", "hailo0", "238:0")
    host = m.pci("", "0000:00:14.0", "8086:54ed 0c0330 8086:7270", "xhci_hcd", group=3)
    camera = m.usb(m.usb_bus(host, 1), 1, "0c45:6366", "Microdia", "USB 2.0 Camera", "SN0001", speed=480,
                   classes=["0e/01/00 uvcvideo", "0e/02/00 uvcvideo"])
    m.usb_camera(camera, (0, 1), 0)
    fast = m.usb_bus(host, 2, 10000)
    m.usb(fast, 1, "18d1:9302", classes=["ff/ff/ff"], speed=5000)
    m.usb(fast, 2, "1a6e:089a", classes=["fe/01/02"], speed=480)
    m.net(m.pci(m.port("0000:00:1c.6", ids="8086:54be 060400"), "0000:03:00.0", "8086:125c 020000 8086:0000", "igc", group=12),
          "enp3s0", 2)
    m.ptp("/sys/devices/pci0000:00/0000:00:1c.6/0000:03:00.0", 0, "i226 clock")
    m.tpm("/sys/devices/LNXSYSTM:00/LNXSYBUS:00/MSFT0101:00")
    return m


def home():
    """A house's server: radio sticks of all sorts, that have other makers' USB ids, and a Ryzen AI with its NPU."""
    m = Machine("home-01", "6.14.0-15-generic", dmi=("Micro Computer (HK) Tech Limited", "AI X1 Pro"))
    m.serial_ports(1)
    m.misc("kvm 232")
    root = m.port("0000:00:08.1", ids="1022:1508 060400")
    screen = m.pci(root, "0000:c5:00.0", "1002:150e 030000 1f4c:b016 c1", "amdgpu", "Strix [Radeon 890M]", group=20)
    m.drm(screen, 0, 128, ("DP-1", "HDMI-A-1"))
    m.virtual("kfd", "kfd", "511:0")
    npu = m.pci(m.port("0000:00:08.2", ids="1022:1508 060400"), "0000:c6:00.1", "1022:17f0 118000 1f4c:b016 10", "amdxdna",
                "Strix Neural Processing Unit", group=24)
    m.device(f"{npu}/accel/accel0", "accel", number="261:0", uevent={"DEVTYPE": "accel_minor"})
    m.sequencer()
    m.sound(m.pci(root, "0000:c5:00.6", "1022:15e3 040300 1f4c:b016", "snd_hda_intel", group=22), 0, "Generic",
            "controlC0 5, hwC0D0 4, pcmC0D0c 3, pcmC0D0p 2")
    host = m.pci(root, "0000:c5:00.4", "1022:151e 0c0330 1f4c:b016", "xhci_hcd", group=21)
    bus = m.usb_bus(host, 1)
    hub = m.usb(bus, 1, "05e3:0610", "GenesysLogic", "USB2.1 Hub", classes=["09/00/01 hub"], speed=480)
    m.usb_tty(m.usb(hub, 1, "10c4:ea60", "Nabu Casa", "SkyConnect v1.0", "f0c6d1b2a3e9ed11b8a6786262c613ac",
                    classes=["ff/00/00 cp210x"]), "ttyUSB0")
    hubz = m.usb(hub, 2, "10c4:8a2a", "Silicon Labs", "HubZ Smart Home Controller", "C0F003D3",
                 classes=["ff/00/00 cp210x", "ff/00/00 cp210x"])
    m.usb_tty(hubz, "ttyUSB1", 0)
    m.usb_tty(hubz, "ttyUSB2", 1)
    m.usb_tty(m.usb(hub, 3, "10c4:ea60", "ITead", "Sonoff Zigbee 3.0 USB Dongle Plus", "9aef4c36a312ec11",
                    classes=["ff/00/00 cp210x"]), "ttyUSB3")
    m.usb_tty(m.usb(hub, 4, "0403:6001", "FTDI", "FT232R USB UART", "AB0PJ9WQ", classes=["ff/ff/ff ftdi_sio"]), "ttyUSB4")
    acm = ["02/02/01 cdc_acm", "0a/00/00 cdc_acm"]
    m.usb_tty(m.usb(bus, 2, "1cf1:0030", "dresden elektronik ingenieurtechnik GmbH", "ConBee II", "DE2132111", acm), "ttyACM0")
    m.usb_tty(m.usb(bus, 3, "0451:16a8", "Texas Instruments", "TI CC2531 USB CDC", "__0X00124B0018E27BFE", acm), "ttyACM1")
    m.usb_tty(m.usb(bus, 4, "0658:0200", classes=acm), "ttyACM2")
    m.usb_tty(m.usb(bus, 5, "1a86:55d4", "Zooz", "800 Z-Wave Stick", "533D004242", acm), "ttyACM3")
    m.usb(bus, 6, "0bda:2838", "Realtek", "RTL2838UHIDIR", "00000001", ["ff/ff/ff", "ff/ff/ff"], 480)
    m.usb(bus, 7, "0bda:2838", "Realtek", "RTL2838UHIDIR", "00000001", ["ff/ff/ff", "ff/ff/ff"], 480)
    m.hidraw(m.usb(bus, 8, "051d:0002", "American Power Conversion", "Back-UPS ES 700G FW:871.O4 .I USB FW:O4", "5B1918T57216",
                   ["03/00/00 usbhid"], 1.5), 0)
    m.net(m.pci(m.port("0000:00:02.3", ids="1022:150b 060400"), "0000:c2:00.0", "10ec:8125 020000 10ec:0123", "r8169", group=15),
          "enp194s0", 2)
    return m


def server():
    """A server as it stands in a rack: IPMI, two watchdogs, clocks, TPM, SGX; a screen, but no sound."""
    m = Machine("server-01", "6.1.0-28-amd64", dmi=("Dell Inc.", "PowerEdge R760"))
    m.serial_ports()
    m.misc("kvm 232", "vhost-net 238", "vhost-vsock 241", "net/tun 200", "sgx_enclave 125", "sgx_provision 126")
    m.tpm("/sys/devices/LNXSYSTM:00/LNXSYBUS:00/MSFT0101:00")
    si = m.platform("IPI0001:00", "ipmi_si")
    m.device(f"{si}/ipmi/ipmi0", "ipmi", number="240:0")
    m.watchdog(m.platform("iTCO_wdt", "iTCO_wdt"), 0, "iTCO_wdt")
    m.watchdog("/sys/devices/virtual", 1, "Software Watchdog")
    screen = m.pci(m.port("0000:00:1c.4", ids="8086:1bbc 060400", numa=0), "0000:02:00.0", "102b:0536 030000 1028:0a6b 04",
                   "mgag200", numa=0)
    m.drm(screen, 0, connectors=("VGA-1",))
    m.framebuffer(screen, 0, "mgag200drmfb")
    root = m.port("0000:97:01.0", ids="8086:352a 060400", numa=1)
    for n in range(2):
        nic = m.pci(root, f"0000:98:00.{n}", "8086:1593 020000 1028:0a67 02", "ice", "Ethernet Controller E810-C for SFP", 1)
        m.net(nic, f"ens4f{n}np{n}", 4 + n)
        m.ptp(nic, n, f"ice-0000-98-00.{n}-clk", pps=n)
    m.nvme(m.port("0000:64:02.0", ids="8086:347a 060400", numa=0), 0, 0, address="0000:65:00.0", numa=0)
    m.usb_bus(m.pci("", "0000:00:14.0", "8086:1bcd 0c0330 1028:0a6b 11", "xhci_hcd", numa=0), 1)
    return m


def gaudi():
    """Eight Gaudi 2. Their control nodes hang below no card."""
    m = Machine("gaudi-01", "6.8.0-52-generic", dmi=("Supermicro", "SYS-820GH-TNR2"))
    m.serial_ports()
    m.misc("kvm 232")
    bmc(m, "0000:00:1c.5", "0000:02:00.0", "0000:03:00.0")
    for n, bus in enumerate(("19", "1a", "33", "34", "9b", "9c", "b3", "b4")):
        numa = n // 4
        first = int(bus, 16) - n % 2
        if n % 2 == 0:
            ports = m.switch(m.port(f"0000:{first - 3:02x}:01.0", ids="8086:347a 060400", numa=numa), f"0000:{first - 2:02x}:00.0",
                             [f"0000:{first - 1:02x}:0{each}.0" for each in range(2)], "1000:c010 060400", numa)
        card = m.pci(ports[n % 2], f"0000:{bus}:00.0", "1da3:1020 120000 1da3:1020 01", "habanalabs", "Gaudi2 AI Training Accelerator",
                     numa)
        m.device(f"{card}/accel/accel{n}", "accel", number=f"261:{n}", uevent={"DEVTYPE": "accel_minor"})
        m.virtual("accel", f"accel_controlD{n}", f"508:{n}")
    return m


def tenstorrent():
    """Two Wormhole cards and a Blackhole."""
    m = Machine("tt-01", "6.8.0-52-generic", dmi=("Tenstorrent", "TT-LoudBox"))
    m.serial_ports()
    m.misc("kvm 232")
    bmc(m, "0000:00:1c.5", "0000:02:00.0", "0000:03:00.0")
    for n, (address, ids, numa) in enumerate((("0000:17:00.0", "1e52:401e 120000 1e52:0014 01", 0),
                                              ("0000:65:00.0", "1e52:401e 120000 1e52:0014 01", 0),
                                              ("0000:b1:00.0", "1e52:b140 120000 1e52:0040", 1))):
        root = m.port(f"{address[:5]}{int(address[5:7], 16) - 1:02x}:01.0", ids="8086:347a 060400", numa=numa)
        card = m.pci(root, address, ids, "tenstorrent", "Blackhole" if n == 2 else "Wormhole", numa, 60 + n)
        m.device(f"{card}/tenstorrent/tenstorrent!{n}", "tenstorrent", number=f"235:{n}")
    return m


def industrial():
    """A box in a cabinet: CAN, serial ports, pins, a grabber, a camera that a program makes, a small screen."""
    m = Machine("plc-01", "6.1.0-28-rt-amd64", dmi=("SIEMENS AG", "SIMATIC IPC BX-39A"))
    m.serial_ports(8)
    m.misc("v4l2loopback 121")
    can = m.pci(m.port("0000:00:1c.0", ids="8086:7ab8 060400"), "0000:01:00.0", "001c:0013 0c0900 001c:000d", "peak_pciefd")
    m.can(can, "can0", 3)
    m.can(can, "can1", 4)
    m.can("", "vcan0", 5)
    m.net(m.pci(m.port("0000:00:1c.4", ids="8086:7abc 060400"), "0000:02:00.0", "8086:15f2 020000 110a:0000 03", "igc"), "enp2s0", 2)
    m.ptp("/sys/devices/pci0000:00/0000:00:1c.4/0000:02:00.0", 0, "i225 clock", pps=0)
    m.i2c(m.pci("", "0000:00:1f.4", "8086:7aa3 0c0500 110a:0000 11", "i801_smbus"), 0, "SMBus I801 adapter at efa0")
    m.gpio(m.platform("INTC1056:00", "alderlake-pinctrl"), 0, 664, "INTC1056:00", 360)
    m.watchdog(m.platform("simatic-ipc-wdt", "simatic-ipc-wdt"), 0, "iTCO_wdt")
    m.framebuffer(m.platform("simple-framebuffer.0", "simple-framebuffer"), 0, "simple")
    host = m.pci("", "0000:00:14.0", "8086:7ae0 0c0330 110a:0000 11", "xhci_hcd")
    grabber = m.usb(m.usb_bus(host, 1), 3, "534d:2109", "MACROSILICON", "USB Video", speed=480,
                    classes=["0e/01/00 uvcvideo", "0e/02/00 uvcvideo", "01/01/00 snd-usb-audio", "01/02/00 snd-usb-audio"])
    m.usb_camera(grabber, (0, 1), 0)
    m.device("/sys/devices/virtual/video4linux/video10", "video4linux",
             {"index": "0", "name": "Dummy video device (0x0000)", "max_openers": "10", "format": "", "state": "capture"},
             number="81:2", rules={"ID_V4L_VERSION": "2", "ID_V4L_PRODUCT": "Dummy video device (0x0000)",
                                   "ID_V4L_CAPABILITIES": ":capture:video_output:"}, tags=["uaccess"])
    m.sequencer()
    m.sound(m.interface(grabber, 2), 0, "Video", "controlC0 3, pcmC0D0c 2")
    m.loops(2)
    m.device("/sys/devices/virtual/block/loop0/loop0p1", "block", {"partition": "1"}, number="259:0",
             uevent={"DEVTYPE": "partition", "PARTN": "1"})
    return m


def jetson():
    """A Jetson AGX Orin: its GPU is on the chip, and neither PCI nor NVML know it."""
    m = Machine("jetson-01", "5.15.148-tegra", "aarch64", model="NVIDIA Jetson AGX Orin Developer Kit")
    m.text("/etc/nv_tegra_release", "# R36 (release), REVISION: 4.3, GCID: 38968081, BOARD: generic, EABI: aarch64, "
                                    "DATE: Wed Jan  8 01:49:37 UTC 2025\n# KERNEL_VARIANT: oot\n")
    m.device("/sys/devices/soc0", "soc", {"family": "Tegra", "machine": "NVIDIA Jetson AGX Orin Developer Kit", "soc_id": "35"})
    m.nodes("nvidia0 195:0, nvidiactl 195:255, nvidia-modeset 195:254, nvmap 10:120, nvhost-ctrl 506:0, nvgpu/igpu0/ctrl 505:1, "
            "nvgpu/igpu0/channel 505:6, nvgpu/igpu0/as 505:0, nvhost-vic 504:1, nvhost-nvdec 504:3, nvsciipc 10:119")
    m.more["nvmlTrouble"] = "libnvidia-ml.so.1: cannot open shared object file: No such file or directory"
    host1x = m.platform("bus@0/13e00000.host1x", "tegra-host1x")
    display = m.platform("bus@0/13800000.display", "tegra-nvdisplay")
    m.drm(display, 1, 129, ("DP-1",), slot="platform-13800000.display")
    vic = m.device(host1x + "/drm", "host1x", driver="drm")
    m.drm(vic, 0, 128, slot="platform-13e00000.host1x-host1x-drm")
    m.gpio(m.platform("bus@0/2200000.gpio", "tegra186-gpio"), 0, 348, "tegra234-gpio", 164)
    m.gpio(m.platform("bus@0/c2f0000.gpio", "tegra186-gpio"), 1, 316, "tegra234-gpio-aon", 32)
    for n, at in ((1, "c240000"), (7, "c250000")):
        m.i2c(m.platform(f"bus@0/{at}.i2c", "tegra-i2c"), n, f"{at}.i2c")
    for bus, at in ((0, "3210000"), (2, "3230000")):
        spi = m.platform(f"bus@0/{at}.spi", "spi-tegra114")
        m.spi(spi, bus, 0, bus)
    camera = m.platform("tegra-capture-vi", "tegra-camrtc-capture-vi")
    m.video(camera, 0, "vi-output, imx274 30-001a", 0, ":capture:", "platform-tegra-capture-vi")
    m.can(m.platform("bus@0/c310000.mttcan", "mttcan"), "can0", 3)
    m.can(m.platform("bus@0/c320000.mttcan", "mttcan"), "can1", 4)
    serial = m.platform("bus@0/3100000.serial", "serial-tegra")
    m.device(f"{serial}/tty/ttyTHS1", "tty", number="238:1")
    m.sequencer()
    m.sound(m.platform("sound", "tegra-asoc"), 0, "APE", "controlC0 3, pcmC0D0p 2")
    m.watchdog(m.platform("bus@0/2190000.watchdog", "tegra186-wdt"), 0, "NVIDIA Tegra186 WDT")
    bridge = m.port("0001:00:00.0", "/sys/devices/platform/bus@0/14100000.pcie/pci0001:00", "10de:229e 060400", 0)
    m.pci(bridge, "0001:01:00.0", "10ec:c82f 028000 17aa:c02f", "rtl88x2ce", numa=0)
    m.net(m.platform("bus@0/6800000.ethernet", "nvethernet"), "eno1", 2)
    mmc = m.device("/sys/devices/platform/bus@0/3460000.mmc/mmc_host/mmc0/mmc0:0001", "mmc", {"type": "MMC"})
    m.device(f"{mmc}/block/mmcblk0", "block", {"removable": "0"}, number="179:0", uevent={"DEVTYPE": "disk"})
    return m


def virtualization():
    """A node for virtual machines in pods: AMD SEV, GPUs and functions of a network card that are bound to vfio-pci."""
    m = Machine("kubevirt-01", "5.14.0-427.40.1.el9_4.x86_64", dmi=("Supermicro", "AS -2024US-TRT"))
    m.serial_ports()
    m.misc("kvm 232", "vhost-net 238", "vhost-vsock 241", "net/tun 200", "vfio/vfio 196", "sev 125")
    bmc(m, "0000:60:05.0", "0000:61:00.0", "0000:62:00.0")
    m.tpm("/sys/devices/LNXSYSTM:00/LNXSYBUS:00/MSFT0101:00")
    m.watchdog(m.platform("sp5100-tco", "sp5100-tco"), 0, "SP5100 TCO timer")
    for n, (address, group, numa) in enumerate((("0000:25:00.0", 32, 0), ("0000:c4:00.0", 107, 1))):
        root = m.port(f"{address[:5]}{int(address[5:7], 16) - 1:02x}:01.1", ids="1022:1483 060400", numa=numa)
        m.pci(root, address, "10de:1eb8 030200 10de:12a2 a1", "vfio-pci", "TU104GL [Tesla T4]", numa, group)
        m.virtual("vfio", str(group), f"242:{n}")
    root = m.port("0000:80:03.1", ids="1022:1483 060400", numa=1)
    nic = m.pci(root, "0000:81:00.0", "8086:158b 020000 8086:0001 02", "i40e", "Ethernet Controller XXV710 for 25GbE SFP28", 1, 70)
    m.net(nic, "ens1f0", 4)
    m.ptp(nic, 0, "i40e-0000:81:00.0")
    for n in range(2):
        m.pci(root, f"0000:81:02.{n}", "8086:154c 020000 8086:0000 02", "vfio-pci", "Ethernet Virtual Function 700 Series", 1, 71 + n,
              nic)
        m.virtual("vfio", str(71 + n), f"242:{2 + n}")
    return m


def iluvatar():
    """Two of Iluvatar's cards."""
    m = Machine("iluvatar-01", "5.15.0-122-generic", dmi=("Inspur", "NF5468M6"))
    m.serial_ports()
    m.misc("kvm 232")
    bmc(m, "0000:00:1c.5", "0000:02:00.0", "0000:03:00.0")
    for n, bus in enumerate(("4e", "9c")):
        root = m.port(f"0000:{int(bus, 16) - 1:02x}:02.0", ids="8086:347a 060400", numa=n)
        m.pci(root, f"0000:{bus}:00.0", "1e3e:0001 030200 1e3e:0001 01", "bi-driver", "BI-V100", n)
        m.node_at(f"iluvatar{n}", f"236:{n}")
    m.nodes("itrctl 235:0")
    return m


def nested_lxc():
    """Returns a node in an LXC container of Proxmox: /sys shows the host's devices, /dev has only those that were passed through."""
    m = Machine("k3s-lxc-01", "6.8.12-4-pve", dmi=("GMKtec", "NucBox G3"))
    m.misc("kvm 232")
    graphics = m.pci("", "0000:00:02.0", "8086:46d1 030000 8086:7270", "i915", "Alder Lake-N [UHD Graphics]", group=0)
    m.drm(graphics, 0, 128, ("HDMI-A-1",))
    m.tpm("/sys/devices/LNXSYSTM:00/LNXSYBUS:00/MSFT0101:00")
    m.watchdog(m.platform("iTCO_wdt", "iTCO_wdt"), 0, "iTCO_wdt")
    m.nvme(m.port("0000:00:1d.0", ids="8086:54b0 060400"), 0, 0)
    host = m.pci("", "0000:00:14.0", "8086:54ed 0c0330 8086:7270", "xhci_hcd", group=3)
    root = m.usb_bus(host, 1)
    m.usb_tty(m.usb(root, 1, "10c4:ea60", "Itead", "Sonoff Zigbee 3.0 USB Dongle Plus V2", "c2a3f8e1d0b4ed11",
                    classes=["ff/00/00 cp210x"]), "ttyUSB0")
    m.usb_tty(m.usb(root, 2, "1a86:7523", "", "USB Serial", classes=["ff/01/02 ch341"]), "ttyUSB1")
    acm = ["02/02/01 cdc_acm", "0a/00/00 cdc_acm"]
    m.usb_tty(m.usb(root, 3, "1cf1:0030", "dresden elektronik ingenieurtechnik GmbH", "ConBee II", "DE2132111", acm), "ttyACM0")
    m.usb(m.usb_bus(host, 2, 10000), 1, "18d1:9302", classes=["ff/ff/ff"], speed=5000)
    m.net("", "eth0", 2)
    # The kubelet needs /dev/kmsg. Proxmox passes the ConBee through by the name of its link (dev0: /dev/serial/by-id/usb-dresden_…),
    # and makes a node of that name.
    m.in_container({"kmsg", "fuse", "ttyUSB0", "dri/renderD128"}.__contains__)
    m.node_at("serial/by-id/usb-dresden_elektronik_ingenieurtechnik_GmbH_ConBee_II_DE2132111-if00", "166:0")
    return m


def nested_kind():
    """Returns a node of kind on a laptop, a privileged container: Docker copies the nodes that exist when the container starts,
    without udev's links. A board and a camera were plugged in later."""
    m = Machine("kind-worker", "6.8.0-52-generic", dmi=("LENOVO", "21AHCTO1WW"))
    m.misc("kvm 232")
    graphics = m.pci("", "0000:00:02.0", "8086:46a6 030000 17aa:22d5 0c", "i915", "Alder Lake-P GT2 [Iris Xe Graphics]", group=0)
    m.drm(graphics, 1, 128, ("eDP-1",))
    m.sequencer()
    m.sound(m.pci("", "0000:00:1f.3", "8086:51c8 040100 17aa:22d5 01", "snd_hda_intel", group=14), 0, "PCH",
            "controlC0 5, hwC0D0 4, pcmC0D0c 3, pcmC0D0p 2")
    host = m.pci("", "0000:00:14.0", "8086:51ed 0c0330 17aa:22d5 01", "xhci_hcd", group=5)
    root = m.usb_bus(host, 1)
    webcam = m.usb(root, 4, "04f2:b74f", "Chicony Electronics Co.,Ltd.", "Integrated Camera", "0001", speed=480,
                   classes=["0e/01/00 uvcvideo", "0e/02/00 uvcvideo"])
    m.usb_camera(webcam, (0, 1), 0)
    m.usb_tty(m.usb(root, 2, "0403:6001", "FTDI", "FT232R USB UART", "A50285BI", classes=["ff/ff/ff ftdi_sio"]), "ttyUSB0")
    m.usb_tty(m.usb(root, 3, "1a86:55d3", "", "USB Single Serial", "5498002181", ["02/02/01 cdc_acm", "0a/00/00 cdc_acm"]), "ttyACM0")
    late = m.usb(root, 1, "046d:0892", "", "HD Pro Webcam C920", "8F3B2D6F", speed=480,
                 classes=["0e/01/00 uvcvideo", "0e/02/00 uvcvideo"])
    m.usb_camera(late, (2, 3), 1)
    m.net("", "eth0", 2)
    absent = ("ttyACM0", "bus/usb/001/004", "bus/usb/001/005", "video2", "video3", "media1")
    m.in_container(lambda name: name not in absent and name != "ptmx")
    return m


def vfio_groups():
    """Returns a node with two graphics cards for virtual machines. The sound function of the first has the host's driver, so its
    IOMMU group is not viable; both functions of the second are bound to vfio-pci. The ports above are in the groups, too, as on
    boards without ACS."""
    m = Machine("lab-01", "6.8.12-4-pve", dmi=("ASUS", "PRIME B550-PLUS"))
    m.misc("kvm 232", "vhost-net 238", "net/tun 200", "vfio/vfio 196")
    m.sequencer()
    for n, (root, bus, ids, name, sound) in enumerate((
            ("0000:00:01.1", "06", "10de:2204 030000 10de:1467 a1", "GA102 [GeForce RTX 3090]", "10de:1aef 040300 10de:1467 a1"),
            ("0000:00:03.1", "09", "10de:2531 030000 10de:151d a1", "GA106 [RTX A2000]", "10de:228e 040300 10de:151d a1"))):
        port = m.pci("", root, "1022:1483 060400", "pcieport", group=14 + n)
        m.pci(port, f"0000:{bus}:00.0", ids, "vfio-pci", name, group=14 + n)
        audio = m.pci(port, f"0000:{bus}:00.1", sound, "vfio-pci" if n else "snd_hda_intel", group=14 + n)
        if n == 0:
            m.sound(audio, 0, "NVidia", "controlC0 3, pcmC0D3p 2")
        m.virtual("vfio", str(14 + n), f"242:{n}")
    m.net(m.pci(m.port("0000:00:02.1", ids="1022:43ea 060400"), "0000:04:00.0", "10ec:8168 020000 1043:8677 15", "r8169", group=12),
          "enp4s0", 2)
    return m


def switchdev():
    """Returns a node with a ConnectX-6 Dx in switchdev mode: the first physical function has the representors of two virtual
    functions and of a subfunction beside its own interface. The second virtual function is for virtual machines."""
    m = Machine("ovn-01", "5.14.0-503.15.1.el9_5.x86_64", dmi=("Dell Inc.", "PowerEdge R760"), pool="batch")
    m.misc("kvm 232", "vhost-net 238", "infiniband/rdma_cm 58", "vfio/vfio 196")
    root = m.port("0000:97:01.0", ids="8086:352a 060400", numa=1)
    ids = "15b3:101d 020000 15b3:0016"
    name = "MT2892 Family [ConnectX-6 Dx]"
    pf = m.pci(root, "0000:98:00.0", ids, "mlx5_core", name, 1, 50, attributes={"sriov_numvfs": "2", "sriov_totalvfs": "8"})
    switch = "301f6600033f0db8"
    representors = {"pf0vf0": "ens1f0npf0vf0", "pf0vf1": "ens1f0npf0vf1", "pf0sf88": "ens1f0npf0sf88"}
    m.rdma(pf, "mlx5_0", 0, "ens1f0np0", 4, "b83f:d203:0066:1f30", "Ethernet", rate="100 Gb/sec (4X EDR)",
           representors=len(representors), port="p0", switch=switch)
    for index, (port, netdev) in enumerate(representors.items(), 6):
        m.net(pf, netdev, index, port=port, switch=switch)
    other = m.pci(root, "0000:98:00.1", ids, "mlx5_core", name, 1, 51, attributes={"sriov_numvfs": "0", "sriov_totalvfs": "8"})
    m.rdma(other, "mlx5_1", 1, "ens1f1np1", 5, "b83f:d203:0066:1f31", "Ethernet", rate="100 Gb/sec (4X EDR)", port="p1")
    for n, driver in enumerate(("mlx5_core", "vfio-pci")):
        function = m.pci(root, f"0000:98:00.{2 + n}", "15b3:101e 020000 15b3:0016", driver,
                         "ConnectX Family mlx5Gen Virtual Function", 1, 52 + n, pf)
        if n == 0:
            m.rdma(function, "mlx5_2", 2, "ens1f0v0", 10, "0000:0000:0000:0000", "Ethernet", rate="100 Gb/sec (4X EDR)")
        else:
            m.virtual("vfio", str(52 + n), "242:0")
    m.rdma(m.subfunction(pf, 4, 88), "mlx5_3", 3, "enp152s0f0s88", 11, "0000:00ff:fe00:8888", "Ethernet", rate="100 Gb/sec (4X EDR)")
    return m


def multiport_serial():
    """Returns a gateway whose USB devices have several serial ports each: a modem, an adapter for four RS-232 lines, and a stick
    for Zigbee and Z-Wave."""
    m = Machine("gateway-01", "6.1.0-28-amd64", dmi=("AAEON", "UP-ADLN01"))
    host = m.pci("", "0000:00:14.0", "8086:54ed 0c0330 8086:7270", "xhci_hcd", group=3)
    root = m.usb_bus(host, 1)
    modem = m.usb(root, 2, "2c7c:0125", "Android", "Android", speed=480, revision="0318",
                  classes=["ff/ff/ff option", "ff/00/00 option", "ff/00/00 option", "ff/00/00 option", "ff/ff/ff qmi_wwan"])
    quad = m.usb(root, 3, "0403:6011", "FTDI", "Quad RS232-HS", "FT5Z1K2V", speed=480, revision="0800",
                 classes=["ff/ff/ff ftdi_sio"] * 4)
    for number in range(4):
        m.usb_tty(modem, f"ttyUSB{number}", number)
        m.usb_tty(quad, f"ttyUSB{4 + number}", number)
    m.usb_wwan(modem, 4, 0, 3)
    hubz = m.usb(root, 4, "10c4:8a2a", "Silicon Labs", "HubZ Smart Home Controller", "816001B3",
                 classes=["ff/00/00 cp210x", "ff/00/00 cp210x"])
    for number in range(2):
        m.usb_tty(hubz, f"ttyUSB{8 + number}", number)
    m.net(m.pci(m.port("0000:00:1c.0", ids="8086:54b8 060400"), "0000:01:00.0", "8086:125c 020000 8086:0000", "igc", group=12),
          "enp1s0", 2)
    return m


def hgx_fabric():
    """Returns a node with an HGX baseboard of eight H100 and four NVSwitches, whose fabric manager is not ready: CUDA fails there
    with error 802."""
    m = Machine("hgx-01", "5.15.0-1063-nvidia", dmi=("Supermicro", "SYS-821GE-TNHR"), pool="batch")
    gpus = []
    for n, bus in enumerate(("1b", "43", "52", "61", "9d", "c3", "d1", "df")):
        root = m.port(f"0000:{int(bus, 16) - 1:02x}:01.0", ids="8086:352a 060400", numa=n // 4)
        m.pci(root, f"0000:{bus}:00.0", "10de:2330 030200 10de:16c1 a1", "nvidia", "GH100 [H100 SXM5 80GB]", n // 4)
        gpus.append((f"0000:{bus}:00.0", "NVIDIA H100 80GB HBM3", 81559))
    downs = m.switch(m.port("0000:00:1c.0", numa=0), "0000:02:00.0", [f"0000:03:0{n}.0" for n in range(4)], "1000:c030 060400", 0)
    for n, port in enumerate(downs):
        m.pci(port, f"0000:{7 + n:02x}:00.0", "10de:22a3 068000 10de:1796 a1", "nvidia-nvswitch", "GH100 [H100 NVSwitch]", 0)
        m.node_at(f"nvidia-nvswitch{n}", f"509:{n}")
    m.nodes("nvidia-nvswitchctl 509:255, nvidia-nvlink 507:0")
    # All NVLinks lead to NVSwitches, so only the places on PCI tell which cards are near each other.
    bonds = {(one, other): 20 if one // 4 == other // 4 else 10 for one in range(8) for other in range(8) if one != other}
    for card in m.nvidia(gpus, "550.127.08", bonds):
        card["fabricTrouble"] = "has not finished: In Progress"
    return m


def udev_unfinished():
    """Returns a node on which udevd has not finished: of the serial ports, the cameras and the render nodes, one has an entry in
    udev's database and the other has none."""
    m = Machine("edge-02", "6.1.0-28-amd64", dmi=("OnLogic", "HX401"))
    graphics = m.pci("", "0000:00:02.0", "8086:46d1 030000 8086:7270", "i915", "Alder Lake-N [UHD Graphics]", group=0)
    m.drm(graphics, 0, 128, ("HDMI-A-1",))
    card = m.pci(m.port("0000:00:1c.0", ids="8086:54b8 060400"), "0000:01:00.0", "8086:56a5 030000 1849:6006 05", "i915",
                 "DG2 [Arc A380]", group=17)
    m.drm(card, 1, 129, ("DP-1",))
    tpm = "/sys/devices/LNXSYSTM:00/LNXSYBUS:00/MSFT0101:00"
    m.tpm(tpm)
    host = m.pci("", "0000:00:14.0", "8086:54ed 0c0330 8086:7270", "xhci_hcd", group=3)
    root = m.usb_bus(host, 1)
    m.usb_tty(m.usb(root, 1, "0403:6001", "FTDI", "FT232R USB UART", "A50285BI", classes=["ff/ff/ff ftdi_sio"]), "ttyUSB0")
    stick = m.usb(root, 2, "10c4:ea60", "Nabu Casa", "SkyConnect v1.0", "f0c6d1b2a3e9ed11b8a6786262c613ac", classes=["ff/00/00 cp210x"])
    m.usb_tty(stick, "ttyUSB1")
    cameras = [m.usb(root, 3 + n, "0c45:6366", "Microdia", "USB 2.0 Camera", f"SN000{1 + n}", speed=480,
                     classes=["0e/01/00 uvcvideo", "0e/02/00 uvcvideo"]) for n in range(2)]
    for n, camera in enumerate(cameras):
        m.usb_camera(camera, (2 * n, 2 * n + 1), n)
    # udevd processes a device before those below it: it has finished with the stick, but not with the stick's port.
    m.udevd_runs([m.interface(stick), cameras[1], f"{card}/drm/renderD129", f"{tpm}/tpmrm/tpmrm0"])
    return m


MACHINES = {"workstation": workstation, "gpu-nvlink": dgx, "gpu-mig": a100_mig, "gpu-mixed": inference, "gpu-amd": mi300x,
            "gpu-intel": intel_ai, "gpu-iluvatar": iluvatar, "gaudi": gaudi, "tenstorrent": tenstorrent, "rdma": rdma,
            "raspberry-pi": raspberry_pi, "jetson": jetson, "edge": edge, "home": home, "industrial": industrial,
            "server": server, "virtualization": virtualization, "vm": vm, "vm-tdx": vm_tdx, "vm-snp": vm_snp,
            "nested-lxc": nested_lxc, "nested-kind": nested_kind, "vfio-groups": vfio_groups, "switchdev": switchdev,
            "multiport-serial": multiport_serial, "hgx-fabric": hgx_fabric, "udev-unfinished": udev_unfinished}


# These stand in the tree, so that a difference of the format is seen; the others are made when the tests are built.
SAMPLES = ("workstation", "gpu-mig")


def write(directory, names):
    directory.mkdir(parents=True, exist_ok=True)
    for name in names:
        (directory / f"{name}.json").write_text(text_of(MACHINES[name]()))


def sums():
    """A line with the hash of each machine: what no preset finds on it would be lost unnoticed."""
    return "".join(f"{hashlib.sha256(text_of(MACHINES[name]()).encode()).hexdigest()[:16]} {name}\n" for name in sorted(MACHINES))


def check_samples():
    """Returns what is wrong with the samples and the hashes, a sentence each."""
    wrong = []
    for name in SAMPLES:
        file = HERE / f"{name}.json"
        if not file.exists() or file.read_text() != text_of(MACHINES[name]()):
            wrong.append(f"{file.name} is not what make.py makes")
    wrong += [f"{file.name} is not a sample" for file in HERE.glob("*.json") if file.stem not in SAMPLES]
    if SUMS.read_text() != sums():
        wrong.append(f"{SUMS.name} is not what make.py makes")
    return wrong


def main(arguments):
    if arguments == ["--check"]:
        wrong = check_samples()
        for each in wrong:
            print(f"{each}; run tests/machines/make.py", file=sys.stderr)
        return 1 if wrong else 0
    if arguments:
        write(Path(arguments[0]), MACHINES)
    else:
        write(HERE, SAMPLES)
        SUMS.write_text(sums())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
