#pragma once

#include <cstdint>
#include <string>

#include "config/dump_settings.h"
#include "record/element.h"

namespace msprobe {

/// What stands before the records of dump.json and debug.json, up to and with `"data": {`.
struct DumpHead {
  std::string text;
  /// Where the value of dump_data_dir stands, and how long it may be: room is left for a rank that becomes known later.
  std::uint64_t folder_begin = 0;
  std::size_t folder_room = 0;

  /// The value for `tensor_folder`, filled up with blanks; empty if there is no room for it.
  std::string FolderValue(const std::string& tensor_folder) const;
  /// Puts the value into the text; false if there is no room for it.
  bool ReplaceFolder(const std::string& tensor_folder);
};

/// `tensor_folder`: empty for none. `extra`: further keys before "data" (decisions 34). `may_move`: leaves room.
DumpHead MakeDumpHead(const DumpSettings& settings, Framework framework, const std::string& tensor_folder,
                      const ElementObject& extra, bool may_move);

}  // namespace msprobe
