// Parses arbitrary bytes as a response of the API server, as an exec plugin's output and as a certificate.
// The first byte is the size of the chunks in which the response arrives. Every error text that users see
// must be one line.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/text/json.hpp"
#include "kubernetes/apiserver/access.hpp"
#include "kubernetes/apiserver/access_keeper.hpp"
#include "kubernetes/apiserver/api_request.hpp"
#include "kubernetes/apiserver/api_watch.hpp"

using namespace plughost;

namespace {

void check_line(const std::string& text) {
  if (text.find_first_of("\r\n") != std::string::npos) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t part = data[0] + std::size_t{1};
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  constexpr std::size_t kMostPiece = 1000;
  const std::vector<std::string> kept{"type", "object.metadata.name", "metadata", "spec.containers.name"};
  for (const auto form : {JsonSplitter::Form::kLines, JsonSplitter::Form::kItems}) {
    JsonSplitter splitter(form, kMostPiece);
    const auto take = [&](const JsonSplitter::Piece& piece) {
      if (piece.text.empty() || piece.text.size() > kMostPiece) std::abort();
      if (form == JsonSplitter::Form::kLines && piece.text.find('\n') != std::string::npos) std::abort();
      const auto event = watch_event_of(parse_api_part(piece.text, kept, kMostPiece));
      if (const auto* const error = std::get_if<std::string>(&event)) check_line(*error);
    };
    for (std::size_t at = 0; at < text.size(); at += part) splitter.feed(text.substr(at, part), take);
    if (splitter.held() > kMostPiece || splitter.rest().text.size() > JsonSplitter::kBeginning) std::abort();
  }
  check_line(refusal_text(data[0], text));
  const auto credential =
      read_exec_credential(text, {.api_version = "client.authentication.k8s.io/v1", .command = {"/x"}});
  if (const auto* const error = std::get_if<std::string>(&credential)) check_line(*error);
  node_in_certificate("-----BEGIN CERTIFICATE-----" + std::string(text));
  return 0;
}
