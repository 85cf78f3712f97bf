#include "treadle/checkpoint/Table.h"

#include "treadle/checkpoint/Crc32c.h"
#include "treadle/tensor/Wire.h"

#include <algorithm>

namespace treadle {
namespace {

constexpr uint64_t magic = 0xdb4775248b80fb57;
constexpr size_t handlesSize = 40, footerSize = handlesSize + 8, trailerSize = 5;
constexpr size_t blockSize = 256 << 10;
enum Compression : unsigned char { None = 0, Snappy = 1 };

// --- reading -----------------------------------------------------------------------------------

Error damaged(std::string_view what) { return dataLoss("the table is corrupted: ", what); }

/// Returns the block at the next handle in `handles`, after checking that it is within the file.
Expected<std::string_view> readBlock(std::string_view file, WireReader &handles) {
  uint64_t offset = handles.varint(), size = handles.varint();
  if (!handles.isGood())
    return Unexpected(damaged("a block handle can't be read"));
  if (offset > file.size() || size > file.size() - offset ||
      file.size() - offset - size < trailerSize)
    return Unexpected(damaged(str("a block of ", size, " bytes is at offset ", offset,
                                  ", but there are ", file.size(), " bytes; is it truncated?")));
  std::string_view block = file.substr(offset, size + 1);
  if (maskCrc(crc32c(block)) != fixedAt<uint32_t>(file, offset + size + 1))
    return Unexpected(damaged(str("the block at ", offset, " doesn't match its checksum")));
  auto compression = static_cast<unsigned char>(block.back());
  if (compression == Snappy)
    return Unexpected(unimplemented("the table is compressed with Snappy, which is not supported; "
                                    "write it without compression"));
  if (compression != None)
    return Unexpected(damaged(str("compression ", int{compression}, " is unknown")));
  return block.substr(0, size);
}

/// Calls `visit(key, value)` for each row of a block until it returns an error.
template <typename Visit> Expected<void> forEachRow(std::string_view block, Visit visit) {
  if (block.size() < sizeof(uint32_t))
    return Unexpected(damaged("a block is empty"));
  uint64_t restarts = fixedAt<uint32_t>(block, block.size() - sizeof(uint32_t));
  if ((restarts + 1) * sizeof(uint32_t) > block.size())
    return Unexpected(damaged("the restart points of a block are outside of it"));
  WireReader reader(block.substr(0, block.size() - (restarts + 1) * sizeof(uint32_t)));
  std::string key;
  while (!reader.isAtEnd()) {
    uint64_t shared = reader.varint(), unshared = reader.varint(), size = reader.varint();
    std::string_view rest = reader.bytes(unshared), value = reader.bytes(size);
    if (!reader.isGood() || shared > key.size())
      return Unexpected(damaged("an entry can't be read"));
    key.resize(shared);
    key += rest;
    TREADLE_TRY(visit(key, value));
  }
  if (!reader.isGood())
    return Unexpected(damaged("an entry can't be read"));
  return {};
}

// --- writing -----------------------------------------------------------------------------------

/// Returns a short key that is >= `key` and < `limit`, which must be > `key`.
std::string separator(std::string key, std::string_view limit) {
  size_t shared = static_cast<size_t>(std::ranges::mismatch(key, limit).in1 - key.begin());
  if (shared >= std::min(key.size(), limit.size()))
    return key;
  auto byte = static_cast<unsigned char>(key[shared]);
  if (byte < 0xff && byte + 1 < static_cast<unsigned char>(limit[shared])) {
    key[shared] = static_cast<char>(byte + 1);
    key.resize(shared + 1);
  }
  return key;
}

/// Returns a short key that is >= `key`.
std::string successor(std::string key) {
  size_t at = key.find_first_not_of('\xff');
  if (at == key.npos)
    return key;
  key[at] = static_cast<char>(key[at] + 1);
  key.resize(at + 1);
  return key;
}

} // namespace

Expected<TableRows> readTable(std::string_view bytes) {
  if (bytes.size() < footerSize)
    return Unexpected(damaged(str("it has ", bytes.size(),
                                  " bytes, less than its footer; is it "
                                  "truncated?")));
  std::string_view footer = bytes.substr(bytes.size() - footerSize);
  if (fixedAt<uint64_t>(footer, handlesSize) != magic)
    return Unexpected(damaged("it doesn't end with the table's magic number; is it truncated?"));
  WireReader handles(footer.substr(0, handlesSize));
  handles.varint(), handles.varint(); // the metadata block is unused
  std::string_view index = TREADLE_TRY(readBlock(bytes, handles));
  TableRows rows;
  // Keys share prefixes, so that few bytes could expand to many: limit the ratio.
  constexpr size_t maxExpansion = 256;
  size_t keysLeft = maxExpansion * bytes.size();
  const char *end = bytes.data(); // end of the blocks read so far
  Expected<void> done = forEachRow(index, [&](std::string_view, std::string_view handle) {
    WireReader reader(handle);
    return readBlock(bytes, reader).and_then([&](std::string_view block) -> Expected<void> {
      if (block.data() < std::exchange(end, block.data() + block.size()))
        return Unexpected(damaged("its blocks are out of order"));
      return forEachRow(block, [&](std::string_view key, std::string_view value) -> Expected<void> {
        if (!rows.empty() && rows.back().first >= key)
          return Unexpected(damaged("its keys are out of order"));
        if (key.size() > keysLeft)
          return Unexpected(damaged("its keys are implausibly long"));
        keysLeft -= key.size();
        rows.emplace_back(key, value);
        return {};
      });
    });
  });
  if (!done)
    return Unexpected(std::move(done.error()));
  return rows;
}

void TableBuilder::Block::add(std::string_view key, std::string_view value) {
  size_t shared = 0;
  if (sinceRestart < restartInterval) {
    shared = static_cast<size_t>(std::ranges::mismatch(lastKey, key).in1 - lastKey.begin());
  } else {
    restarts.push_back(static_cast<uint32_t>(bytes.size()));
    sinceRestart = 0;
  }
  putVarint(bytes, shared);
  putVarint(bytes, key.size() - shared);
  putVarint(bytes, value.size());
  bytes += key.substr(shared);
  bytes += value;
  lastKey = key;
  ++sinceRestart;
}

std::string TableBuilder::Block::take() {
  for (uint32_t restart : restarts)
    putFixed(bytes, restart);
  putFixed(bytes, static_cast<uint32_t>(restarts.size()));
  restarts = {0};
  sinceRestart = 0;
  lastKey.clear();
  return std::exchange(bytes, {});
}

std::string TableBuilder::write(Block &block) {
  std::string bytes = block.take();
  std::string handle;
  putVarint(handle, out.size());
  putVarint(handle, bytes.size());
  bytes += static_cast<char>(None);
  out += bytes;
  putFixed(out, maskCrc(crc32c(bytes)));
  return handle;
}

void TableBuilder::endDataBlock() {
  if (!data.isEmpty())
    pendingHandle = write(data);
}

void TableBuilder::add(std::string_view key, std::string_view value) {
  if (!pendingHandle.empty())
    index.add(separator(lastKey, key), std::exchange(pendingHandle, {}));
  lastKey = key;
  data.add(key, value);
  if (data.size() >= blockSize)
    endDataBlock();
}

std::string TableBuilder::finish() {
  endDataBlock();
  Block metadata(16);
  std::string handles = write(metadata);
  if (!pendingHandle.empty())
    index.add(successor(lastKey), std::exchange(pendingHandle, {}));
  handles += write(index);
  handles.resize(handlesSize);
  out += handles;
  putFixed(out, magic);
  return std::move(out);
}

} // namespace treadle
