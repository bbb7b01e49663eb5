#pragma once
// Descriptors 0, 1 and 2. To be called before anything else.

namespace plughost {

// Whoever starts us may have closed some of them: they become /dev/null, lest the next file that is opened is
// taken for standard error.
void open_standard_files();

}  // namespace plughost
