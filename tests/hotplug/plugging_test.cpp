// Applies random changes: devices with one serial number, links that move, cards of one IOMMU group,
// interfaces moved into network namespaces of pods, driver upgrades, changes of sharing, restarts and
// reboots. No piece of hardware may be given to more containers than may share it, no id may change its owner
// while it is held, and a held device stays Healthy while its pod has it. PLUGHOST_PLUGGING_STEPS and
// PLUGHOST_PLUGGING_SEED set the number of changes and the seed.

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "hotplug/made_machine.hpp"
#include "integration/resource_names.hpp"
#include "not_shown.hpp"
#include "places.hpp"
#include "unit/fake_nvml.hpp"

using namespace plughost;
using namespace plughost::test;
using namespace std::chrono_literals;

namespace fs = std::filesystem;

namespace {

using Paths = std::vector<std::string>;

const std::string kTty = "example.com/tty";        // USB devices with their ttys
const std::string kRaw = "example.com/raw";        // the same USB devices with their USB nodes
const std::string kById = "example.com/by-id";     // the ttys by udev's names
const std::string kLink = "example.com/link";      // links to ttys, set by an administrator
const std::string kVfioCard = "example.com/card";  // cards for virtual machines
const std::string kNic = "example.com/nic";        // network interfaces
const std::string kNvidiaGpu = "nvidia.com/gpu";
const Node::Names kAll{kTty, kRaw, kById, kLink, kVfioCard, kOther, kNic, kNvidiaGpu};

// `shares` is the number of containers that may share a device of kTty.
std::string entries(unsigned shares) {
  return "- {name: " + kTty + ", forgetAfter: 0s, replicas: " + std::to_string(shares) +
         ", groups: [{usb: [{vendor: 1a86, nodes: [tty]}]}]}\n" +  //
         "- {name: " + kRaw +
         ", forgetAfter: 0s, id: \"{resource}-{id}\", groups: [{usb: [{vendor: 1a86}]}]}\n" +  //
         "- {name: " + kById + ", forgetAfter: 0s, udev: {subsystem: tty}}\n" +                //
         "- {name: " + kLink + ", forgetAfter: 0s, groups: [{paths: [{path: \"/dev/ports/*\"}]}]}\n" +
         "- {name: " + kVfioCard + ", forgetAfter: 0s, pci: {vendors: [\"10de\"]}}\n" +  //
         "- {name: " + kOther + ", forgetAfter: 0s, id: \"{resource}-{id}\", pci: {vendors: [\"10de\"]}}\n" +
         "- {name: " + kNic + ", forgetAfter: 0s, udev: {subsystem: net}, env: {NIC: \"{name}\"}}\n" +  //
         "- {name: " + kNvidiaGpu + ", forgetAfter: 0s, gpu: {vendor: nvidia}}\n";
}

const std::vector<std::string> kNics{"eth1", "eth2"};
const std::vector<std::string> kGpus{"GPU-a", "GPU-b"};

constexpr unsigned kTtyMajor = 188, kUsbMajor = 189, kVfioMajor = 511;
constexpr int kPorts = 6;

void make_node(const std::string& path, dev_t number) {
  fs::create_directories(fs::path(path).parent_path());
  fs::remove(path);
  if (::mknod(path.c_str(), S_IFCHR | 0600, number) != 0) not_shown("device nodes cannot be made here");
}

// A USB stick, plugged in or not.
struct Stick {
  std::string product;
  std::string serial;
  int port = 0;      // 0: not plugged in
  unsigned tty = 0;  // minor numbers while plugged in
  unsigned usb = 0;
  unsigned times = 0;  // how often it was plugged in

  std::string make() const { return product + ':' + serial; }
};

// The real state of the machine.
class Hardware {
 public:
  Hardware() {
    machine_.sysfs().device("/sys/devices/virtual/misc/vfio", "misc", {}, {{"DEVNAME", "vfio/vfio"}});
    make_node("/dev/vfio/vfio", makedev(10, 196));
    fs::create_directories("/dev/ports");
  }

