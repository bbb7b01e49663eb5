#include "base/text/json_splitter.hpp"

#include <algorithm>
#include <utility>

#include "base/text/ascii.hpp"

namespace plughost {
namespace {

bool is_mark(char c) {
  return c == '"' || c == '{' || c == '}' || c == '[' || c == ']' || c == ',' || c == '\n';
}

bool is_mark_in_string(char c) { return c == '"' || c == '\\' || c == '\n'; }

// Does the text end with the key that begins the items? `"items":`, after '{' or ','.
bool ends_with_items_key(std::string_view text) {
  constexpr std::string_view kKey = "\"items\"";
  text = without_blanks(text);
  if (!text.ends_with(':')) return false;
  text = without_blanks(text.substr(0, text.size() - 1));
  if (!text.ends_with(kKey)) return false;
  text = without_blanks(text.substr(0, text.size() - kKey.size()));
  return text.ends_with('{') || text.ends_with(',');
}

}  // namespace

void JsonSplitter::feed(std::string_view bytes, const Take& take) {
  while (!bytes.empty()) {
    const bool is_plain = std::exchange(escaped_, false) && bytes.front() != '\n';
    const auto mark =
        is_plain ? bytes.begin() + 1 : std::ranges::find_if(bytes, in_string_ ? is_mark_in_string : is_mark);
    const auto length = static_cast<std::size_t>(mark - bytes.begin());
    append(bytes.substr(0, length));
    bytes.remove_prefix(length);
    if (is_plain || bytes.empty()) continue;
    if (bytes.front() == '\n' && form_ == Form::kLines)
      end_piece(take);
    else if (in_string_)
      read_in_string(bytes.front());
    else
      read_mark(bytes.front(), take);
    bytes.remove_prefix(1);
  }
}

void JsonSplitter::read_in_string(char mark) {
  if (mark == '"') in_string_ = false;
  append({&mark, 1});
  escaped_ = mark == '\\';
}

void JsonSplitter::read_mark(char mark, const Take& take) {
  const bool opens = mark == '{' || mark == '[';
  const bool closes = mark == '}' || mark == ']';
  if (in_items_ && depth_ == 0 && (closes || mark == ',')) {
    end_piece(take);
    if (mark == ',') return;
    in_items_ = false;
    depth_ = 2;
  }
  const bool begins_items =
      form_ == Form::kItems && !in_items_ && depth_ == 1 && mark == '[' && ends_with_items_key(rest_.text);
  if (opens) ++depth_;
  if (closes && depth_ > 0) --depth_;
  append({&mark, 1});
  if (mark == '"') {
    in_string_ = true;
    too_long_ = false;
    string_from_ = current().text.size();
  }
  if (begins_items) {
    in_items_ = true;
    depth_ = 0;
  }
}

void JsonSplitter::append(std::string_view bytes) {
  Piece& piece = current();
  if (!piece.whole) return;
  const bool is_rest = &piece == &rest_;
  if (in_string_ && !is_rest && piece.text.size() - string_from_ + bytes.size() > kLongestString) {
    too_long_ = true;
    piece.text.resize(string_from_);
  }
  if (in_string_ && too_long_) return;
  const std::size_t room = (is_rest ? kBeginning : most_) - piece.text.size();
  piece.whole = bytes.size() <= room;
  piece.text += bytes.substr(0, room);
  if (piece.whole) return;
  piece.text.resize(std::min(piece.text.size(), kBeginning));
  piece.text.shrink_to_fit();
}

void JsonSplitter::end_piece(const Take& take) {
  in_string_ = false;
  Piece piece = std::exchange(piece_, {});
  if (!without_blanks(piece.text).empty()) take(std::move(piece));
}

}  // namespace plughost
