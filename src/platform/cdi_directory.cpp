#include "platform/cdi_directory.hpp"

#include <array>
#include <cinttypes>
#include <cstdio>
#include <system_error>
#include <utility>
#include <vector>

#include "apiserver/api_json.hpp"
#include "base/replace_file.hpp"
#include "config/places.hpp"
#include "device/cdi.hpp"
#include "device/hash.hpp"
#include "host/file_text.hpp"

namespace plughost {
namespace {

namespace fs = std::filesystem;

// A larger one is none of ours: a list of the kubelet's has 4 MiB.
constexpr std::size_t kMostSpecification = std::size_t{64} << 20u;

ClaimFiles::File claim_file(const fs::path& path, std::string uid) {
  std::error_code unknown;
  std::optional<std::string> text;
  if (fs::is_regular_file(path, unknown)) text = file_text(path, kMostClaimFile + 1);
  if (!text || text->size() > kMostClaimFile)
    return {.uid = std::move(uid), .claim = "it cannot be read, or is too large"};
  auto json = parse_api_json(*text);
  if (auto* const why = std::get_if<std::string>(&json))
    return {.uid = std::move(uid), .claim = std::move(*why)};
  const Json& specification = std::get<Json>(json);
  std::string driver = driver_of_claim_specification(specification);
  auto claim = parse_claim_specification(specification, driver, uid);
  return {.uid = std::move(uid),
          .driver = std::move(driver),
          .text = *std::move(text),
          .claim = std::move(claim)};
}

bool is_there(const fs::path& file) {
  std::error_code failed;
  return fs::exists(file, failed);
}

// Empty if there is none.
std::string content_of(const fs::path& file) {
  std::error_code failed;
  if (!fs::is_regular_file(file, failed)) return {};
  return file_text(file, std::string::npos).value_or("");
}

std::string advice(const std::error_code& error, const fs::path& directory) {
  if (error == std::errc::read_only_file_system || error == std::errc::permission_denied ||
      error == std::errc::operation_not_permitted)
    return "plughost's unit needs ReadWritePaths=" + directory.string() + ", and the directory to be there";
  if (error == std::errc::no_space_on_device) return "the file system is full";
  return "`cdi: {directory: …}` names another directory, which the container runtime must read, too";
}

}  // namespace

std::string cdi_owner(const fs::path& kubelet_directory) {
  if (kubelet_directory == kKubeletDirectory) return "plughost";
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "plughost.%016" PRIx64, fnv1a(kubelet_directory.native()));
  return text.data();
}

CdiDirectory::CdiDirectory(HostRoot host, fs::path directory, std::string owner)
    : host_(std::move(host)), path_(std::move(directory)), owner_(std::move(owner)) {}

std::string CdiDirectory::specify(const Offer& offer) {
  if (offer.recipe->cdi == CdiNames::kNone) return {};
  const std::string file = cdi_file_name(owner_, offer.resource);
  const auto known = specified_.find(offer.resource);
  const bool same = known != specified_.end() && known->second.recipe == offer.recipe &&
                    known->second.inventory == offer.inventory;
  if (same && is_there(at(file))) return {};
  const std::string text = cdi_specification(offer.resource, *offer.recipe, offer.inventory);
  const std::string trouble = text.empty() ? remove(file) : put(file, text);
  if (trouble.empty())
    specified_[offer.resource] = {offer.inventory, offer.recipe};
  else
    specified_.erase(offer.resource);
  return trouble;
}

std::string CdiDirectory::put(const std::string& file, const std::string& text) {
  try {
    if (content_of(at(file)) != text) replace(file, text);
    return {};
  } catch (const std::system_error& error) {
    return "the CDI specification " + (path_ / file).string() +
           " cannot be written: " + error.code().message() + "; " + advice(error.code(), path_);
  }
}

// Of a file that is being written: hidden, and without the ending that runtimes look for.
std::string CdiDirectory::unfinished(const std::string& file) const {
  return '.' + owner_ + '-' + file + ".tmp";
}

