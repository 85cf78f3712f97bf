// Reads and writes .npy files. Sizes in a header are checked against the number of bytes before
// anything is allocated.
#include "treadle/npy/Npy.h"

#include "treadle/npy/Pickle.h"

#include <unicode/utf8.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <limits>
#include <memory>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace treadle {
namespace {

constexpr std::string_view magic = "\x93NUMPY";

struct Header {
  char order = '|', kind = 0;
  int64_t size = 0; // of an element in bytes; for `U` in characters
  bool isFortran = false;
  std::vector<int64_t> dims;
  size_t dataStart = 0;
};

Error malformed(std::string_view what) { return invalidArgument("npy file: ", what); }

/// Returns the text after `'key':` in the header's dictionary.
std::optional<std::string_view> valueOf(std::string_view text, std::string_view key) {
  size_t at = text.find(str("'", key, "'"));
  if (at == text.npos)
    return std::nullopt;
  text.remove_prefix(at + key.size() + 2);
  size_t start = text.find_first_not_of(": ");
  return start == text.npos ? std::nullopt : std::optional(text.substr(start));
}

Expected<std::vector<int64_t>> parseShape(std::string_view text) {
  std::vector<int64_t> dims;
  const char *at = text.data(), *end = at + text.size();
  if (at == end || *at != '(')
    return Unexpected(malformed("its header has no shape"));
  ++at;
  while (at != end && *at != ')') {
    if (*at == ' ' || *at == ',') {
      ++at;
      continue;
    }
    int64_t dim = 0;
    auto [next, failure] = std::from_chars(at, end, dim);
    if (failure != std::errc() || dim < 0 || dims.size() == 32)
      return Unexpected(malformed("its header's shape is not a list of up to 32 sizes"));
    dims.push_back(dim);
    at = next == end || *next != 'L' ? next : next + 1; // Python 2 wrote 3L
  }
  if (at == end)
    return Unexpected(malformed("its header's shape is not closed"));
  return dims;
}

Expected<void> parseDescr(std::string_view text, Header &header) {
  if (text.empty() || text[0] != '\'')
    return Unexpected(unimplemented("npy file: structured arrays; expected a plain element type"));
  text = text.substr(1, text.find('\'', 1) - 1);
  if (!text.empty() && std::string_view("<>|=").find(text[0]) != text.npos) {
    header.order = text[0];
    text.remove_prefix(1);
  }
  if (text.empty())
    return Unexpected(malformed("its header has no element type"));
  header.kind = text[0];
  text.remove_prefix(1);
  auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), header.size);
  bool isWhole = failure == std::errc() && end == text.data() + text.size() && header.size >= 0;
  if (header.kind != 'O' && !isWhole)
    return Unexpected(unimplemented("npy file: element type '", header.kind, text, "'"));
  return {};
}

Expected<Header> parseHeader(std::string_view bytes) {
  if (!bytes.starts_with(magic) || bytes.size() < 10)
    return Unexpected(malformed("it does not start like one"));
  auto byte = [&](size_t i) { return size_t(static_cast<unsigned char>(bytes[i])); };
  size_t version = byte(6), length = byte(8) | byte(9) << 8, start = 10;
  if (version < 1 || version > 3)
    return Unexpected(unimplemented("npy file: version ", version, ", expected 1, 2 or 3"));
  if (version > 1) {
    if (bytes.size() < 12)
      return Unexpected(malformed("its header is truncated"));
    length |= byte(10) << 16 | byte(11) << 24, start = 12;
  }
  if (length > bytes.size() - start)
    return Unexpected(malformed("its header is truncated"));
  std::string_view text = bytes.substr(start, length);
  auto descr = valueOf(text, "descr"), order = valueOf(text, "fortran_order"),
       shape = valueOf(text, "shape");
  if (!descr || !order || !shape)
    return Unexpected(malformed("its header lacks descr, fortran_order or shape"));
  Header header;
  header.dataStart = start + length;
  header.isFortran = order->starts_with("True");
  std::vector<int64_t> dims = TREADLE_TRY(parseShape(*shape));
  header.dims = std::move(dims);
  Expected<void> done = parseDescr(*descr, header);
  if (!done)
    return Unexpected(std::move(done.error()));
  return header;
}

struct DTypeRow {
  char kind;
  int64_t size;
  DType dtype;
};
// Dtypes with numpy names. Other dtypes are stored under the first name of their size and kind, or
// as plain bytes (`V`).
constexpr DTypeRow dtypeRows[] = {
    {'b', 1, DType::Bool},      {'i', 1, DType::Int8},        {'i', 2, DType::Int16},
    {'i', 4, DType::Int32},     {'i', 8, DType::Int64},       {'u', 1, DType::UInt8},
    {'u', 2, DType::UInt16},    {'u', 4, DType::UInt32},      {'u', 8, DType::UInt64},
    {'f', 2, DType::Float16},   {'f', 4, DType::Float32},     {'f', 8, DType::Float64},
    {'c', 8, DType::Complex64}, {'c', 16, DType::Complex128},
};

