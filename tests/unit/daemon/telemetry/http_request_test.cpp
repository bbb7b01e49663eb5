#include "daemon/telemetry/http_message.hpp"

#include <doctest/doctest.h>

using namespace plughost;

namespace {

HttpRequest request_of(std::string_view bytes) {
  const auto read = read_request(bytes);
  REQUIRE(read.has_value());
  REQUIRE(std::holds_alternative<HttpRequest>(*read));
  return std::get<HttpRequest>(*read);
}

HttpFault fault_of(std::string_view bytes) {
  const auto read = read_request(bytes);
  REQUIRE(read.has_value());
  REQUIRE(std::holds_alternative<HttpFault>(*read));
  return std::get<HttpFault>(*read);
}

// Returns a request whose head has that many bytes.
std::string head_of_size(std::size_t size) {
  const std::string begin = "GET / HTTP/1.1\r\nX: ";
  return begin + std::string(size - begin.size() - 4, 'x') + "\r\n\r\n";
}

}  // namespace

TEST_CASE("a request has a method, a path and a host") {
  const HttpRequest request = request_of("HEAD /metrics HTTP/1.1\r\nHost: here:9464\r\nAccept: */*\r\n\r\n");
  CHECK(request.method == "HEAD");
  CHECK(request.path == "/metrics");
  CHECK(request.host == "here:9464");
}

TEST_CASE("a query is not part of the path, and the host may be missing") {
  const HttpRequest request = request_of("GET /healthz?verbose=1?x HTTP/1.0\r\n\r\n");
  CHECK(request.path == "/healthz");
  CHECK(request.query == "verbose=1?x");
  CHECK(request_of("GET /healthz? HTTP/1.0\r\n\r\n").query.empty());
  CHECK(request_of("GET /healthz HTTP/1.0\r\n\r\n").query.empty());
  CHECK_FALSE(request.host.has_value());
  CHECK(request_of("PURGE / HTTP/1.1\r\n\r\n").method == "PURGE");
}

TEST_CASE("a request is incomplete before the empty line") {
  const std::string whole = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
  for (std::size_t size = 0; size < whole.size(); ++size)
    CHECK_FALSE(read_request(std::string_view(whole).substr(0, size)).has_value());
  CHECK(read_request(whole).has_value());
}

TEST_CASE("bytes after the request are ignored") {
  const HttpRequest request = request_of("GET /a HTTP/1.1\r\n\r\nGET /b HTTP/1.1\r\n\r\n");
  CHECK(request.path == "/a");
  CHECK(request.body.empty());
  CHECK(request_of("POST /a HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello, you").body == "hello");
}

TEST_CASE("a request is incomplete before its body is") {
  for (const std::string& whole :
       {std::string("POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello"),
        std::string(
            "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n")}) {
    for (std::size_t size = 0; size < whole.size(); ++size)
      CHECK_FALSE(read_request(std::string_view(whole).substr(0, size)).has_value());
    CHECK(request_of(whole).body == "hello");
  }
}

TEST_CASE("a number is read from a query, and is the default if the query has none") {
  CHECK(number_in_query("limit=20", "limit", 7) == 20);
  CHECK(number_in_query("a=1&limit=0&b", "limit", 7) == 0);
  for (const char* query : {"", "limit", "limit=", "limit=x", "limit=-1", "limits=3", "unlimit=3",
                            "limit=99999999999999999999999"})
    CHECK(number_in_query(query, "limit", 7) == 7);
}

TEST_CASE("a head of more than 8 KiB is refused, complete or not") {
  CHECK(request_of(head_of_size(8192)).path == "/");
  CHECK(fault_of(head_of_size(8193)) == HttpFault::kHeadTooLong);
  CHECK_FALSE(read_request(std::string(8191, 'x')).has_value());
  CHECK(fault_of(std::string(8192, 'x')) == HttpFault::kHeadTooLong);
}

TEST_CASE("a body of more than 64 KiB is refused, with a Content-Length or in chunks") {
  const std::string most(65536, 'x');
  CHECK(request_of("POST / HTTP/1.1\r\nContent-Length: 65536\r\n\r\n" + most).body == most);
  CHECK(fault_of("POST / HTTP/1.1\r\nContent-Length: 65537\r\n\r\n") == HttpFault::kBodyTooLong);
  CHECK(fault_of("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n10001\r\n" + most + "x") ==
        HttpFault::kBodyTooLong);
}

TEST_CASE("invalid HTTP is a bad request") {
  for (const char* bytes : {"\r\n\r\n", "GET\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "GET /\x01 HTTP/1.1\r\n\r\n",
                            "\x16\x03\x01\r\n\r\n", "GET / HTTP/1.1\r\nHost\r\n\r\n",
                            "GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
                            "GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"}) {
    CAPTURE(bytes);
    CHECK(fault_of(bytes) == HttpFault::kBad);
  }
}

TEST_CASE(
    "a request with two Host headers is invalid, because one could be checked while the client means the "
    "other") {
  CHECK(fault_of("GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil\r\n\r\n") == HttpFault::kBad);
  CHECK(fault_of("GET / HTTP/1.1\r\nHost: localhost\r\nhost: localhost\r\n\r\n") == HttpFault::kBad);
}
