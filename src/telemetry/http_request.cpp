#include "telemetry/http_request.hpp"

#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include "base/text.hpp"

namespace plughost {
namespace {

namespace http = boost::beast::http;

std::string text_of(boost::beast::string_view text) { return {text.data(), text.size()}; }

}  // namespace

std::optional<std::variant<HttpRequest, HttpFault>> read_request(std::string_view bytes) {
  if (bytes.substr(0, kMostHead).find("\r\n\r\n") == std::string_view::npos) {
    if (bytes.size() < kMostHead) return std::nullopt;
    return HttpFault::kHeadTooLong;
  }
  http::request_parser<http::string_body> parser;
  parser.header_limit(kMostHead);
  parser.body_limit(kMostBody);
  parser.eager(true);
  boost::system::error_code error;
  parser.put(boost::asio::buffer(bytes.data(), bytes.size()), error);
  if (error == http::error::body_limit) return HttpFault::kBodyTooLong;
  // The head is whole: only a body may be missing.
  if (!parser.is_header_done() || (error && error != http::error::need_more)) return HttpFault::kBad;
  if (!parser.is_done()) return std::nullopt;
  const auto& head = parser.get();
  // Of two hosts one could be checked and the other one meant.
  if (head.count(http::field::host) > 1) return HttpFault::kBad;
  const std::string target = text_of(head.target());
  const std::size_t end = std::min(target.find('?'), target.size());
  HttpRequest request{.method = text_of(head.method_string()),
                      .path = target.substr(0, end),
                      .query = target.substr(std::min(end + 1, target.size())),
                      .host = {},
                      .body = head.body()};
  if (const auto host = head.find(http::field::host); host != head.end())
    request.host = text_of(host->value());
  return request;
}

std::size_t number_in_query(std::string_view query, std::string_view name, std::size_t fallback) {
  while (!query.empty()) {
    const std::string_view part = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(part.size() + 1, query.size()));
    if (part.starts_with(name) && part.substr(name.size()).starts_with('='))
      return number_in<std::size_t>(part.substr(name.size() + 1)).value_or(fallback);
  }
  return fallback;
}

}  // namespace plughost
