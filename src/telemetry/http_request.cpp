#include "telemetry/http_request.hpp"

#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>

namespace plughost {

namespace {

namespace http = boost::beast::http;

std::string text_of(boost::beast::string_view text) {
  return {text.data(), text.size()};
}

}  // namespace

std::optional<std::variant<HttpRequest, HttpFault>> read_request(std::string_view bytes) {
  constexpr std::string_view kEnd = "\r\n\r\n";
  const std::size_t end = bytes.substr(0, kMostHead).find(kEnd);
  if (end == std::string_view::npos) {
    if (bytes.size() < kMostHead) return std::nullopt;
    return HttpFault::kHeadTooLong;
  }
  http::request_parser<http::empty_body> parser;
  parser.header_limit(kMostHead);
  parser.body_limit(kMostBody);
  boost::system::error_code error;
  parser.put(boost::asio::buffer(bytes.data(), end + kEnd.size()), error);
  if (error == http::error::body_limit) return HttpFault::kBodyTooLong;
  // The head is whole, so that nothing else may be missing.
  if (error || !parser.is_header_done()) return HttpFault::kBad;
  const auto& head = parser.get();
  // Of two hosts one could be checked and the other one meant.
  if (head.count(http::field::host) > 1) return HttpFault::kBad;
  HttpRequest request{.method = text_of(head.method_string()), .path = text_of(head.target()), .host = {}};
  request.path.resize(std::min(request.path.find('?'), request.path.size()));
  if (const auto host = head.find(http::field::host); host != head.end())
    request.host = text_of(host->value());
  return request;
}

}  // namespace plughost
