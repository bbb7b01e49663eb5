#pragma once
// A list whose copies have one content in memory until one of them is changed. A value; not thread-safe,
// copies of one another included.

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

namespace plughost {

template <typename Item>
class SharedList {
 public:
  using List = std::vector<Item>;

  SharedList() = default;
  SharedList(List items) {
    if (!items.empty()) list_ = std::make_shared<List>(std::move(items));
  }
  SharedList(std::initializer_list<Item> items) : SharedList(List(items)) {}

  bool empty() const { return content().empty(); }
  std::size_t size() const { return content().size(); }
  const Item& operator[](std::size_t index) const { return content()[index]; }
  const Item& at(std::size_t index) const { return content().at(index); }
  const Item& front() const { return content().front(); }
  auto begin() const { return content().begin(); }
  auto end() const { return content().end(); }

  // To change it. The reference is good until this is copied.
  List& edit() {
    if (!list_)
      list_ = std::make_shared<List>();
    else if (list_.use_count() > 1)
      list_ = std::make_shared<List>(*list_);
    return *list_;
  }

  bool operator==(const SharedList& other) const {
    return list_ == other.list_ || content() == other.content();
  }
  // Have they one content in memory?
  bool shares(const SharedList& other) const { return list_ && list_ == other.list_; }

 private:
  const List& content() const {
    static const List kEmpty;
    return list_ ? *list_ : kEmpty;
  }

  std::shared_ptr<List> list_;  // nullptr: it is empty
};

}  // namespace plughost