void CdiDirectory::replace(const std::string& file, const std::string& text) {
  const fs::path directory = host_.at(path_);
  if (!is_there(directory)) {
    fs::create_directories(directory);
    fs::permissions(directory, fs::perms(0755));
  }
  replace_file(directory / file, directory / unfinished(file), text);
}

std::string CdiDirectory::remove(const std::string& file) {
  std::error_code failed;
  fs::remove(at(file), failed);
  if (!failed) return {};
  return "the CDI specification " + (path_ / file).string() + " cannot be removed: " + failed.message() +
         "; " + advice(failed, path_);
}

std::string CdiDirectory::put_late(const std::string& device, const std::string& text) {
  return put(late_file(device), text);
}

void CdiDirectory::keep_late(const std::set<std::string>& devices) {
  std::set<std::string> kept;
  for (const std::string& device : devices) kept.insert(late_file(device));
  const std::string ours = late_file("late-");
  const std::string beginning = ours.substr(0, ours.size() - std::string_view(".json").size());
  remove_if([&](const std::string& name) {
    return name.starts_with(beginning) && name.ends_with(".json") && !kept.contains(name);
  });
}

std::string CdiDirectory::put_claim(const std::string& uid, const std::string& text) {
  return put(claim_file_name(owner_, uid), text);
}

std::string CdiDirectory::remove_claim(const std::string& uid) {
  return remove(claim_file_name(owner_, uid));
}

ClaimFiles CdiDirectory::claims() const {
  ClaimFiles claims;
  std::error_code failed;
  fs::directory_iterator entry(host_.at(path_), failed);
  for (; !failed && entry != fs::directory_iterator(); entry.increment(failed)) {
    const std::string name = entry->path().filename();
    const auto uid = uid_of_claim_file(owner_, name);
    if (!uid) continue;
    claims.files.push_back(claim_file(entry->path(), std::string(*uid)));
  }
  if (failed && failed != std::errc::no_such_file_or_directory)
    claims.trouble = "the directory of CDI specifications, " + path_.string() +
                     ", cannot be read: " + failed.message() + "; " + advice(failed, path_);
  return claims;
}

std::vector<NotedDevices> CdiDirectory::noted() const {
  std::vector<NotedDevices> noted;
  std::error_code failed;
  for (fs::directory_iterator entry(host_.at(path_), failed); !failed && entry != fs::directory_iterator();
       entry.increment(failed)) {
    const std::string name = entry->path().filename();
    if (!is_of_resource(name)) continue;
    std::error_code unknown;
    if (!fs::is_regular_file(entry->path(), unknown)) continue;
    const std::optional<std::string> text = file_text(entry->path(), kMostSpecification);
    if (!text || text->size() == kMostSpecification) continue;
    if (NotedDevices devices = noted_devices(*text); !devices.devices.empty())
      noted.push_back(std::move(devices));
  }
  return noted;
}

bool CdiDirectory::is_of_resource(const std::string& name) const {
  return name.starts_with(owner_ + '-') && name.ends_with(".json") && !uid_of_claim_file(owner_, name);
}

void CdiDirectory::keep(const std::set<std::string>& resources) {
  std::erase_if(specified_, [&](const auto& item) { return !resources.contains(item.first); });
  std::set<std::string> kept;
  for (const std::string& resource : resources) kept.insert(cdi_file_name(owner_, resource));
  const std::string ours = owner_ + '-';
  remove_if([&](const std::string& name) {
    return (is_of_resource(name) && !kept.contains(name)) || name.starts_with('.' + ours);
  });
}

void CdiDirectory::remove_if(const std::function<bool(const std::string& name)>& is_old) {
  std::vector<std::string> old;
  std::error_code failed;
  for (fs::directory_iterator entry(host_.at(path_), failed); !failed && entry != fs::directory_iterator();
       entry.increment(failed)) {
    std::string name = entry->path().filename();
    if (is_old(name)) old.push_back(std::move(name));
  }
  for (const std::string& name : old) remove(name);
}

}  // namespace plughost
