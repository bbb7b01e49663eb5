#pragma once
// What an answer of the API server's means in words. Pure functions, thread-safe.

#include <string>
#include <string_view>

#include "apiserver/api_request.hpp"

namespace plughost {

// "403 Forbidden: pods is forbidden: …" of a code and a body, which is a Status object or anything else; cut
// and printable.
std::string refusal_text(int code, std::string_view body);

// "to list /api/v1/pods": what was wanted, without the query.
std::string wanted_text(ApiVerb verb, std::string_view path);

}  // namespace plughost
