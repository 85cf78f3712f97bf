// Readers that ops use: images, audio, records, example messages, compressed bytes.
#include "fuzz/readers/Readers.h"

#include "treadle/checkpoint/Crc32c.h"
#include "treadle/checkpoint/FileAccess.h"
#include "treadle/kernels/Families.h"
#include "treadle/kernels/images/ImageCodecs.h"
#include "treadle/runtime/RunOp.h"
#include "treadle/tensor/Wire.h"
#include "treadle/treadle.h"

#include <cstdlib>

namespace treadle::fuzz {
namespace {

using Inputs = std::vector<Tensor>;
using DTypes = std::vector<DType>;

Tensor textScalar(std::string_view text) { return Tensor::scalarString(std::string(text)); }
Tensor textVector(const std::vector<std::string> &texts) {
  return Tensor::vector<std::string>(DType::String, texts);
}

Expected<Inputs> runReader(std::string_view op, Inputs inputs, DTypes outputs,
                           const AttrMap &attrs = {}) {
  return runOpWith(FileAccess::none(), builtinKernels(), op, attrs, std::move(inputs),
                   std::move(outputs));
}

// --- images and audio --------------------------------------------------------------------------

/// The first byte chooses the decoder; the file follows.
void readImage(std::string_view bytes) {
  if (bytes.empty())
    return;
  auto how = static_cast<unsigned char>(bytes.front());
  AttrMap attrs;
  if (how & 1)
    attrs.set("channels", int64_t{how & 2 ? 1 : 3});
  if (how & 4)
    attrs.set("expand_animations", false);
  Tensor file = textScalar(bytes.substr(1));
  (void)runReader("DecodeImage", {file}, {DType::UInt8}, attrs);
  if (!(how & 8))
    return;
  AttrMap jpeg;
  jpeg.set("try_recover_truncated", (how & 16) != 0);
  jpeg.set("acceptable_fraction", 0.5f);
  jpeg.set("ratio", int64_t{how & 32 ? 2 : 1});
  (void)runReader("DecodeJpeg", {file}, {DType::UInt8}, jpeg);
  const int32_t window[] = {0, 0, 1, 2};
  (void)runReader("DecodeAndCropJpeg", {file, Tensor::vector<int32_t>(DType::Int32, window)},
                  {DType::UInt8}, jpeg);
  (void)runReader("ExtractJpegShape", {file}, {DType::Int32});
}

std::vector<std::string> imageSeeds() {
  const uint8_t pixels[27] = {255, 0, 0, 1, 2, 3, 9};
  std::vector<std::string> files = {
      *encodePng(pixels, 3, 3, 3, 8, -1), *encodePng(pixels, 3, 2, 2, 16, -1),
      *encodeJpeg(pixels, 3, 3, 3, {}), *encodeJpeg(pixels, 3, 3, 3, {.isProgressive = true}),
      std::string("GIF89a\2\0\2\0\x80\0\0\0\0\0\xff\xff\xff,\0\0\0\0\2\0\2\0\0\2\2\x84Q\0;", 35),
      // A lossless WebP file, and a lossy one of a single grey pixel.
      std::string("RIFF\x1a\0\0\0WEBPVP8L\x0d\0\0\0/\0\0\0\x10\7\x10\x11\x11\x88\x88\xfe\7\0", 34)};
  std::string bmp = "BM";
  bmp += std::string("\x46\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0\2\0\0\0\2\0\0\0\1\0\x18\0", 28);
  bmp.resize(54);
  files.push_back(bmp + std::string(16, '\x7f'));
  std::vector<std::string> seeds;
  for (const std::string &file : files)
    for (char how : {'\0', '\1', '\7', '\10', '\x38'})
      seeds.push_back(how + file);
  return seeds;
}

void readWav(std::string_view bytes) {
  AttrMap attrs;
  if (bytes.size() % 2) {
    attrs.set("desired_channels", int64_t{2});
    attrs.set("desired_samples", int64_t{7});
  }
  (void)runReader("DecodeWav", {textScalar(bytes)}, {DType::Float32, DType::Int32}, attrs);
}

std::vector<std::string> wavSeeds() {
  Tensor audio = *Tensor::make(DType::Float32, std::vector<int64_t>{3, 2});
  std::fill_n(audio.data<float>(), 6, 0.25f);
  auto file =
      runReader("EncodeWav", {audio, Tensor::scalar(DType::Int32, int32_t{8000})}, {DType::String});
  return {file->at(0).scalarValue<std::string>(), file->at(0).scalarValue<std::string>() + "JUNK"};
}

// --- records -----------------------------------------------------------------------------------

constexpr const char *recordGraph = R"(
node { name: "file" op: "Placeholder" attr { key: "dtype" value { type: DT_STRING } }
       attr { key: "shape" value { shape { } } } }
node { name: "compression" op: "Placeholder" attr { key: "dtype" value { type: DT_STRING } } }
node { name: "queue" op: "FIFOQueueV2" attr { key: "component_types" value { list { type: DT_STRING } } } }
node { name: "put" op: "QueueEnqueueV2" input: "queue" input: "file"
       attr { key: "Tcomponents" value { list { type: DT_STRING } } } }
node { name: "close" op: "QueueCloseV2" input: "queue" input: "^put" }
node { name: "count" op: "Const" attr { key: "dtype" value { type: DT_INT64 } }
       attr { key: "value" value { tensor { dtype: DT_INT64 tensor_shape { } int64_val: 5 } } } }
node { name: "reader" op: "READER" ATTR }
node { name: "read" op: "ReaderReadUpToV2" input: "reader" input: "queue" input: "count" input: "^close" }
)";

/// Runs a reader op in a graph of its own, because queues stay closed.
void readRecords(std::string_view bytes, std::string_view reader, std::string_view attr) {
  std::string text = recordGraph;
  text.replace(text.find("READER"), 6, reader);
  text.replace(text.find("ATTR"), 4, attr);
  SessionOptions options;
  options.threads = 1;
  options.tier = Tier::Interpret;
  options.timeout = 1;
  std::string path = writeTempFile(bytes, "records");
  options.permissions.read = {path};
  auto session = Graph::fromBytes(text).and_then(
      [&](Graph graph) { return Session::create(std::move(graph), options); });
  if (!session)
    std::abort();
  (void)session->run({"read:0", "read:1"}, {{"file:0", textScalar(path)}});
}

/// The first byte chooses the compression.
void readTfRecords(std::string_view bytes) {
  static constexpr std::string_view attrs[] = {
      "", R"(attr { key: "compression_type" value { s: "GZIP" } })",
      R"(attr { key: "compression_type" value { s: "ZLIB" } })"};
  if (!bytes.empty())
    readRecords(bytes.substr(1), "TFRecordReaderV2",
                attrs[static_cast<unsigned char>(bytes.front()) % std::size(attrs)]);
}

std::vector<std::string> tfRecordSeeds() {
  std::string record, head;
  putFixed<uint64_t>(head, 3);
  record = head;
  putFixed(record, maskCrc(crc32c(head)));
  record += "abc";
  putFixed(record, maskCrc(crc32c("abc")));
  return {'\0' + record + record,
          '\1' + std::string("\x1f\x8b\x08\0\0\0\0\0\0\3\3\0\0\0\0\0\0\0\0\0", 20)};
}

void readFixedRecords(std::string_view bytes) {
  readRecords(
      bytes, "FixedLengthRecordReaderV2",
      R"(attr { key: "record_bytes" value { i: 4 } } attr { key: "header_bytes" value { i: 2 } }
                 attr { key: "footer_bytes" value { i: 3 } } attr { key: "hop_bytes" value { i: 1 } })");
}

void readCompressed(std::string_view bytes) {
  for (const char *kind : {"ZLIB", "GZIP"}) {
    AttrMap attrs;
    attrs.set("compression_type", std::string(kind));
    (void)runReader("DecodeCompressed", {textScalar(bytes)}, {DType::String}, attrs);
  }
}

std::vector<std::string> compressedSeeds() {
  return {std::string("x\x9cKLJ\6\0\2M\1'", 11),
          std::string("\x1f\x8b\x08\0\0\0\0\0\0\3KLJ\6\0\xc2\x41\x24\x35\3\0\0\0", 23)};
}

// --- examples ----------------------------------------------------------------------------------

std::vector<TypeAttr> types(std::initializer_list<DType> dtypes) {
  std::vector<TypeAttr> list;
  for (DType dtype : dtypes)
    list.push_back({dtype});
  return list;
}

/// A sparse, a dense, a variable-length dense and a ragged feature of each type.
void readExample(std::string_view bytes) {
  std::vector<std::string> examples;
  for (std::string_view part : partsOf(bytes))
    examples.emplace_back(part);
  AttrMap attrs;
  attrs.set("sparse_types", types({DType::Int64, DType::String}));
  attrs.set("num_sparse", int64_t{2});
  attrs.set("Tdense", types({DType::Float32, DType::Int64}));
  attrs.set("dense_shapes",
            std::vector<PartialShape>{PartialShape::ranked({2}), PartialShape::ranked({-1, 2})});
  attrs.set("ragged_value_types", types({DType::String, DType::Float32}));
  attrs.set("ragged_split_types", types({DType::Int32, DType::Int64}));
  const float fallback[] = {8, 9};
  const int64_t one[] = {7};
  Inputs inputs = {textVector(examples),
                   textVector({}),
                   textVector({"s", "t"}),
                   textVector({"d", "v"}),
                   textVector({"r", "f"}),
                   Tensor::vector<float>(DType::Float32, fallback),
                   Tensor::vector<int64_t>(DType::Int64, one)};
  (void)runReader("ParseExampleV2", inputs,
                  {DType::Int64, DType::Int64, DType::Int64, DType::String, DType::Int64,
                   DType::Int64, DType::Float32, DType::Int64, DType::String, DType::Float32,
                   DType::Int32, DType::Int64},
                  attrs);
  AttrMap sequence;
  sequence.set("Ncontext_sparse", int64_t{1});
  sequence.set("context_sparse_types", types({DType::Int64}));
  sequence.set("Nfeature_list_dense", int64_t{1});
  sequence.set("feature_list_dense_types", types({DType::Float32}));
  sequence.set("feature_list_dense_shapes", std::vector<PartialShape>{PartialShape::ranked({2})});
  sequence.set("feature_list_sparse_types", types({DType::String}));
  sequence.set("Nfeature_list_sparse", int64_t{1});
  bool missing[] = {true};
  (void)runReader("ParseSequenceExampleV2",
                  {textVector(examples), textVector({}), textVector({"s"}), textVector({}),
                   textVector({}), textVector({"t"}), textVector({"d"}), textVector({}),
                   Tensor::vector<bool>(DType::Bool, missing)},
                  {DType::Int64, DType::Int64, DType::Int64, DType::Int64, DType::String,
                   DType::Int64, DType::Float32, DType::Int64},
                  sequence);
  for (const std::string &example : examples)
    (void)runReader("DecodeProtoV2", {textScalar(example)}, {DType::Int32});
}

std::string message(std::initializer_list<std::pair<uint64_t, std::string>> fields) {
  std::string out;
  for (const auto &[field, bytes] : fields)
    putBytes(out, field, bytes);
  return out;
}

std::vector<std::string> exampleSeeds() {
  auto feature = [](uint64_t kind, const std::string &list) {
    return message({{kind, message({{1, list}})}});
  };
  auto entry = [](const char *name, const std::string &value) {
    return message({{1, message({{1, name}, {2, value}})}});
  };
  std::string numbers = std::string(8, '\1'), integers("\1\2\x80\1", 4);
  std::string features = entry("s", feature(3, integers)) + entry("d", feature(2, numbers)) +
                         entry("v", feature(3, std::string("\1\2\3\4", 4))) +
                         entry("r", feature(1, "x")) + entry("t", feature(1, "yz")) +
                         entry("f", feature(2, numbers));
  std::string lists = entry("d", message({{1, feature(2, numbers)}, {1, feature(2, numbers)}}));
  return {joinParts({message({{1, features}}), message({{1, ""}})}),
          joinParts({message({{1, features}, {2, lists}})})};
}

void readJson(std::string_view bytes) {
  (void)runReader("DecodeJSONExample", {textScalar(bytes)}, {DType::String});
  (void)runReader("UnicodeDecode", {textVector({std::string(bytes)})},
                  {DType::Int64, DType::Int32});
  AttrMap csv;
  csv.set("OUT_TYPE", types({DType::Float32, DType::String, DType::Int64}));
  const float number[] = {0};
  const int64_t integer[] = {0};
  (void)runReader("DecodeCSV",
                  {textVector({std::string(bytes)}), Tensor::vector<float>(DType::Float32, number),
                   textVector({""}), Tensor::vector<int64_t>(DType::Int64, integer)},
                  {DType::Float32, DType::String, DType::Int64}, csv);
}

constexpr Reader readers[] = {
    {"compressed", readCompressed, compressedSeeds},
    {"example", readExample, exampleSeeds},
    {"fixed_records", readFixedRecords, [] { return std::vector<std::string>{"ab0123456789xyz"}; }},
    {"image", readImage, imageSeeds},
    {"text", readJson,
     [] {
       return std::vector<std::string>{
           "1.5,\"a\"\"b\",-3",
           R"({"features": {"feature": {"a": {"int64List": {"value": [1]}}}}})"};
     }},
    {"tf_records", readTfRecords, tfRecordSeeds},
    {"wav", readWav, wavSeeds},
};

} // namespace

std::span<const Reader> mediaReaders() { return readers; }

} // namespace treadle::fuzz
