// Readers of tools and of the machine code cache: vocabularies, costs and traces, command line
// values, cached code, messages of the rewriter.
#include "fuzz/readers/Readers.h"

#include "treadle/codegen/DiskCache.h"
#include "treadle/kernels/state/VocabularyFile.h"
#include "treadle/tensorflow_plugin/Channel.h"
#include "treadle/tools/cli/Value.h"
#include "treadle/transforms/schedule_communication/CostModel.h"

#include <cstdlib>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace treadle::fuzz {
namespace {

/// The first two bytes choose the columns.
void readVocabularyFile(std::string_view bytes) {
  if (bytes.size() < 2)
    return;
  VocabularyFormat format{bytes[0] % 4, bytes[1] % 4, -1, bytes[0] < 0, "\t"};
  std::string path = writeTempFile(bytes.substr(2), "vocabulary");
  (void)readVocabulary(path, format, DType::String, DType::Int64, FileAccess::all());
  (void)readVocabulary(path, format, DType::Float32, DType::String, FileAccess::all());
}

void readCosts(std::string_view bytes) { (void)tfg::CostModel::parse(bytes); }

/// Values that name files are excluded.
void readValue(std::string_view bytes) {
  if (bytes.find('@') != bytes.npos)
    return;
  std::string note;
  (void)cli::parseValue(bytes, {"x"}, 0, note);
  (void)cli::parseValue(bytes, {"x", DType::Float32, true, {2, 3}}, 0, note);
}

/// Checks that the cache returns only entries that were stored, for any contents of its files.
void readCode(std::string_view bytes) {
  static const std::string kept = "machine code";
  static const codegen::ContentKey key = [] {
    codegen::ContentKey made{};
    made[0] = 1;
    return made;
  }();
  static const std::filesystem::path folder =
      std::filesystem::path(writeTempFile("", "code")).parent_path() / "cache";
  codegen::DiskCache cache(folder);
  cache.keep(key, kept);
  std::filesystem::path path = cache.pathOf(key);
  std::filesystem::remove(path);
  int file = open(path.c_str(), O_WRONLY | O_CREAT, 0600);
  if (file < 0 || write(file, bytes.data(), bytes.size()) != std::ssize(bytes))
    std::abort();
  close(file);
  if (auto found = cache.find(key); found && *found != kept)
    std::abort();
}

std::vector<std::string> codeSeeds() {
  return {std::string("TRDLCODE\1\0\0\0\0\0\0\0\1", 17) + std::string(90, '\0')};
}

void readChannel(std::string_view bytes) {
  int file = memfd_create("message", MFD_CLOEXEC);
  if (file < 0 || write(file, bytes.data(), bytes.size()) != std::ssize(bytes))
    std::abort();
  lseek(file, 0, SEEK_SET);
  (void)tensorflow::Channel(file, file).receive();
  close(file);
}

std::vector<std::string> channelSeeds() {
  int file = memfd_create("message", MFD_CLOEXEC);
  tensorflow::Channel(file, file).send({"tfg-prune", "a\nb", ""});
  std::string bytes(static_cast<size_t>(lseek(file, 0, SEEK_CUR)), '\0');
  if (pread(file, bytes.data(), bytes.size(), 0) != std::ssize(bytes))
    std::abort();
  close(file);
  return {bytes};
}

constexpr Reader readers[] = {
    {"channel", readChannel, channelSeeds},
    {"code_cache", readCode, codeSeeds},
    {"costs", readCosts,
     [] {
       return std::vector<std::string>{
           R"({"nodes": {"mm": 0.002}, "ops": {"MatMul": 1e-3}, "default": 1e-6, "link": {"latency": 1e-5, "bytes_per_second": 1e10}})",
           R"({"traceEvents": [{"name": "mm", "ph": "X", "dur": 2000, "ts": 1}, {"name": "e", "ph": "b", "id": 1, "ts": 2}]})"};
     }},
    {"value", readValue,
     [] {
       return std::vector<std::string>{"[1,2.5,-3e4]", "2x3xf32=0", "[[true,false]]", "\"a\\n\"",
                                       "random",       "[1+2j]",    "2xi64=[1,2]"};
     }},
    {"vocabulary", readVocabularyFile,
     [] { return std::vector<std::string>{std::string("\0\1", 2) + "a\t1\nb\t-2\r\n"}; }},
};

} // namespace

std::span<const Reader> toolReaders() { return readers; }

} // namespace treadle::fuzz