  std::deque<Stick>& sticks() { return sticks_; }
  std::vector<Stick*> plugged() {
    std::vector<Stick*> here;
    for (Stick& stick : sticks_)
      if (stick.port != 0) here.push_back(&stick);
    return here;
  }

  void plug_in(Stick& stick, int port, bool told = true) {
    stick.port = port;
    ++stick.times;
    while (std::ranges::any_of(sticks_, [&](const Stick& each) {
      return &each != &stick && each.port != 0 && each.tty == stick.tty;
    }))
      ++stick.tty;
    stick.usb = ++last_usb_;
    const std::string tty = "ttyUSB" + std::to_string(stick.tty);
    const std::string usb = "bus/usb/001/" + std::to_string(1000 + stick.usb).substr(1);
    make_node("/dev/" + tty, makedev(kTtyMajor, stick.tty));
    make_node("/dev/" + usb, makedev(kUsbMajor, stick.usb));
    // udev writes its files before its event is sent. The newest device has the name by serial number.
    machine_.sysfs().tree().file("/run/udev/data/c188:" + std::to_string(stick.tty),
                                 "S:serial/by-id/usb-" + stick.serial + "\nS:serial/by-path/pci-" +
                                     std::to_string(port) + "\nE:ID_SERIAL_SHORT=" + stick.serial + "\n");
    set_link("/dev/serial/by-id/usb-" + stick.serial, "/dev/" + tty);
    set_link("/dev/serial/by-path/pci-" + std::to_string(port), "/dev/" + tty);
    const std::string name = "1-" + std::to_string(port);
    add(path(stick), "usb", {{"idVendor", "1a86"}, {"idProduct", stick.product}, {"serial", stick.serial}},
        {{"DEVTYPE", "usb_device"},
         {"DEVNAME", usb},
         {"MAJOR", std::to_string(kUsbMajor)},
         {"MINOR", std::to_string(stick.usb)}},
        told);
    const std::string interface = path(stick) + '/' + name + ":1.0";
    add(interface, "usb", {}, {{"DEVTYPE", "usb_interface"}}, told);
    add(interface + '/' + tty + "/tty/" + tty, "tty", {},
        {{"DEVNAME", tty}, {"MAJOR", std::to_string(kTtyMajor)}, {"MINOR", std::to_string(stick.tty)}}, told);
  }

  void unplug(Stick& stick, bool told = true) {
    const std::string gone = path(stick), tty = "/dev/ttyUSB" + std::to_string(stick.tty);
    machine_.sysfs().remove(gone);
    fs::remove("/dev/bus/usb/001/" + std::to_string(1000 + stick.usb).substr(1));
    fs::remove(tty);
    fs::remove("/dev/serial/by-path/pci-" + std::to_string(stick.port));
    machine_.sysfs().tree().remove("/run/udev/data/c188:" + std::to_string(stick.tty));
    stick.port = 0;
    stick.tty = 0;
    const std::string by_id = "/dev/serial/by-id/usb-" + stick.serial;
    if (fs::is_symlink(by_id) && fs::read_symlink(by_id) == tty) {
      fs::remove(by_id);
      for (const Stick& other : sticks_)
        if (other.port != 0 && other.serial == stick.serial)
          set_link(by_id, "/dev/ttyUSB" + std::to_string(other.tty));
    }
    if (told) send_uevent("remove", gone.substr(4), "usb");
  }

  static void set_link(const std::string& from, const std::string& to) {
    fs::create_directories(fs::path(from).parent_path());
    fs::remove(from + "~");
    fs::create_symlink(to, from + "~");
    fs::rename(from + "~", from);  // as udev and ln do
  }

