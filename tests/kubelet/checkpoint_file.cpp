#include "kubelet/checkpoint_file.hpp"

#include <absl/strings/escaping.h>

#include <fcntl.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/system/unique_fd.hpp"

namespace plughost {
namespace {

using JsonValue = nlohmann::ordered_json;  // the kubelet writes members in the order of its structs

JsonValue entry_of(const DeviceBook::Holding& holding) {
  JsonValue ids = JsonValue::object();
  for (const auto& [node, on_node] : holding.ids) ids[std::to_string(node)] = on_node;
  return {{"PodUID", holding.pod},
          {"ContainerName", holding.container},
          {"ResourceName", holding.resource},
          {"DeviceIDs", std::move(ids)},
          {"AllocResp", absl::Base64Escape(holding.answer)}};
}

DeviceBook::Holding holding_of(const JsonValue& entry) {
  DeviceBook::Holding holding{
      entry.at("PodUID"), entry.at("ContainerName"), entry.at("ResourceName"), {}, {}};
  for (const auto& [node, on_node] : entry.at("DeviceIDs").items())
    holding.ids[std::stoll(node)] = on_node.get<std::vector<std::string>>();
  absl::Base64Unescape(entry.at("AllocResp").get<std::string>(), &holding.answer);
  return holding;
}

}  // namespace

std::string checkpoint_text(const DeviceBook& book) {
  JsonValue entries;  // null if empty, as Go writes a nil slice
  for (const auto& holding : book.holdings()) entries.push_back(entry_of(holding));
  JsonValue registered = JsonValue::object();
  for (const auto& [name, resource] : book.resources()) {
    JsonValue& ids = registered[name] = JsonValue::array();
    for (const ListedDevice& device : *resource.devices) {
      if (device.healthy) ids.push_back(device.id);
    }
  }
  const JsonValue document{
      {"Data", {{"PodDeviceEntries", std::move(entries)}, {"RegisteredDevices", std::move(registered)}}},
      {"Checksum", 0}};
  // Replaces bytes that are not UTF-8. Ids come from a plugin, and a bad id must not end the stand-in.
  return document.dump(-1, ' ', false, JsonValue::error_handler_t::replace);
}

DeviceBook read_checkpoint(const std::filesystem::path& directory) {
  std::ifstream file(directory / CheckpointFile::kName);
  if (!file) return {};
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const JsonValue document = JsonValue::parse(text);
  const JsonValue& content = document.at("Data");
  std::vector<DeviceBook::Holding> holdings;
  for (const JsonValue& entry : content.at("PodDeviceEntries")) holdings.push_back(holding_of(entry));
  std::vector<std::string> resources;
  for (const auto& [name, ids] : content.at("RegisteredDevices").items()) resources.push_back(name);
  return {std::move(holdings), resources, DeviceBook::Clock::now()};
}

CheckpointFile::CheckpointFile(const std::filesystem::path& directory, OnError on_error)
    : directory_(directory), on_error_(std::move(on_error)), thread_([this] { run(); }) {}

CheckpointFile::~CheckpointFile() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

std::uint64_t CheckpointFile::write(std::string text) {
  const std::lock_guard lock(mutex_);
  text_ = std::move(text);
  changed_.notify_all();
  return ++given_;
}

void CheckpointFile::wait_for(std::uint64_t number) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return written_ >= number; });
}

void CheckpointFile::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return closing_ || written_ < given_; });
    if (written_ == given_) return;
    const std::uint64_t number = given_;
    const std::string text = std::move(text_);
    lock.unlock();
    try {
      replace_file(text);
    } catch (const std::system_error& exception) {
      on_error_(exception.what());
    }
    lock.lock();
    written_ = number;
    changed_.notify_all();
  }
}

void CheckpointFile::replace_file(const std::string& text) const {
  std::string temporary = (directory_ / ".XXXXXX").string();
  const UniqueFd fd{check(::mkostemp(temporary.data(), O_CLOEXEC), "create " + temporary)};
  for (std::size_t done = 0; done < text.size();) {
    done += static_cast<std::size_t>(
        check(static_cast<int>(::write(fd.get(), text.data() + done, text.size() - done)), "write"));
  }
  check(::fsync(fd.get()), "fsync " + temporary);
  check(::rename(temporary.c_str(), (directory_ / kName).c_str()), "rename " + temporary);
}

}  // namespace plughost
