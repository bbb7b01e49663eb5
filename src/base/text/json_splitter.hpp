#pragma once
// Splits a stream into JSON texts while it comes, and stores no more than one of them. A value; not
// thread-safe.

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace plughost {

class JsonSplitter {
 public:
  // The beginning of a text that is larger than the limit is kept up to here: the names are in it.
  static constexpr std::size_t kBeginning = std::size_t{64} << 10u;
  // A string of more bytes, as the stream has it, becomes the empty string: whoever writes 1 MiB into a pod's
  // arguments does not enlarge what is stored of the pod.
  static constexpr std::size_t kLongestString = 1024;

  enum class Form {
    kLines,  // each line is a text
    kItems,  // each element of the array `items` of the outermost object is a text
  };
  struct Piece {
    std::string text;
    bool whole = true;  // false: it has more bytes than the limit, and these are the first
  };
  using Take = std::function<void(Piece piece)>;

  // most: bytes of a text, without its long strings.
  JsonSplitter(Form form, std::size_t most) : form_(form), most_(most) {}

  // Calls take with each text that is complete now. Does not check the JSON: a reader of the text does.
  void feed(std::string_view bytes, const Take& take);
  // The bytes of the text that is not complete yet.
  std::size_t held() const { return piece_.text.size(); }
  // The outermost object without its items, of at most kBeginning bytes.
  const Piece& rest() const { return rest_; }

 private:
  Piece& current() { return form_ == Form::kLines || in_items_ ? piece_ : rest_; }
  void read_in_string(char mark);
  void read_mark(char mark, const Take& take);
  void append(std::string_view bytes);
  void end_piece(const Take& take);

  Form form_;
  std::size_t most_;
  Piece piece_;
  Piece rest_;
  std::size_t depth_ = 0;
  bool in_items_ = false;
  bool in_string_ = false;
  bool escaped_ = false;         // the string's next byte
  std::size_t string_from_ = 0;  // in the current text
  bool too_long_ = false;        // the string
};

}  // namespace plughost
