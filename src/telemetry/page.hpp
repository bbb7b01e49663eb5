#pragma once
// The status page, as it stands in page.html. Immutable.

#include <string_view>

namespace plughost {

extern const std::string_view kPage;
// Its Content-Security-Policy.
extern const std::string_view kPagePolicy;

}  // namespace plughost
