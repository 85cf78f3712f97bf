#include "treadle/view/Columns.h"

#include "llvm/Support/raw_ostream.h"

namespace treadle::view {
namespace {

constexpr size_t alignment = 8;

void align(std::string &bytes) {
  bytes.resize((bytes.size() + alignment - 1) / alignment * alignment);
}

/// Little-endian, like all machines that Treadle supports.
void append(std::string &bytes, uint32_t number) {
  bytes.append(reinterpret_cast<const char *>(&number), sizeof number);
}

} // namespace

std::string validText(llvm::StringRef text) {
  return llvm::json::isUTF8(text) ? text.str() : llvm::json::fixUTF8(text);
}

uint32_t Strings::number(llvm::StringRef text) {
  auto [entry, isNew] = known.try_emplace(text, static_cast<uint32_t>(ends.size()));
  if (isNew) {
    bytes += validText(text);
    ends.push_back(static_cast<uint32_t>(bytes.size()));
  }
  return entry->second;
}

std::string_view Strings::operator[](uint32_t number) const {
  uint32_t begin = number == 0 ? 0 : ends[number - 1];
  return std::string_view(bytes).substr(begin, ends[number] - begin);
}

void ColumnFile::add(llvm::StringRef name, const char *type, size_t length, const void *data,
                     size_t size) {
  align(body);
  columns.push_back({name.str(), type, body.size(), length});
  body.append(static_cast<const char *>(data), size);
}

void ColumnFile::add(const Strings &strings) {
  add("stringBytes", "u8", strings.bytes.size(), strings.bytes.data(), strings.bytes.size());
  add("stringEnds", strings.ends);
}

std::string ColumnFile::finish(llvm::function_ref<void(llvm::json::OStream &)> members) const {
  std::string header;
  llvm::raw_string_ostream out(header);
  llvm::json::OStream json(out);
  json.object([&] {
    members(json);
    json.attributeObject("columns", [&] {
      for (const Column &column : columns)
        json.attributeObject(column.name, [&] {
          json.attribute("type", column.type);
          json.attribute("begin", column.begin);
          json.attribute("length", column.length);
        });
    });
  });
  std::string bytes = "TRDLVIEW";
  append(bytes, 1);
  append(bytes, static_cast<uint32_t>(header.size()));
  bytes += header;
  align(bytes);
  return bytes + body;
}

} // namespace treadle::view