  void add_card(int slot, int group, bool told = true) {
    const std::string number = std::to_string(group);
    const std::string path = card(slot);
    const std::string groups = "/sys/kernel/iommu_groups/" + number;
    machine_.sysfs().tree().directory(groups);
    if (!fs::exists("/dev/vfio/" + number)) {
      make_node("/dev/vfio/" + number, makedev(kVfioMajor, static_cast<unsigned>(group)));
      add("/sys/devices/virtual/vfio/" + number, "vfio", {},
          {{"DEVNAME", "vfio/" + number}, {"MAJOR", std::to_string(kVfioMajor)}, {"MINOR", number}}, told);
    }
    machine_.sysfs().device(path, "pci", {{"vendor", "0x10de"}, {"device", "0x2230"}, {"class", "0x030000"}});
    machine_.sysfs().bind(path, "vfio-pci");
    machine_.sysfs().link(path + "/iommu_group", groups);
    if (told) send_uevent("add", path.substr(4), "pci");
  }

  void add_nic(const std::string& name, bool told = true) {
    machine_.sysfs().device(nic(name), "pci", {{"vendor", "0x8086"}, {"class", "0x020000"}});
    machine_.sysfs().bind(nic(name), "e1000e");
    add(nic(name) + "/net/" + name, "net", {}, {{"INTERFACE", name}}, told);
  }
  // Moves the interface into its pod's network namespace.
  void take_nic(const std::string& name) {
    const std::string gone = nic(name) + "/net/" + name;
    machine_.sysfs().remove(gone);
    send_uevent("remove", gone.substr(4), "net");
  }

  // Returns the hardware behind the device number; empty if that is no hardware of this machine.
  std::string at(dev_t number) const {
    for (const Stick& stick : sticks_) {
      if (stick.port == 0) continue;
      if (number == makedev(kTtyMajor, stick.tty) || number == makedev(kUsbMajor, stick.usb))
        return name(stick);
    }
    return major(number) == kVfioMajor ? "IOMMU group " + std::to_string(minor(number)) : "";
  }
  const Stick* stick_at(dev_t number) const {
    const std::string there = at(number);
    for (const Stick& stick : sticks_)
      if (name(stick) == there) return &stick;
    return nullptr;
  }
  std::string name(const Stick& stick) const {
    return "stick " + std::to_string(&stick - &sticks_.front()) + " (" + stick.make() + ")";
  }

 private:
  static std::string path(const Stick& stick) {
    return "/sys/devices/pci0000:00/0000:00:14.0/usb1/1-" + std::to_string(stick.port);
  }
  static std::string card(int slot) {
    return "/sys/devices/pci0000:00/0000:00:0" + std::to_string(slot) + ".0";
  }
  // Returns the path of the card with the interface `name`, such as "eth1".
  static std::string nic(const std::string& name) {
    return "/sys/devices/pci0000:01/0000:01:0" + name.substr(3) + ".0";
  }
  void add(const std::string& path, const std::string& subsystem, const MadeSysfs::Texts& attributes,
           const MadeSysfs::Texts& uevent, bool told) {
    machine_.sysfs().device(path, subsystem, attributes, uevent);
    if (told) send_uevent("add", path.substr(4), subsystem, {uevent.begin(), uevent.end()});
  }

