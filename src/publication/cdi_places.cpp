#include "publication/cdi_places.hpp"

#include <utility>

namespace plughost {

CdiPlaces::CdiPlaces(Workers& workers, HostRoot host, const std::filesystem::path& directory,
                     const std::string& owner)
    : workers_(workers),
      host_(std::move(host)),
      present_(std::make_unique<CdiWriter>(workers, host_, directory, owner)) {}

void CdiPlaces::move(const std::filesystem::path& directory, const std::string& owner) {
  if (former_ && former_->is_for(directory, owner)) return std::swap(present_, former_);
  end_former();
  former_ = std::exchange(present_, std::make_unique<CdiWriter>(workers_, host_, directory, owner));
}

void CdiPlaces::keep(std::set<std::string> resources) {
  present_->keep(std::move(resources));
  end_former();
}

void CdiPlaces::end_former() {
  if (!former_) return;
  former_->keep({});
  former_->keep_late({});
  former_.reset();
}

}  // namespace plughost
