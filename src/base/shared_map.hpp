#pragma once
// A map by name whose copies have one content in memory until one of them is changed. A value; not
// thread-safe, copies of one another included.

#include <cstddef>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <utility>

namespace plughost {

template <typename Value>
class SharedMap {
 public:
  using Map = std::map<std::string, Value>;

  SharedMap() = default;
  SharedMap(Map map) {
    if (!map.empty()) map_ = std::make_shared<Map>(std::move(map));
  }
  SharedMap(std::initializer_list<typename Map::value_type> items) : SharedMap(Map(items)) {}

  operator const Map&() const { return content(); }
  bool empty() const { return content().empty(); }
  std::size_t size() const { return content().size(); }
  bool contains(const std::string& name) const { return content().contains(name); }
  const Value& at(const std::string& name) const { return content().at(name); }
  auto begin() const { return content().begin(); }
  auto end() const { return content().end(); }

  // A reference is good until this is copied.
  Value& operator[](const std::string& name) { return own()[name]; }

  bool operator==(const SharedMap& other) const { return map_ == other.map_ || content() == other.content(); }
  // Have they one content in memory?
  bool shares(const SharedMap& other) const { return map_ && map_ == other.map_; }

 private:
  const Map& content() const {
    static const Map kEmpty;
    return map_ ? *map_ : kEmpty;
  }
  Map& own() {
    if (!map_)
      map_ = std::make_shared<Map>();
    else if (map_.use_count() > 1)
      map_ = std::make_shared<Map>(*map_);
    return *map_;
  }

  std::shared_ptr<Map> map_;  // nullptr: it is empty
};

}  // namespace plughost
