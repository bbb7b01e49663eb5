#pragma once
// A file's name that every place in the file has a share in. A plain value.

#include <memory>
#include <string>
#include <utility>

namespace plughost {

class FileName {
 public:
  FileName() = default;
  FileName(std::string name) : name_(std::make_shared<const std::string>(std::move(name))) {}
  FileName(const char* name) : FileName(std::string(name)) {}

  const std::string& text() const {
    static const std::string kNone;
    return name_ ? *name_ : kNone;
  }

 private:
  std::shared_ptr<const std::string> name_;
};

}  // namespace plughost