  MadeMachine machine_;
  std::deque<Stick> sticks_;
  unsigned last_usb_ = 0;
};

// Returns the device number behind a path of an answer; nullopt if no node exists.
std::optional<dev_t> number_of(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  return status.st_rdev;
}

struct Pod {
  std::string name;
  std::string resource;
  std::string id;
  Paths paths;                   // paths with which the kubelet starts the pod
  std::set<std::string> others;  // hardware given without a node: "eth1", "GPU-a"
  bool took_it = false;          // the pod has moved its interface into its network namespace
  bool known = false;            // the daemon has observed the move
  std::map<const Stick*, unsigned>
      sticks;  // at the pod's admission, with the number of times each had been plugged in
};

class Plugging {
 public:
  explicit Plugging(unsigned seed) : random_(seed) {
    for (const auto& [product, serial] :
         {std::pair{"7523", "0001"}, {"7523", "0001"}, {"7523", "0001"}, {"55d4", "0001"}, {"7523", "A1"}})
      hardware_.sticks().push_back({.product = product, .serial = serial});
    hardware_.add_card(3, 7, false);
    hardware_.add_card(4, 7, false);
    hardware_.add_card(5, 8, false);
    for (const std::string& name : kNics) hardware_.add_nic(name, false);
    node_.configure(entries(shares_));
    node_.start_kubelet();
    restart_daemon();
  }

  void step() {
    const unsigned roll = below(100);
    if (roll % 8 == 0) node_.kubelet().set_faults({});  // by now the latest kubelet's List has its pods
    if (roll < 17)
      plug_in();
    else if (roll < 30)
      unplug();
    else if (roll < 34)
      renumber();
    else if (roll < 40)
      move_link();
    else if (roll < 70)
      admit();
    else if (roll < 82)
      end_pod();
    else if (roll < 88)
      ask_again();
    else if (roll < 92)
      take_nic();
    else if (roll < 94)
      change_sharing();
    else if (roll < 96)
      upgrade_driver();
    else if (roll < 97)
      restart_kubelet();
    else if (roll < 99)
      restart_daemon();
    else
      reboot();
  }

  // The longest time until a device is free, because a new kubelet's report of this is trusted only after 10
  // s.
  static constexpr std::chrono::seconds kReleased{15};

  // Checks that every piece of hardware is offered once when none is held.
  void check_at_rest() {
    while (!pods_.empty()) end_pod();
    node_.kubelet().set_faults({});
    restart_daemon();
    const std::size_t plugged = hardware_.plugged().size();
    note("at rest with " + std::to_string(plugged) + " sticks");
    const auto expect_count = [&](const std::string& resource, std::size_t count) {
      expect(node_.wait_for([&](const KubeletState& state) { return healthy(state, resource) == count; },
                            kReleased),
             resource + " has not each device once");
    };
    expect_count(kTty, plugged * shares_);
    for (const std::string& resource : {kRaw, kById}) expect_count(resource, plugged);
    for (const std::string& resource : {kVfioCard, kOther}) expect_count(resource, 3);
    expect_count(kNic, kNics.size());
    expect_count(kNvidiaGpu, kGpus.size());
  }

  unsigned admissions() const { return admissions_; }
  unsigned answers() const { return answers_; }
  unsigned restarts() const { return restarts_; }
  // Returns the number of changes of sharing, moved interfaces and driver upgrades.
  unsigned changes() const { return other_changes_; }

 private:
  unsigned below(std::size_t limit) {
    return std::uniform_int_distribution<unsigned>(0, static_cast<unsigned>(limit) - 1)(random_);
  }
  void note(const std::string& what) {
    steps_.push_back(what);
    if (steps_.size() > 40) steps_.pop_front();
  }
  void expect(bool right, const std::string& what) {
    if (right) return;
    std::string told = what;
    for (const std::string& step : steps_) told += "\n  " + step;
    for (const std::string& resource : kAll) {
      told += "\n" + resource + ':';
      for (const ListedDevice& device : *node_.of(resource).devices)
        told += ' ' + device.id + (device.healthy ? "" : " (Unhealthy)");
    }
    FAIL(told);
  }
  static std::size_t healthy(const KubeletState& state, const std::string& resource) {
    return static_cast<std::size_t>(
        std::ranges::count_if(*state.of(resource).devices, &ListedDevice::healthy));
  }