Expected<DType> dtypeOf(const Header &header, DType expected) {
  for (const DTypeRow &row : dtypeRows)
    if (row.kind == header.kind && row.size == header.size)
      return row.dtype;
  bool isKnown = expected != DType::Invalid && isPlain(expected) &&
                 dtypeSize(expected) == static_cast<size_t>(header.size);
  if ((header.kind == 'V' || header.kind == 'f') && isKnown)
    return expected;
  std::string name = str(header.kind, header.size);
  return Unexpected(unimplemented("npy file: elements of type '", name, "'",
                                  header.kind == 'V' ? ", whose dtype isn't stored" : ""));
}

/// Maps indices in C order to positions in a Fortran-ordered array; the identity for other arrays.
class SourceIndex {
public:
  SourceIndex(const Header &header) : dims(header.dims), isFortran(header.isFortran) {}
  int64_t operator()(int64_t i) const {
    if (!isFortran)
      return i;
    int64_t stride = 1, source = 0;
    std::array<int64_t, 32> index{};
    for (size_t d = dims.size(); d-- > 0; i /= dims[d])
      index[d] = i % dims[d];
    for (size_t d = 0; d < dims.size(); stride *= dims[d++])
      source += index[d] * stride;
    return source;
  }

private:
  const std::vector<int64_t> &dims;
  bool isFortran;
};

void swapBytes(char *data, int64_t count, size_t size) {
  for (int64_t i = 0; i < count; ++i, data += size)
    std::reverse(data, data + size);
}

Expected<Tensor> readPlain(const Header &header, std::string_view data, DType dtype) {
  size_t size = dtypeSize(dtype);
  return Tensor::make(dtype, header.dims).map([&](Tensor tensor) {
    char *out = static_cast<char *>(tensor.raw());
    SourceIndex source(header);
    if (!header.isFortran && tensor.count())
      std::memcpy(out, data.data(), tensor.bytes());
    else
      for (int64_t i = 0; i < tensor.count(); ++i)
        std::memcpy(out + i * size, data.data() + source(i) * size, size);
    if (dtype == DType::Bool) // other bytes aren't valid bools
      std::transform(out, out + tensor.count(), out, [](char byte) { return byte != 0; });
    int parts = isComplex(dtype) ? 2 : 1;
    if (header.order == '>')
      swapBytes(out, tensor.count() * parts, size / parts);
    return tensor;
  });
}

/// Returns one element of `S` or `U` without its zero padding.
Expected<std::string> withoutPadding(const Header &header, std::string_view element) {
  std::string out;
  if (header.kind == 'S')
    return std::string(element.substr(0, element.find_last_not_of('\0') + 1));
  std::vector<uint32_t> points(element.size() / 4);
  for (size_t i = 0; i < points.size(); ++i)
    for (size_t b = 0; b < 4; ++b)
      points[i] |= uint32_t(static_cast<unsigned char>(element[i * 4 + b]))
                   << 8 * (header.order == '>' ? 3 - b : b);
  while (!points.empty() && !points.back())
    points.pop_back();
  for (uint32_t point : points) {
    char bytes[U8_MAX_LENGTH];
    int32_t size = 0;
    UBool isWrong = false;
    U8_APPEND(bytes, size, U8_MAX_LENGTH, point, isWrong);
    if (isWrong)
      return Unexpected(
          malformed(str("a string holds ", point, ", which is not a Unicode code point")));
    out.append(bytes, static_cast<size_t>(size));
  }
  return out;
}

Expected<Tensor> readObjects(const Header &header, std::string_view data, int64_t count) {
  std::vector<std::string> texts = TREADLE_TRY(readPickledStrings(data));
  if (texts.size() != static_cast<size_t>(count))
    return Unexpected(
        malformed(str("its shape needs ", count, " elements, but the file has ", texts.size())));
  return Tensor::make(DType::String, header.dims).map([&](Tensor tensor) {
    SourceIndex source(header);
    for (int64_t i = 0; i < count; ++i)
      tensor.data<std::string>()[i] = texts[source(i)];
    return tensor;
  });
}

} // namespace

Expected<Tensor> readNpy(std::string_view bytes, DType expected) {
  Header header = TREADLE_TRY(parseHeader(bytes));
  std::optional<int64_t> count = countElements(header.dims);
  if (!count)
    return Unexpected(malformed("its shape overflows"));
  std::string_view data = bytes.substr(header.dataStart);
  if (header.kind == 'O')
    return readObjects(header, data, *count);
  int64_t size = header.kind == 'U' ? 4 : 1, total = 0;
  if (__builtin_mul_overflow(size, header.size, &size) ||
      __builtin_mul_overflow(size, *count, &total) || static_cast<uint64_t>(total) > data.size())
    return Unexpected(malformed(str("its shape ", dimsText(header.dims),
                                    " needs more bytes than the ", data.size(), " in the file")));
  if (header.kind != 'S' && header.kind != 'U')
    return dtypeOf(header, expected).and_then([&](DType dtype) {
      return readPlain(header, data, dtype);
    });
  // Empty strings take no bytes in the file, but memory here.
  if (size == 0 && *count > int64_t(1) << 20)
    return Unexpected(malformed("it has implausibly many empty strings"));
  Expected<Tensor> tensor = Tensor::make(DType::String, header.dims);
  SourceIndex source(header);
  for (int64_t i = 0; tensor && i < *count; ++i) {
    auto text = TREADLE_TRY(withoutPadding(header, data.substr(source(i) * size, size)));
    tensor->data<std::string>()[i] = std::move(text);
  }
  return tensor;
}

