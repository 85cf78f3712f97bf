// Sorted tables of keys and values in one file: LevelDB's table format, used for checkpoint
// indices.
//
// A file is a sequence of data blocks, each followed by a byte for its compression and the masked
// CRC-32C of both; an empty metadata block; an index block that maps a key not below each data
// block's last key to the block's position; and a footer of 48 bytes. In a block, keys share
// prefixes with the key before, except at restart points, whose offsets end the block.
#pragma once

#include "treadle/tensor/Error.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace treadle {

using TableRows = std::vector<std::pair<std::string, std::string>>;

/// Parses all rows of a table, in order. DataLoss for a table that is truncated, corrupted or out
/// of order; Unimplemented for compressed blocks.
Expected<TableRows> readTable(std::string_view bytes);

/// Builds a table from rows that are added in order. The bytes equal those of TensorFlow's writer
/// with default options and no compression.
class TableBuilder {
public:
  /// `key` must be greater than all earlier keys.
  void add(std::string_view key, std::string_view value);
  /// Returns the whole table; nothing may be added afterwards.
  std::string finish();

private:
  class Block {
  public:
    explicit Block(int restartInterval) : restartInterval(restartInterval) {}
    void add(std::string_view key, std::string_view value);
    bool isEmpty() const { return bytes.empty(); }
    size_t size() const { return bytes.size() + (restarts.size() + 1) * sizeof(uint32_t); }
    std::string take();

  private:
    const int restartInterval;
    std::string bytes, lastKey;
    std::vector<uint32_t> restarts{0};
    int sinceRestart = 0;
  };

  std::string write(Block &block); // returns the block's handle
  void endDataBlock();

  std::string out;
  std::string lastKey;
  std::string pendingHandle; // of a data block that isn't in the index yet
  Block data{16}, index{1};
};

} // namespace treadle