  void plug_in() {
    std::vector<Stick*> idle;
    std::set<int> free;
    for (int port = 1; port <= kPorts; ++port) free.insert(port);
    for (Stick& stick : hardware_.sticks()) {
      if (stick.port == 0) idle.push_back(&stick);
      free.erase(stick.port);
    }
    if (idle.empty()) return;
    Stick& stick = *idle[below(idle.size())];
    const int port = *std::next(free.begin(), below(free.size()));
    hardware_.plug_in(stick, port);
    note("plugged in " + hardware_.name(stick) + " at " + std::to_string(port) + ", ttyUSB" +
         std::to_string(stick.tty));
    changed(stick);
  }
  void unplug() {
    const std::vector<Stick*> here = hardware_.plugged();
    if (here.empty()) return;
    Stick& stick = *here[below(here.size())];
    note("unplugged " + hardware_.name(stick));
    hardware_.unplug(stick);
    // The daemon knows a link's former target while the link exists.
    for (Pod& pod : pods_)
      if (pod.resource == kLink && !fs::exists(pod.paths.front())) pod.sticks.clear();
    changed(stick);
  }
  // Re-enumerates a device at the same port with another number.
  void renumber() {
    const std::vector<Stick*> here = hardware_.plugged();
    if (here.empty()) return;
    Stick& stick = *here[below(here.size())];
    const int port = stick.port;
    hardware_.unplug(stick);
    for (Pod& pod : pods_)
      if (pod.resource == kLink && !fs::exists(pod.paths.front())) pod.sticks.clear();
    stick.tty = below(kPorts);
    hardware_.plug_in(stick, port);
    note(hardware_.name(stick) + " is ttyUSB" + std::to_string(stick.tty) + " now");
    changed(stick);
  }
  void take_nic() {
    for (Pod& pod : pods_) {
      if (pod.resource != kNic || pod.took_it) continue;
      note(pod.name + " takes " + *pod.others.begin() + " into its network namespace");
      hardware_.take_nic(*pod.others.begin());
      pod.took_it = pod.known = true;
      settled_ = false;
      ++other_changes_;
      settle();
      return;
    }
  }
  void give_nic_back(Pod& pod, bool told = true) {
    if (!std::exchange(pod.took_it, false)) return;
    hardware_.add_nic(*pod.others.begin(), told);
    settled_ = false;
  }
  void change_sharing() {
    shares_ = 1 + below(3);
    note("sharing: " + std::to_string(shares_));
    node_.configure(entries(shares_));
    expect(node_.reload() && node_.attached(kAll, 10s), "not attached with other shares");
    settled_ = false;
    ++other_changes_;
  }
  void upgrade_driver() {
    if (++upgrades_ > 2) restart_daemon();  // see changed()
    note("the driver is upgraded");
    const auto order = [&](const char* word) {
      for (const std::string& gpu : kGpus)
        expect(run_plughost({word, kNvidiaGpu + '=' + gpu, "--control", node_.control()}).exit_code == 0,
               word);
    };
    order("drain");
    expect(eventually([&] { return !nvml_.in_use(); }, 5s), "NVML is open although all cards are drained");
    nvml_.show("fail nvmlInit_v2 9\n");
    show_gpus(below(2) == 0);
    order("undrain");
    for (const std::string& gpu : kGpus)
      expect(node_.healthy(kNvidiaGpu, gpu, 5s), gpu + " is not back after the driver's upgrade");
    ++other_changes_;
  }
  // Shows the cards to the daemon; if `otherwise`, in a different order, as a new driver may number them.
  void show_gpus(bool otherwise) {
    nvml_.show("card " + kGpus[otherwise ? 1 : 0] + " minor=0\ncard " + kGpus[otherwise ? 0 : 1] +
               " minor=1\n");
  }
  // Restarts the daemon before the stick's frequent changes count as a bad cable.
  void changed(const Stick& stick) {
    settled_ = false;
    if (++changes_[&stick] > 4) restart_daemon();
  }
  void move_link() {
    const std::vector<Stick*> here = hardware_.plugged();
    if (here.empty()) return;
    const std::string link = std::string("/dev/ports/") + (below(2) == 0 ? "a" : "b");
    const Stick& stick = *here[below(here.size())];
    Hardware::set_link(link, "/dev/ttyUSB" + std::to_string(stick.tty));
    note(link + " leads to " + hardware_.name(stick));
    settled_ = false;
  }

