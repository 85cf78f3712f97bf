// Readers of tensors in files: numpy, checkpoints of both formats, tensor messages.
#include "fuzz/readers/Readers.h"

#include "treadle/checkpoint/BundleReader.h"
#include "treadle/checkpoint/BundleWriter.h"
#include "treadle/checkpoint/Crc32c.h"
#include "treadle/checkpoint/Table.h"
#include "treadle/collective/MessageBytes.h"
#include "treadle/kernels/SerializedTensor.h"
#include "treadle/kernels/files/SliceFile.h"
#include "treadle/npy/Npz.h"
#include "treadle/tensor/MemoryBudget.h"
#include "treadle/tensor/Wire.h"

#include <map>

namespace treadle::fuzz {
namespace {

Tensor floats() {
  constexpr float values[] = {1, -2, 3.5f};
  return Tensor::vector<float>(DType::Float32, values);
}
Tensor texts() {
  Tensor t = *Tensor::make(DType::String, std::vector<int64_t>{2});
  t.data<std::string>()[0] = "ab";
  return t;
}

// --- numpy -------------------------------------------------------------------------------------

void readArray(std::string_view bytes) { (void)readNpy(bytes, DType::BFloat16); }

std::vector<std::string> arraySeeds() {
  std::string objects("\x93NUMPY\1\0", 8);
  std::string header = "{'descr': '|O', 'fortran_order': False, 'shape': (2,), }\n";
  objects += static_cast<char>(header.size());
  objects += '\0';
  objects += header;
  objects += std::string_view("\x80\3cnumpy\narray\nq\0K\0\x85q\1C\1bq\2\x87q\3Rq\4(K\1K\2\x85q\5c"
                              "numpy\ndtype\nq\6]q\7(X\1\0\0\0aq\10h\10etb.",
                              66);
  std::string fortran = *writeNpy(*Tensor::make(DType::Int16, std::vector<int64_t>{2, 2}));
  fortran.replace(fortran.find("False"), 5, "True ");
  return {*writeNpy(floats()), *writeNpy(texts()), objects, fortran};
}

void readArchive(std::string_view bytes) {
  auto file = NpzFile::fromBytes(std::string(bytes));
  for (const std::string &name : file ? file->names() : std::vector<std::string>())
    (void)file->read(name);
}

std::vector<std::string> archiveSeeds() { return {*writeNpz({{"a", floats()}, {"b", texts()}})}; }

// --- tables ------------------------------------------------------------------------------------

void readRawTable(std::string_view bytes) { (void)readTable(bytes); }

/// Reads the rows of a block with a valid checksum.
void readBlock(std::string_view block) {
  std::string file, handles, index;
  auto put = [&](std::string_view content) {
    std::string handle;
    putVarint(handle, file.size());
    putVarint(handle, content.size());
    std::string bytes(content);
    bytes += '\0';
    file += bytes;
    putFixed(file, maskCrc(crc32c(bytes)));
    return handle;
  };
  std::string handle = put(block);
  for (uint64_t number : {uint64_t{0}, uint64_t{1}, handle.size()})
    putVarint(index, number);
  index += "k" + handle;
  putFixed<uint32_t>(index, 0);
  putFixed<uint32_t>(index, 1);
  handles = handle + put(index);
  handles.resize(40);
  file += handles;
  putFixed<uint64_t>(file, 0xdb4775248b80fb57);
  (void)readTable(file);
}

std::vector<std::string> blockSeeds() {
  std::string block;
  for (std::string_view row : {std::string_view("\0\2\1aax", 6), std::string_view("\1\1\1bx", 5)})
    block += row;
  putFixed<uint32_t>(block, 0);
  putFixed<uint32_t>(block, 1);
  return {block};
}

std::string tableOf(const std::map<std::string, std::string> &rows) {
  TableBuilder table;
  for (const auto &[key, value] : rows)
    table.add(key, value);
  return table.finish();
}

std::vector<std::string> tableSeeds() { return {tableOf({{"", "h"}, {"a", "1"}, {"ab", "2"}})}; }

/// Parts alternate between keys and values; the first one is the bytes of a shard.
std::map<std::string, std::string> rowsOf(const std::vector<std::string_view> &parts) {
  std::map<std::string, std::string> rows;
  for (size_t i = 1; i + 1 < parts.size(); i += 2)
    rows.emplace(parts[i], parts[i + 1]);
  return rows;
}

std::string partsOfTable(std::string_view first, const std::string &table) {
  std::vector<std::string> parts = {std::string(first)};
  TableRows rows = *readTable(table);
  for (const auto &[key, value] : rows)
    parts.push_back(key), parts.push_back(value);
  return joinParts(parts);
}

// --- checkpoints -------------------------------------------------------------------------------

void readBundle(std::string_view bytes) {
  std::vector<std::string_view> parts = partsOf(bytes);
  if (parts.empty())
    return;
  std::string index = writeTempFile(tableOf(rowsOf(parts)), "bundle.index");
  writeTempFile(parts[0], "bundle.data-00000-of-00001");
  std::string prefix = index.substr(0, index.size() - std::string_view(".index").size());
  auto reader = BundleReader::open(prefix, FileAccess::all());
  if (!reader)
    return;
  for (const auto &[name, entry] : reader->index().entries) {
    (void)reader->read(name);
    TensorSlice slice;
    for (int64_t dim : entry.dims)
      slice.extents.push_back({dim / 2, dim - dim / 2});
    (void)reader->readSlice(name, slice);
  }
}

/// Returns an entry with a valid checksum.
BundleEntry entryOf(std::vector<int64_t> dims, int64_t offset, std::string_view data) {
  BundleEntry entry;
  entry.dtype = DType::Float32;
  entry.dims = std::move(dims);
  entry.offset = offset;
  entry.size = std::ssize(data);
  entry.crc = maskCrc(crc32c(data));
  return entry;
}

std::vector<std::string> bundleSeeds() {
  std::string data(24, '\1');
  BundleIndex index;
  index.entries["whole"] = entryOf({2}, 0, data.substr(0, 8));
  BundleEntry sliced = entryOf({4}, 0, "");
  for (int64_t part = 0; part < 2; ++part) {
    TensorSlice slice{{{2 * part, 2}}};
    sliced.slices.push_back(slice);
    index.entries[sliceKey("parts", slice)] = entryOf({2}, 8 + 8 * part, data.substr(0, 8));
  }
  index.entries["parts"] = sliced;
  return {partsOfTable(data, index.bytes())};
}

void readSliceFile(std::string_view bytes) {
  std::vector<std::string_view> parts = partsOf(bytes);
  auto reader =
      SliceFileReader::open(writeTempFile(tableOf(rowsOf(parts)), "slices"), FileAccess::all());
  if (!reader)
    return;
  for (const char *name : {"w", "v", ""})
    if (const StoredTensor *tensor = reader->find(name)) {
      TensorSlice all{std::vector<TensorSlice::Extent>(tensor->dims.size())};
      (void)reader->read(*tensor, all.resolved(tensor->dims));
    }
}

std::vector<std::string> sliceFileSeeds() {
  SliceFileWriter writer;
  (void)writer.add("w", {6}, TensorSlice{{{0, 3}}}, floats());
  (void)writer.add("w", {6}, TensorSlice{{{3, 3}}}, floats());
  (void)writer.add("v", {2}, TensorSlice{{{}}}, texts());
  return {partsOfTable("", writer.finish())};
}

// --- messages ----------------------------------------------------------------------------------

/// A splat may represent many elements, which only a run allocates.
void readTensorMessage(std::string_view bytes) {
  MemoryBudget budget(int64_t{256} << 20);
  MemoryBudget::Scope scope(&budget.get());
  (void)parseTensorProto(bytes);
}

std::vector<std::string> tensorSeeds() {
  return {serializeTensorProto(floats(), StringEncoding::Content),
          serializeTensorProto(texts(), StringEncoding::Content),
          serializeTensorProto(texts(), StringEncoding::Listed)};
}

void readMessage(std::string_view bytes) { (void)messageOf(1, bytes); }

std::vector<std::string> messageSeeds() { return {messageBytes("key", floats())}; }

constexpr Reader readers[] = {
    {"block", readBlock, blockSeeds},          {"bundle", readBundle, bundleSeeds},
    {"collective", readMessage, messageSeeds}, {"npy", readArray, arraySeeds},
    {"npz", readArchive, archiveSeeds},        {"slice_file", readSliceFile, sliceFileSeeds},
    {"table", readRawTable, tableSeeds},       {"tensor", readTensorMessage, tensorSeeds},
};

} // namespace

std::span<const Reader> arrayReaders() { return readers; }

} // namespace treadle::fuzz
