#pragma once
// A file that others read. Thread-safe; may hang with the file system.

#include <string>
#include <string_view>

namespace plughost {

// Whoever reads it sees the old text or the new one, and may, whatever the umask is. temporary: a path beside
// it that its readers do not look at; what lies there is removed. Throws std::system_error, and then the file
// is as it was.
void replace_file(const std::string& file, const std::string& temporary, std::string_view text);

}  // namespace plughost
