#include "treadle/codegen/CodeCache.h"
#include "treadle/codegen/MachineCode.h"

#include "mlir/Bytecode/BytecodeWriter.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace treadle::codegen {
namespace {

/// A hash of the sources that generated code depends on.
constexpr std::string_view codeVersion =
#include "treadle/codegen/CodeVersion.inc"
    ;

/// Code with larger constants isn't cached, since the cache would keep the constants as well.
constexpr size_t maxCachedConstantBytes = size_t{1} << 20;

size_t bytesOf(const std::vector<Tensor> &tensors) {
  size_t bytes = 0;
  for (const Tensor &tensor : tensors)
    bytes += tensor.bytes();
  return bytes;
}

/// Serializes an object file for the disk cache: its length, its bytes, and its constants. Returns
/// nullopt if a constant can't be serialized.
std::optional<std::string> serializedCode(std::string_view object,
                                          const std::vector<Tensor> &constants) {
  Expected<std::string> tables = tablesToBytes({{}, constants});
  if (!tables)
    return std::nullopt;
  uint64_t size = object.size();
  std::string image(reinterpret_cast<const char *>(&size), sizeof size);
  image += object;
  image += *tables;
  return image;
}

std::shared_ptr<const LinkedCode> codeOf(std::string_view image) {
  uint64_t size = 0;
  if (image.size() < sizeof size)
    return nullptr;
  std::memcpy(&size, image.data(), sizeof size);
  image.remove_prefix(sizeof size);
  if (size > image.size())
    return nullptr;
  std::string_view tableBytes = image.substr(size);
  Expected<ClusterTables> tables = tablesFromBytes(tableBytes, /*areKept=*/false);
  if (!tables)
    return nullptr;
  Expected<std::unique_ptr<MachineCode>> machine =
      load(llvm::MemoryBuffer::getMemBufferCopy(llvm::StringRef(image.substr(0, size)), "cluster"));
  if (!machine)
    return nullptr;
  return std::make_shared<LinkedCode>(std::move(*machine), std::move(tables->constants), size);
}

bool isOff() {
  const char *folder = secure_getenv("TREADLE_CACHE_DIR");
  return folder && std::string_view(folder) == "off";
}

CodeCache *makeForProcess() {
  if (isOff())
    return nullptr;
  std::optional<std::filesystem::path> folder = DiskCache::defaultFolder();
  return new CodeCache(folder ? std::make_unique<DiskCache>(*folder) : nullptr);
}

} // namespace

CodeCache *CodeCache::ofProcess() {
  // Never destroyed: the compile thread and sessions in static objects may outlive it.
  static CodeCache *const cache = makeForProcess();
  return cache;
}

Expected<ContentKey> CodeCache::keyOf(const TensorProgram &program) {
  std::string host = TREADLE_TRY(hostDescription());
  std::string bytes;
  llvm::raw_string_ostream stream(bytes);
  if (failed(mlir::writeBytecodeToFile(*program.module, stream)))
    return Unexpected(internal("compilation failed: the code can't be written"));
  llvm::BLAKE3 hash;
  auto add = [&](std::string_view part) {
    uint64_t size = part.size();
    hash.update(llvm::StringRef(reinterpret_cast<const char *>(&size), sizeof size));
    hash.update(llvm::StringRef(part));
  };
  add(codeVersion);
  add(LLVM_VERSION_STRING);
  add(host);
  add(std::to_string(program.tables.constants.size()));
  add(bytes);
  return hash.final();
}

CodeCache::KeyLock::KeyLock(CodeCache *cache, const ContentKey &key,
                            const std::atomic<bool> *isCancelled)
    : cache(cache), key(key) {
  if (!cache)
    return;
  // The flag is polled: setting it notifies no condition variable.
  constexpr std::chrono::milliseconds patience{20};
  std::unique_lock lock(cache->mutex);
  while (!(isTaken = cache->lockedKeys.insert(key).second)) {
    cache->keyReleased.wait_for(lock, patience);
    if (isCancelled && isCancelled->load(std::memory_order_relaxed))
      return;
  }
}

CodeCache::KeyLock::~KeyLock() {
  if (!isTaken)
    return;
  {
    std::lock_guard lock(cache->mutex);
    cache->lockedKeys.erase(key);
  }
  cache->keyReleased.notify_all();
}

std::shared_ptr<const LinkedCode> CodeCache::findInMemory(const ContentKey &key) {
  std::lock_guard lock(mutex);
  auto it = entries.find(key);
  if (it == entries.end())
    return nullptr;
  it->second.used = ++now;
  return it->second.code;
}

std::shared_ptr<const LinkedCode> CodeCache::find(const ContentKey &key,
                                                  CompileCounters *counters) {
  auto count = [&](CompileCounters::Count CompileCounters::*hits) {
    if (counters)
      CompileCounters::add(counters->*hits);
  };
  if (std::shared_ptr<const LinkedCode> code = findInMemory(key)) {
    count(&CompileCounters::memoryHits);
    return code;
  }
  std::optional<std::string> image = disk ? disk->find(key) : std::nullopt;
  std::shared_ptr<const LinkedCode> code = image ? codeOf(*image) : nullptr;
  if (code) {
    count(&CompileCounters::diskHits);
    keepInMemory(key, code, image->size());
  }
  return code;
}

void CodeCache::keep(const ContentKey &key, std::shared_ptr<const LinkedCode> code,
                     std::string_view object) {
  if (bytesOf(code->constants) > maxCachedConstantBytes)
    return;
  if (disk)
    if (std::optional<std::string> image = serializedCode(object, code->constants))
      disk->keep(key, *image);
  keepInMemory(key, std::move(code), object.size());
}

void CodeCache::keepInMemory(const ContentKey &key, std::shared_ptr<const LinkedCode> code,
                             size_t bytes) {
  std::vector<std::shared_ptr<const LinkedCode>> forgotten; // freed after the lock is released
  std::lock_guard lock(mutex);
  auto [it, isNew] = entries.try_emplace(key, Entry{std::move(code), bytes, ++now});
  if (!isNew)
    return;
  numBytes += bytes;
  while (numBytes > maxBytes && entries.size() > 1) {
    auto oldest =
        std::ranges::min_element(entries, {}, [](const auto &entry) { return entry.second.used; });
    numBytes -= oldest->second.bytes;
    forgotten.push_back(std::move(oldest->second.code));
    entries.erase(oldest);
  }
}

} // namespace treadle::codegen
