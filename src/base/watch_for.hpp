#pragma once
// What is to be told of a directory's entries. A value.

namespace plughost {

enum class WatchFor {
  kEntries,   // they come and go
  kContents,  // and are written: whoever had one open for writing has closed it
};

}  // namespace plughost
