#include "collect/dump_head.h"

#include "record/json_writer.h"

namespace msprobe {
namespace {

/// "rank" becomes "rank1234567", or the name of a folder beside another process's.
constexpr std::size_t kRoomForRank = 24;

std::string FolderText(const std::string& tensor_folder) {
  std::string text;
  if (tensor_folder.empty()) {
    return "null";
  }
  AppendJsonString(text, tensor_folder);
  return text;
}

}  // namespace

std::string DumpHead::FolderValue(const std::string& tensor_folder) const {
  std::string value = FolderText(tensor_folder);
  if (value.size() > folder_room) {
    return {};
  }
  value.resize(folder_room, ' ');
  return value;
}

bool DumpHead::ReplaceFolder(const std::string& tensor_folder) {
  const std::string value = FolderValue(tensor_folder);
  if (!value.empty()) {
    text.replace(folder_begin, folder_room, value);
  }
  return !value.empty();
}

DumpHead MakeDumpHead(const DumpSettings& settings, Framework framework, const std::string& tensor_folder,
                      const ElementObject& extra, bool may_move) {
  DumpHead head;
  std::string& text = head.text;
  text = "{\n \"task\": ";
  AppendJsonString(text, settings.task_name);
  text += ",\n \"level\": ";
  AppendJsonString(text, settings.level_name);
  text += ",\n \"framework\": ";
  AppendJsonString(text, framework == Framework::kPyTorch ? "pytorch" : "mindspore");
  text += ",\n \"dump_data_dir\": ";
  head.folder_begin = text.size();
  text += FolderText(tensor_folder);
  if (may_move && !tensor_folder.empty()) {
    text.append(kRoomForRank, ' ');
  }
  head.folder_room = text.size() - head.folder_begin;
  for (const Member& member : extra) {
    text += ",\n ";
    AppendJsonString(text, member.key);
    text += ": ";
    AppendJson(text, member.value);
  }
  text += ",\n \"data\": {";
  return head;
}

}  // namespace msprobe