  // Waits until the daemon has handled all earlier events, because it lists a device that was plugged in
  // last. This is done twice, because the daemon scans twice for devices that have changed.
  void settle() {
    if (std::exchange(settled_, true)) return;
    for (int look = 0; look < 2; ++look) show_mark();
    for (const Pod& pod : pods_)
      if (pod.known)
        expect(node_.healthy(kNic, pod.id, 5s),
               pod.id + " counts as gone, and is in the namespace of " + pod.name);
  }
  void show_mark() {
    Stick last{.product = "ffff", .serial = "M" + std::to_string(++marks_), .tty = 100};
    hardware_.plug_in(last, 9);
    const std::string link = "/dev/ports/" + last.serial;
    Hardware::set_link(link, "/dev/ttyUSB100");
    expect(node_.healthy(kTty, "1a86:ffff:" + last.serial + (shares_ > 1 ? "::0" : ""), 5s) &&
               node_.healthy(kRaw, kRaw + "-1a86:ffff:" + last.serial, 5s) &&
               node_.healthy(kById, "usb-" + last.serial, 5s) &&
               node_.healthy(kLink, "ports_" + last.serial, 5s),
           "the last stick is not listed");
    hardware_.unplug(last);
    fs::remove(link);
  }

  void admit() {
    settle();
    std::vector<std::pair<std::string, std::string>> free;
    for (const std::string& resource : kAll) {
      for (const ListedDevice& device : *node_.of(resource).devices) {
        if (!device.healthy || is_mark(device.id)) continue;
        // One container may have cards of a group through several resources, and two that are admitted within
        // a second may look like one.
        if ((resource == kVfioCard && asked_.contains(kOther)) ||
            (resource == kOther && asked_.contains(kVfioCard)))
          continue;
        if (std::ranges::none_of(
                pods_, [&](const Pod& pod) { return pod.resource == resource && pod.id == device.id; }))
          free.emplace_back(resource, device.id);
      }
    }
    if (free.empty()) return;
    const auto& [resource, id] = free[below(free.size())];
    Pod pod{.name = "pod-" + std::to_string(++names_), .resource = resource, .id = id};
    // List omits init containers.
    const char* const container = below(3) == 0 ? "init-setup" : "main";
    const Admission admission = node_.kubelet().allocate_named(pod.name, container, resource, {id});
    if (!admission.admitted()) return note(pod.name + " was refused " + id + ": " + admission.error);
    ++admissions_;
    asked(resource);
    for (const ContainerNode& each : admission.answer.nodes) {
      const auto number = number_of(each.host_path);
      expect(number.has_value(), pod.name + " was given " + each.host_path + ", which is not there");
      if (hardware_.at(*number).empty()) continue;  // all share /dev/vfio/vfio
      pod.paths.push_back(each.host_path);
      if (const Stick* const stick = hardware_.stick_at(*number)) pod.sticks[stick] = stick->times;
    }
    pod.others = others_in(admission.answer);
    const auto its = reached_by(pod);
    std::string what = pod.name + " has " + id + " of " + resource + ':';
    for (const std::string& each : its) what += ' ' + each;
    for (const std::string& path : pod.paths) what += " by " + path;
    note(what);
    expect(!its.empty(), pod.name + " was given nothing");
    std::map<std::string, unsigned> shares;  // shares that the pod has got, by hardware
    for (const Pod& other : pods_) {
      const bool are_shares = pod.resource == kTty && other.resource == kTty && shares_ > 1;
      // A shared stick may be held by containers of any resource.
      const bool is_shared = shares_ > 1 && (pod.resource == kTty || other.resource == kTty);
      for (const std::string& each : are_shares ? plugged_in_for(other) : reached_by(other)) {
        if (!its.contains(each) || (are_shares ? ++shares[each] < shares_ : is_shared)) continue;
        expect(false, each + " is " + other.name + "'s, and was given to " + pod.name);
      }
    }
    pods_.push_back(std::move(pod));
  }

