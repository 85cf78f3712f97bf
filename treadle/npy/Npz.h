// numpy's .npz format: a zip archive of .npy files.
#pragma once

#include "treadle/npy/Npy.h"

#include <utility>
#include <vector>

namespace treadle {

/// An archive that was read into memory; arrays are unpacked when asked for.
class NpzFile {
public:
  /// InvalidArgument if the bytes are no zip archive, or a damaged one.
  static Expected<NpzFile> open(const std::string &path);
  static Expected<NpzFile> fromBytes(std::string bytes);

  /// The arrays' names, without `.npy`, in the order of the archive.
  std::vector<std::string> names() const;
  bool has(std::string_view name) const;
  /// NotFound if there is no array of that name; else as readNpy.
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

/// An archive of these arrays, uncompressed, as numpy.savez writes it.
Expected<std::string> writeNpz(const NamedTensors &arrays);

} // namespace treadle
