#include "apiserver/api_json.hpp"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

namespace plughost {
namespace {

class Builder final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit Builder(std::size_t most_values) : most_values_(most_values) {}

  std::string trouble;
  Json take() { return std::move(root_); }

  bool null() override { return add({}); }
  bool boolean(bool truth) override { return add(truth); }
  bool number_integer(number_integer_t number) override { return add(number); }
  bool number_unsigned(number_unsigned_t number) override {
    if (std::in_range<std::int64_t>(number)) return add(number);
    return add(std::to_string(number));
  }
  bool number_float(number_float_t /*number*/, const string_t& text) override { return add(text); }
  bool string(string_t& text) override { return add(std::move(text)); }
  bool binary(binary_t& /*bytes*/) override { return false; }
  bool start_object(std::size_t /*size*/) override { return open(Json::Object()); }
  bool start_array(std::size_t /*size*/) override { return open(Json::Array()); }
  bool key(string_t& text) override {
    if (unwanted_ > 0) return true;
    if (text == "managedFields")
      skip_next_ = true;
    else
      open_.back().key = std::move(text);
    return true;
  }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*error*/) override {
    return fail("it is no JSON at byte " + std::to_string(position));
  }

 private:
  struct Level {
    std::variant<Json::Object, Json::Array> values;
    std::string key;  // of an object's next value
  };

  bool fail(std::string what) {
    trouble = std::move(what);
    return false;
  }
  // Bounds what is left out, too: it costs time.
  bool count() {
    if (++values_ <= most_values_) return true;
    return fail("it has more than " + std::to_string(most_values_) + " values");
  }

  bool add(Json value) {
    if (!count()) return false;
    if (unwanted_ > 0) return true;
    if (std::exchange(skip_next_, false)) return true;
    put(std::move(value));
    return true;
  }
  void put(Json value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return;
    }
    Level& level = open_.back();
    if (auto* const object = std::get_if<Json::Object>(&level.values))
      object->emplace_back(std::move(level.key), std::move(value));
    else
      std::get<Json::Array>(level.values).push_back(std::move(value));
  }

  template <typename Values>
  bool open(Values values) {
    if (!count()) return false;
    if (open_.size() + unwanted_ >= kDeepestJson)
      return fail("it is nested more than " + std::to_string(kDeepestJson) + " levels deep");
    if (unwanted_ > 0 || std::exchange(skip_next_, false))
      ++unwanted_;
    else
      open_.push_back({.values = std::move(values), .key = {}});
    return true;
  }
  bool close() {
    if (unwanted_ > 0) {
      --unwanted_;
      return true;
    }
    Level level = std::move(open_.back());
    open_.pop_back();
    std::visit([this](auto& values) { put(std::move(values)); }, level.values);
    return true;
  }

  const std::size_t most_values_;
  Json root_;
  std::vector<Level> open_;
  std::size_t unwanted_ = 0;  // levels that are left out
  bool skip_next_ = false;    // the next value is left out
  std::size_t values_ = 0;
};

}  // namespace

std::variant<Json, std::string> parse_api_json(std::string_view text, std::size_t most_values) {
  Builder builder(most_values);
  if (nlohmann::json::sax_parse(text, &builder)) return builder.take();
  return std::move(builder.trouble);
}

}  // namespace plughost