  static std::set<std::string> others_in(const Allocation& container) {
    std::set<std::string> others;
    for (const char* const variable : {"NIC", "NVIDIA_VISIBLE_DEVICES"})
      if (const auto found = container.env.find(variable); found != container.env.end())
        others.insert(found->second);
    return others;
  }

  static bool is_mark(const std::string& id) {
    return id.find('M') != std::string::npos || id.find("100") != std::string::npos;
  }
  // A container requests each resource once, so a repeated request belongs to a different container.
  void asked(const std::string& resource) {
    if (resource == kVfioCard || resource == kOther)
      asked_ = {resource};
    else if (!asked_.insert(resource).second)
      asked_.clear();
  }

  // Returns the sticks that were given to the pod and have stayed plugged in since.
  std::set<std::string> plugged_in_for(const Pod& pod) const {
    std::set<std::string> its;
    for (const auto& [stick, times] : pod.sticks)
      if (stick->port != 0 && stick->times == times) its.insert(hardware_.name(*stick));
    return its;
  }
  // Returns these sticks, and the hardware to which the pod's paths lead now. Leaves out targets that get
  // their numbers later, because nothing records the former number of a link.
  std::set<std::string> reached_by(const Pod& pod) const {
    std::set<std::string> reached = plugged_in_for(pod);
    reached.insert(pod.others.begin(), pod.others.end());
    for (const std::string& path : pod.paths) {
      const auto number = number_of(path);
      if (!number) continue;
      if (std::string there = hardware_.at(*number); !there.empty()) reached.insert(std::move(there));
    }
    return reached;
  }

  // Requests a held id again: the answer must be the holder's hardware or a refusal.
  void ask_again() {
    if (pods_.empty()) return;
    settle();
    const Pod& pod = pods_[below(pods_.size())];
    // A request for a link that leads to other hardware now ends the former holder.
    if (pod.resource == kLink && reached_by(pod).size() != 1) return;
    const AllocateAnswer answer = node_.kubelet().allocate_ids(pod.resource, {pod.id});
    if (answer.code != 0) return note(pod.id + " of " + pod.name + " is refused: " + answer.text);
    ++answers_;
    asked(pod.resource);
    std::string wrong;
    if (others_in(answer.containers.at(0)) != pod.others) wrong = "is other hardware now";
    std::set<dev_t> numbers;
    for (const ContainerNode& each : answer.containers.at(0).nodes) {
      const auto number = number_of(each.host_path);
      if (!number || hardware_.at(*number).empty()) continue;
      numbers.insert(*number);
      const Stick* const there = hardware_.stick_at(*number);
      if (!there || pod.resource == kLink) continue;
      for (const auto& [stick, times] : pod.sticks) {
        // A name by place belongs to whatever is plugged in there.
        const bool by_place = pod.id.find("usb-1-") != std::string::npos || pod.id.starts_with("pci-");
        const bool is_another = there != stick && stick->port != 0 && stick->times == times;
        // In this test, udev's names depend on the serial number alone.
        const bool is_alike =
            pod.resource == kById ? there->serial == stick->serial : there->make() == stick->make();
        if (is_another || (!by_place && !is_alike))
          wrong = "is " + hardware_.name(*there) + " now, and was " + hardware_.name(*stick);
      }
    }
    for (const std::string& path : pod.paths) {
      const auto number = number_of(path);
      if (!number || !numbers.contains(*number)) wrong = "has another node than " + path;
    }
    expect(wrong.empty(), pod.id + " of " + pod.name + ' ' + wrong);
  }

