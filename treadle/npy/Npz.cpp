// Zip archives. Only the central directory is trusted; every offset and size in it is checked
// against the file before it is used.
#include "treadle/npy/Npz.h"

#include <algorithm>
#include <cstring>

#include <zlib.h>

namespace treadle {
namespace {

constexpr uint32_t localSignature = 0x04034b50, centralSignature = 0x02014b50,
                   endSignature = 0x06054b50, end64Signature = 0x06064b50;
constexpr size_t localSize = 30, centralSize = 46, endSize = 22, end64Size = 56,
                 end64LocatorSize = 20;
enum Method : uint16_t { Stored = 0, Deflated = 8 };

uint64_t get(std::string_view bytes, size_t at, size_t count) {
  uint64_t number = 0;
  for (size_t i = 0; i < count; ++i)
    number |= uint64_t(static_cast<unsigned char>(bytes[at + i])) << (8 * i);
  return number;
}

void put(std::string &out, uint64_t number, size_t count) {
  for (size_t i = 0; i < count; ++i)
    out += static_cast<char>(number >> (8 * i));
}

bool fits(std::string_view bytes, uint64_t at, uint64_t count) {
  return at <= bytes.size() && count <= bytes.size() - at;
}

Error damaged(const char *what) { return invalidArgument("npz archive is corrupted: ", what); }

/// The extra field has the 64-bit values of those sizes and offsets that are saturated, in order.
void readExtra64(std::string_view extra, std::initializer_list<uint64_t *> numbers) {
  while (extra.size() >= 4) {
    size_t id = get(extra, 0, 2), size = get(extra, 2, 2);
    std::string_view field = extra.substr(4, size);
    extra.remove_prefix(std::min(extra.size(), 4 + size));
    if (id != 1)
      continue;
    for (uint64_t *number : numbers)
      if (*number == 0xffffffff && field.size() >= 8) {
        *number = get(field, 0, 8);
        field.remove_prefix(8);
      }
  }
}

uint32_t checksum(std::string_view bytes) {
  uLong crc = crc32(0, nullptr, 0);
  while (!bytes.empty()) {
    size_t part = std::min<size_t>(bytes.size(), 1 << 30);
    crc = crc32(crc, reinterpret_cast<const Bytef *>(bytes.data()), static_cast<uInt>(part));
    bytes.remove_prefix(part);
  }
  return static_cast<uint32_t>(crc);
}

Expected<std::string> inflateBytes(std::string_view packed, uint64_t size) {
  // Deflate compresses at most about 1032 to 1: don't allocate for larger sizes.
  if (size / 1032 > packed.size() + 1)
    return Unexpected(damaged("an array declares more bytes than its compressed data can hold"));
  if (packed.size() > UINT32_MAX || size > UINT32_MAX)
    return Unexpected(unimplemented("npz archive: a compressed array of more than 4 GiB"));
  std::string out(size, '\0');
  z_stream stream = {};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK)
    return Unexpected(resourceExhausted("npz archive: not enough memory to decompress an array"));
  stream.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef *>(out.data());
  stream.avail_out = static_cast<uInt>(size);
  int status = inflate(&stream, Z_FINISH);
  inflateEnd(&stream);
  if (status != Z_STREAM_END || stream.total_out != size)
    return Unexpected(damaged("an array does not decompress to its declared size"));
  return out;
}

} // namespace

Expected<NpzFile> NpzFile::open(const std::string &path) {
  std::string bytes = TREADLE_TRY(readFileBytes(path));
  Expected<NpzFile> file = fromBytes(std::move(bytes));
  if (!file)
    file.error().message = str("'", path, "': ", file.error().message);
  return file;
}

Expected<NpzFile> NpzFile::fromBytes(std::string bytes) {
  NpzFile file;
  file.bytes = std::move(bytes);
  Expected<void> done = file.readDirectory();
  if (!done)
    return Unexpected(std::move(done.error()));
  return file;
}

Expected<void> NpzFile::readDirectory() {
  char signature[4] = {'P', 'K', 5, 6};
  size_t end = bytes.rfind(std::string_view(signature, 4));
  if (end == bytes.npos || !fits(bytes, end, endSize))
    return Unexpected(invalidArgument("not an npz archive: it has no zip directory"));
  uint64_t count = get(bytes, end + 10, 2), at = get(bytes, end + 16, 4);
  if ((count == 0xffff || at == 0xffffffff) && end >= end64LocatorSize) {
    uint64_t end64 = get(bytes, end - end64LocatorSize + 8, 8);
    if (!fits(bytes, end64, end64Size) || get(bytes, end64, 4) != end64Signature)
      return Unexpected(damaged("its 64-bit directory is not at the declared offset"));
    count = get(bytes, end64 + 32, 8), at = get(bytes, end64 + 48, 8);
  }
  for (uint64_t i = 0; i < count; ++i) {
    Entry entry = TREADLE_TRY(readEntry(at));
    entries.push_back(std::move(entry));
  }
  return {};
}

