// For tests: parses a scene as the page does.
#pragma once

#include "llvm/Support/JSON.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

namespace treadle::view {

class SceneReader {
public:
  explicit SceneReader(std::string given) : bytes(std::move(given)) {
    EXPECT_EQ(bytes.substr(0, 8), "TRDLVIEW");
    uint32_t size = number(12);
    auto parsed = llvm::json::parse(llvm::StringRef(bytes).substr(16, size));
    EXPECT_TRUE(bool(parsed)) << llvm::toString(parsed.takeError());
    if (parsed)
      header = *parsed->getAsObject();
    first = (16 + size + 7) / 8 * 8;
    uint32_t begin = 0;
    const char *texts = data("stringBytes");
    for (uint32_t end : column("stringEnds")) {
      strings.emplace_back(texts + begin, end - begin);
      begin = end;
    }
  }

  std::vector<uint32_t> column(llvm::StringRef name) const {
    const llvm::json::Object &about = *columns().getObject(name);
    std::vector<uint32_t> out;
    bool isByte = about.getString("type") == "u8";
    for (int64_t i = 0; i < about.getInteger("length"); ++i)
      out.push_back(isByte ? static_cast<unsigned char>(data(name)[i]) : read(data(name) + 4 * i));
    return out;
  }

  /// Returns the strings whose indices a column contains.
  std::vector<std::string> texts(llvm::StringRef name) const {
    std::vector<std::string> out;
    for (uint32_t text : column(name))
      out.push_back(strings.at(text));
    return out;
  }

  /// Returns the first node of that name.
  uint32_t node(llvm::StringRef name) const {
    auto names = texts("nodeName");
    return static_cast<uint32_t>(std::ranges::find(names, name) - names.begin());
  }

  /// Returns `from -kind-> to`, by name, for all edges into a node.
  std::vector<std::string> edgesInto(llvm::StringRef name) const {
    constexpr const char *kinds[] = {"data", "control", "back", "soft", "chain"};
    auto names = texts("nodeName");
    auto begin = column("inBegin"), from = column("edgeFrom"), kind = column("edgeKind");
    std::vector<std::string> out;
    for (uint32_t edge = begin[node(name)]; edge < begin[node(name) + 1]; ++edge)
      out.push_back(names[from[edge]] + " " + kinds[kind[edge]]);
    return out;
  }

  llvm::json::Object header;
  std::vector<std::string> strings;

private:
  const llvm::json::Object &columns() const { return *header.getObject("columns"); }
  const char *data(llvm::StringRef name) const {
    return bytes.data() + first + *columns().getObject(name)->getInteger("begin");
  }
  uint32_t number(size_t at) const { return read(bytes.data() + at); }
  static uint32_t read(const char *at) {
    uint32_t out = 0;
    std::memcpy(&out, at, sizeof out);
    return out;
  }

  std::string bytes;
  size_t first = 0;
};

} // namespace treadle::view