  void end_pod() {
    if (pods_.empty()) return;
    const auto pod = pods_.begin() + below(pods_.size());
    note(pod->name + " ends");
    node_.kubelet().free(pod->name);
    give_nic_back(*pod);
    pods_.erase(pod);
  }
  void restart_kubelet() {
    note("the kubelet starts anew, and lists no pods");
    node_.kubelet().set_faults({.lists_no_pods = true});
    node_.kubelet().restart();
    expect(node_.attached(kAll, 10s), "not attached to the new kubelet");
  }
  void restart_daemon() {
    note("plughost starts anew");
    ++restarts_;
    node_.start_daemon({std::string("LD_LIBRARY_PATH=") + kFakeNvmlDirectory});
    expect(node_.attached(kAll, 10s), "not attached");
    // The daemon does not know of interfaces that were moved before its start.
    for (Pod& pod : pods_) pod.known = false;
    // Nothing records a link's former target.
    for (Pod& pod : pods_)
      if (pod.resource == kLink) pod.sticks.clear();
    changes_.clear();
    upgrades_ = 0;
    asked_.clear();
    settled_ = false;
  }
  // Restarts the kubelet and the daemon after each plugged device has got a new number at its port.
  void reboot() {
    node_.end_daemon();
    node_.kubelet().stop();
    std::string order;
    std::vector<std::pair<Stick*, int>> here;
    for (Stick* const stick : hardware_.plugged()) {
      here.emplace_back(stick, stick->port);
      hardware_.unplug(*stick, false);
    }
    std::ranges::shuffle(here, random_);
    for (const auto& [stick, port] : here) {
      hardware_.plug_in(*stick, port, false);
      order += ' ' + hardware_.name(*stick);
    }
    for (Pod& pod : pods_) {
      pod.sticks.clear();
      give_nic_back(pod, false);
    }
    note("reboot:" + order);
    node_.kubelet().restart();
    restart_daemon();
  }

  std::mt19937 random_;
  Hardware hardware_;
  FakeNvml nvml_{"card GPU-a minor=0\ncard GPU-b minor=1\n"};
  Node node_{{.pod_resources = true}};
  std::vector<Pod> pods_;
  std::deque<std::string> steps_;
  std::map<const Stick*, int> changes_;  // changes since the daemon started
  int upgrades_ = 0;                     // upgrades of the driver since the daemon started
  std::set<std::string> asked_;          // resources that were requested for what may be one container
  bool settled_ = false;
  unsigned shares_ = 1;
  unsigned other_changes_ = 0;
  unsigned marks_ = 0, names_ = 0, admissions_ = 0, answers_ = 0, restarts_ = 0;
};

unsigned setting(const char* name, unsigned otherwise) {
  const char* const text = std::getenv(name);
  return text ? static_cast<unsigned>(std::strtoul(text, nullptr, 10)) : otherwise;
}

}  // namespace

TEST_CASE("whatever is plugged and moved, no device is given twice, and no id changes under its holder") {
  const unsigned steps = setting("PLUGHOST_PLUGGING_STEPS", 200);
  const unsigned seed = setting("PLUGHOST_PLUGGING_SEED", 1);
  CAPTURE(seed);
  Plugging plugging(seed);
  for (unsigned step = 1; step <= steps; ++step) {
    plugging.step();
    if (step % 100 == 0) plugging.check_at_rest();
  }
  MESSAGE(steps << " steps: " << plugging.admissions() << " pods were given something, " << plugging.answers()
                << " of their ids were asked for again, " << plugging.restarts() << " starts, "
                << plugging.changes() << " changes of sharing, namespaces and the driver");
  CHECK(plugging.admissions() > steps / 20);
  CHECK(plugging.answers() > steps / 100);
  CHECK(plugging.changes() > steps / 100);
}
