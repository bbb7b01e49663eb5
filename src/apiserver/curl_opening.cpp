#include "apiserver/curl_opening.hpp"

#include <utility>
#include <variant>

#include "apiserver/curl_transport.hpp"
#include "programs/program.hpp"

namespace plughost {

void CurlOpening::want(Ready ready) {
  if (library_) return ready({});
  if (hangs_) return ready(slow_text());
  waiting_.push_back(std::move(ready));
  if (!std::exchange(opening_, true)) open();
}

void CurlOpening::open() {
  auto opened = std::make_shared<std::variant<std::shared_ptr<const CurlLibrary>, std::string>>();
  workers_.run([opened, name = name_] { *opened = CurlLibrary::open(name); }, lifetime_.bound([this, opened] {
    opening_ = hangs_ = false;
    if (auto* const library = std::get_if<0>(opened.get())) library_ = std::move(*library);
    tell(library_ ? std::string() : std::get<1>(*opened));
  }),
               deadline_, lifetime_.bound([this] {
                 hangs_ = true;
                 tell(slow_text());
               }));
}

void CurlOpening::tell(const std::string& trouble) {
  for (const Ready& each : std::exchange(waiting_, {})) each(trouble);
}

std::string CurlOpening::slow_text() const {
  return "opening libcurl takes longer than " + duration_text(deadline_) +
         ": the file system that it lies on does not answer";
}

}  // namespace plughost
