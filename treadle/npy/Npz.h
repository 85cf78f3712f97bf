// numpy's .npz format: a zip archive of .npy files.
#pragma once

#include "treadle/npy/Npy.h"

#include <utility>
#include <vector>

namespace treadle {

/// An archive in memory; arrays are decompressed on request.
class NpzFile {
public:
  /// Reads an archive. InvalidArgument if it isn't a zip archive, or is corrupted.
  static Expected<NpzFile> open(const std::string &path);
  static Expected<NpzFile> fromBytes(std::string bytes);

  /// Returns the arrays' names, without `.npy`, in archive order.
  std::vector<std::string> names() const;
  bool has(std::string_view name) const;
  /// Returns an array. NotFound if there is none of that name; other errors as of readNpy.
  Expected<Tensor> read(std::string_view name, DType expected = DType::Invalid) const;

private:
  struct Entry {
    std::string name;
    uint64_t offset, packedSize, size;
    uint32_t crc;
    uint16_t method;
  };
  Expected<void> readDirectory();
  Expected<Entry> readEntry(size_t &at) const;
  Expected<std::string> unpack(const Entry &entry) const;

  std::string bytes;
  std::vector<Entry> entries;
};

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

/// Serializes an uncompressed archive, as numpy.savez writes it.
Expected<std::string> writeNpz(const NamedTensors &arrays);

} // namespace treadle