static Expected<size_t> widestString(const Tensor &tensor) {
  size_t width = 1;
  for (const std::string &text : tensor.values<std::string>()) {
    if (text.ends_with('\0'))
      return Unexpected(invalidArgument(
          "a string ends in a zero byte, which a .npy file of bytes cannot represent"));
    width = std::max(width, text.size());
  }
  return width;
}

static std::string descrOf(DType dtype, size_t width) {
  if (dtype == DType::String)
    return str("|S", width);
  for (const DTypeRow &row : dtypeRows)
    if (row.dtype == dtype)
      return str(row.size == 1 ? '|' : '<', row.kind, row.size);
  return str("|V", dtypeSize(dtype));
}

Expected<std::string> writeNpy(const Tensor &tensor) {
  DType dtype = tensor.dtype();
  if (!isPlain(dtype) && dtype != DType::String)
    return Unexpected(invalidArgument("a ", dtypeName(dtype), " cannot be stored in a .npy file"));
  size_t width = 0;
  if (dtype == DType::String) {
    size_t widest = TREADLE_TRY(widestString(tensor));
    width = widest;
  }
  std::string shape;
  for (int64_t dim : tensor.dims())
    shape += str(dim, tensor.rank() == 1 ? "," : ", ");
  if (tensor.rank() > 1)
    shape.resize(shape.size() - 2);
  std::string header = str("{'descr': '", descrOf(dtype, width),
                           "', 'fortran_order': False, 'shape': (", shape, "), }");
  header.append(63 - (header.size() + 10) % 64, ' ').push_back('\n');
  std::string out = str(magic, '\1', '\0', static_cast<char>(header.size() & 255),
                        static_cast<char>(header.size() >> 8), header);
  if (dtype != DType::String)
    return out.append(static_cast<const char *>(tensor.raw()), tensor.bytes());
  for (const std::string &text : tensor.values<std::string>())
    out.append(text).append(width - text.size(), '\0');
  return out;
}

// ---- files

static Error systemError(const std::string &path, const char *what) {
  int number = errno;
  std::string message = str("'", path, "': ", what, ": ", std::strerror(number));
  return number == ENOENT || number == ENOTDIR ? notFound(message)
         : number == EACCES                    ? permissionDenied(message)
                                               : invalidArgument(message);
}

Expected<std::string> readFileBytes(const std::string &path) {
  std::unique_ptr<FILE, int (*)(FILE *)> file(std::fopen(path.c_str(), "rb"), std::fclose);
  if (!file)
    return Unexpected(systemError(path, "cannot be opened"));
  std::string bytes;
  struct stat status = {};
  if (fstat(fileno(file.get()), &status) == 0) {
    // Reading a device may never end.
    if (S_ISCHR(status.st_mode) || S_ISBLK(status.st_mode))
      return Unexpected(invalidArgument("'", path, "' is a device, expected a file or a pipe"));
    if (S_ISREG(status.st_mode))
      bytes.reserve(static_cast<size_t>(status.st_size));
  }
  char buffer[1 << 16];
  while (size_t count = std::fread(buffer, 1, sizeof buffer, file.get()))
    bytes.append(buffer, count);
  if (std::ferror(file.get()))
    return Unexpected(systemError(path, "cannot be read"));
  return bytes;
}

// Sets errno on failure.
static bool writeAll(const std::string &path, std::string_view bytes) {
  FILE *file = std::fopen(path.c_str(), "wb");
  if (!file)
    return false;
  bool isWritten = std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  return std::fclose(file) == 0 && isWritten;
}

// Whether `path` is a device, pipe or folder, which a rename must not replace.
static bool mustWriteInPlace(const std::string &path) {
  struct stat status = {};
  return stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode);
}

Expected<void> writeFileBytes(const std::string &path, std::string_view bytes) {
  bool isDirect = mustWriteInPlace(path);
  std::string written = isDirect ? path : str(path, ".partial-", getpid());
  if (writeAll(written, bytes) && (isDirect || std::rename(written.c_str(), path.c_str()) == 0))
    return {};
  Error error = systemError(path, "cannot be written");
  if (!isDirect)
    std::remove(written.c_str());
  return Unexpected(std::move(error));
}

Expected<Tensor> readNpyFile(const std::string &path, DType expected) {
  std::string bytes = TREADLE_TRY(readFileBytes(path));
  Expected<Tensor> tensor = readNpy(bytes, expected);
  if (!tensor)
    tensor.error().message = str("'", path, "': ", tensor.error().message);
  return tensor;
}

} // namespace treadle
