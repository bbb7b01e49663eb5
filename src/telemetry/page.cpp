#include "telemetry/page.hpp"

namespace plughost {

const std::string_view kPage = "<!doctype html><title>plughost</title>";
const std::string_view kPagePolicy = "default-src 'none'";

}  // namespace plughost