Expected<NpzFile::Entry> NpzFile::readEntry(size_t &at) const {
  if (!fits(bytes, at, centralSize) || get(bytes, at, 4) != centralSignature)
    return Unexpected(damaged("its directory is truncated"));
  size_t nameSize = get(bytes, at + 28, 2), extraSize = get(bytes, at + 30, 2),
         commentSize = get(bytes, at + 32, 2);
  if (!fits(bytes, at + centralSize, nameSize + extraSize + commentSize))
    return Unexpected(damaged("its directory is truncated"));
  if (get(bytes, at + 8, 2) & 1)
    return Unexpected(unimplemented("npz archive: encrypted"));
  Entry entry;
  entry.method = static_cast<uint16_t>(get(bytes, at + 10, 2));
  entry.crc = static_cast<uint32_t>(get(bytes, at + 16, 4));
  entry.packedSize = get(bytes, at + 20, 4), entry.size = get(bytes, at + 24, 4);
  entry.offset = get(bytes, at + 42, 4);
  entry.name = bytes.substr(at + centralSize, nameSize);
  readExtra64(std::string_view(bytes).substr(at + centralSize + nameSize, extraSize),
              {&entry.size, &entry.packedSize, &entry.offset});
  at += centralSize + nameSize + extraSize + commentSize;
  if (entry.name.ends_with(".npy"))
    entry.name.resize(entry.name.size() - 4);
  return entry;
}

Expected<std::string> NpzFile::unpack(const Entry &entry) const {
  if (!fits(bytes, entry.offset, localSize) || get(bytes, entry.offset, 4) != localSignature)
    return Unexpected(damaged("an array is not at the offset in the directory"));
  uint64_t start = entry.offset + localSize + get(bytes, entry.offset + 26, 2) +
                   get(bytes, entry.offset + 28, 2);
  if (!fits(bytes, start, entry.packedSize))
    return Unexpected(damaged("an array is truncated"));
  std::string_view packed = std::string_view(bytes).substr(start, entry.packedSize);
  if (entry.method != Stored && entry.method != Deflated)
    return Unexpected(unimplemented("npz archive: compression method ", entry.method,
                                    ", expected stored or deflate"));
  if (entry.method == Stored && entry.size != entry.packedSize)
    return Unexpected(damaged("the two sizes of an uncompressed array differ"));
  Expected<std::string> content =
      entry.method == Deflated ? inflateBytes(packed, entry.size) : std::string(packed);
  if (content && checksum(*content) != entry.crc)
    return Unexpected(damaged("an array's checksum is wrong"));
  return content;
}

std::vector<std::string> NpzFile::names() const {
  std::vector<std::string> out;
  out.reserve(entries.size());
  for (const Entry &entry : entries)
    out.push_back(entry.name);
  return out;
}

bool NpzFile::has(std::string_view name) const {
  return std::any_of(entries.begin(), entries.end(),
                     [&](const Entry &entry) { return entry.name == name; });
}

Expected<Tensor> NpzFile::read(std::string_view name, DType expected) const {
  for (const Entry &entry : entries) {
    if (entry.name != name)
      continue;
    Expected<Tensor> tensor = unpack(entry).and_then(
        [&](const std::string &content) { return readNpy(content, expected); });
    if (!tensor)
      tensor.error().message = str("array '", name, "': ", tensor.error().message);
    return tensor;
  }
  return Unexpected(notFound("array '", name, "' is not in the npz archive"));
}

/// The fields that local header and directory share, from the version needed to the extra field's
/// size.
static std::string commonHeader(const std::string &name, const std::string &content) {
  std::string out;
  put(out, 20, 2);    // version needed
  put(out, 0x800, 2); // names are UTF-8
  put(out, Stored, 2);
  put(out, 0, 2);    // no time: equal arrays give equal files
  put(out, 0x21, 2); // 1980-01-01
  put(out, checksum(content), 4);
  put(out, content.size(), 4);
  put(out, content.size(), 4);
  put(out, name.size(), 2);
  put(out, 0, 2);
  return out;
}

Expected<std::string> writeNpz(const NamedTensors &arrays) {
  std::string out, directory;
  for (const auto &[key, tensor] : arrays) {
    Expected<std::string> content = writeNpy(tensor);
    if (!content) {
      content.error().message = str("array '", key, "': ", content.error().message);
      return content;
    }
    if (out.size() + content->size() + key.size() + 100 > UINT32_MAX)
      return Unexpected(unimplemented("an npz archive of more than 4 GiB cannot be written"));
    std::string name = key + ".npy", header = commonHeader(name, *content);
    put(directory, centralSignature, 4);
    put(directory, 20, 2); // made by
    directory += header;
    directory.append(10, '\0'); // no comment, one disk, no attributes
    put(directory, out.size(), 4);
    directory += name;
    put(out, localSignature, 4);
    out += header + name + *content;
  }
  size_t start = out.size();
  out += directory;
  put(out, endSignature, 4);
  put(out, 0, 4);
  put(out, arrays.size(), 2);
  put(out, arrays.size(), 2);
  put(out, directory.size(), 4);
  put(out, start, 4);
  put(out, 0, 2);
  return out;
}

} // namespace treadle
