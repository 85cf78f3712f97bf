// Sorted tables of keys and values in one file: the format of LevelDB's tables, which checkpoints
// are indexed by.
//
// A file is a sequence of blocks, each followed by a byte for its compression and the masked
// CRC-32C of both; an index block that gives the place of each data block by a key not below its
// last; an empty block for metadata; and a footer of 48 bytes. In a block, keys share prefixes with
// the key before, except at restart points, whose offsets end the block.
#pragma once

#include "treadle/tensor/Error.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace treadle {

using TableRows = std::vector<std::pair<std::string, std::string>>;

/// All rows of a table, in order. DataLoss for a table that is truncated, damaged or out of order;
/// Unimplemented for compressed blocks.
Expected<TableRows> readTable(std::string_view bytes);

/// Builds a table from rows that are added in order. The bytes are those of TensorFlow's writer
/// with its default options and no compression.
class TableBuilder {
public:
  /// `key` must be above all keys before.
  void add(std::string_view key, std::string_view value);
  /// The whole table; nothing may be added afterwards.
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

  std::string write(Block &block); // gives the block's handle
  void endDataBlock();

  std::string out;
  std::string lastKey;
  std::string pendingHandle; // of a data block that the index doesn't know yet
  Block data{16}, index{1};
};

} // namespace treadle
