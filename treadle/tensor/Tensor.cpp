// Allocation of tensor blocks: a per-thread pool for small and medium blocks, caches of freed large
// blocks, and the system allocator.
#include "treadle/tensor/Tensor.h"

#include "treadle/tensor/MappedTensor.h"
#include "treadle/tensor/MemoryBudget.h"
#include "treadle/tensor/Resource.h"
#include "treadle/tensor/ThreadSlots.h"
#include "treadle/tensor/Trim.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <malloc.h>
#include <new>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TREADLE_POOL 0
#endif
#endif
#ifndef TREADLE_POOL
#define TREADLE_POOL 1
#endif

namespace treadle {
namespace {

// --- the pool ----------------------------------------------------------------------------------

// Size class k holds blocks of 64 << k bytes. A thread keeps at most `cacheBytes` of each class.
constexpr int numClasses = 15; // up to 1 MiB
constexpr uint8_t systemClass = 63;
// Flag in `sizeClass`: the block was charged to a budget.
constexpr uint8_t isCharged = 64;
constexpr size_t cacheBytes = 4 << 20;
// Allocations from this size on are checked against the machine's memory.
constexpr size_t largeBytes = 1 << 20;
constexpr size_t hugePage = 2 << 20;

struct FreeBlock {
  FreeBlock *next;
};

constexpr size_t classBytes(int k) { return size_t{64} << k; }

class Pool {
public:
  ~Pool() {
    isDestroyed = true;
    for (auto &list : lists)
      for (FreeBlock *b = list.head; b;)
        std::free(std::exchange(b, b->next));
  }
  void *allocate(int k) {
    List &list = lists[k];
    if (FreeBlock *b = list.head) {
      list.head = b->next;
      --list.length;
      return b;
    }
    return systemAllocate(classBytes(k));
  }
  void free(void *p, int k) {
    List &list = lists[k];
    if (list.length >= cacheBytes / classBytes(k))
      return std::free(p);
    auto *b = static_cast<FreeBlock *>(p);
    b->next = list.head;
    list.head = b;
    ++list.length;
  }
  /// Allocates from the system. Large blocks get whole pages of 2 MiB: 4 KiB pages cost one page
  /// fault each, and exhaust the TLB.
  static void *systemAllocate(size_t bytes) {
    bool isLarge = bytes >= 2 * hugePage;
    void *p = nullptr;
    if (posix_memalign(&p, isLarge ? hugePage : 64, bytes) != 0)
      throw std::bad_alloc();
    if (isLarge)
      madvise(p, bytes, MADV_HUGEPAGE); // a hint that the system may ignore
    return p;
  }
  // Set once this thread's pool was destroyed; later frees go to the system.
  static thread_local bool isDestroyed;

private:
  struct List {
    FreeBlock *head = nullptr;
    uint32_t length = 0;
  };
  List lists[numClasses];
};

thread_local bool Pool::isDestroyed = false;
thread_local Pool pool;

int64_t physicalMemory() {
  static const int64_t bytes =
      static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGE_SIZE);
  return bytes;
}

/// A thread's cache of freed large blocks. Fresh memory from the system costs a page fault for each
/// 4 KiB.
class LargeBlocks {
public:
  /// Returns the most recently freed block (the likeliest to be in the CPU's cache) that has at
  /// least `bytes` and at most three times as many, or null if there is none.
  void *take(size_t bytes) {
    Block *end = blocks + count, *found = end;
    while (found != blocks && !(found[-1].bytes >= bytes && found[-1].bytes / 3 <= bytes))
      --found;
    if (found == blocks)
      return nullptr;
    --found;
    void *data = found->data;
    kept -= found->bytes;
    std::move(found + 1, end, found);
    --count;
    return data;
  }
  /// Caches a block, or frees it if it is larger than `maxBytes`. Evicts the oldest blocks.
  void put(void *data, size_t maxBytes) {
    size_t bytes = malloc_usable_size(data);
    if (bytes > maxBytes)
      return std::free(data);
    while (count && (count == maxBlocks || kept + bytes > maxBytes))
      freeOldest();
    blocks[count++] = {data, bytes};
    kept += bytes;
  }
  /// Frees all cached blocks and returns their bytes.
  size_t freeAll() {
    size_t bytes = kept;
    while (count)
      freeOldest();
    return bytes;
  }

private:
  static constexpr int maxBlocks = 64;
  struct Block {
    void *data;
    size_t bytes;
  };

  void freeOldest() {
    std::free(blocks[0].data);
    kept -= blocks[0].bytes;
    std::move(blocks + 1, blocks + count, blocks);
    --count;
  }

  Block blocks[maxBlocks] = {};
  int count = 0;
  size_t kept = 0;
};

/// Caches of freed large blocks and counts of live bytes, by thread.
class LargeMemory {
public:
  /// The process's instance. Never destroyed, since tensors may outlive any static object.
  static LargeMemory &global() {
    static auto *memory = new LargeMemory;
    return *memory;
  }

  /// Returns a cached block, preferably one that this thread freed, or null if there is none.
  void *take(size_t bytes) {
    if (void *own = threads.take()->blocks.take(bytes))
      return own;
    for (int i = 0, end = numThreads.load(std::memory_order_relaxed); i < end; ++i)
      if (auto other = threads.tryTake(i))
        if (void *found = other->blocks.take(bytes))
          return found;
    return nullptr;
  }
  void put(void *data) {
    static const size_t maxBytes =
        std::max<size_t>(minLimit, static_cast<size_t>(physicalMemory()) / 32);
    int number = threadNumber(), known = numThreads.load(std::memory_order_relaxed);
    while (known <= number &&
           !numThreads.compare_exchange_weak(known, number + 1, std::memory_order_relaxed))
      ;
    threads.take(number)->blocks.put(data, maxBytes / static_cast<size_t>(std::max(known, 1)));
  }

  size_t trim() {
    size_t bytes = 0;
    for (int i = 0, end = numThreads.load(std::memory_order_relaxed); i < end; ++i)
      bytes += threads.take(i)->blocks.freeAll();
    return bytes;
  }

  /// Adds `bytes` to the live bytes; negative if tensors were freed.
  void count(int64_t bytes) {
    auto own = threads.take();
    own->live += bytes;
    own->unflushedLive += bytes;
    if (std::abs(own->unflushedLive) > maxUnflushed)
      flushedLive.fetch_add(std::exchange(own->unflushedLive, 0), std::memory_order_relaxed);
  }
  /// Returns the live bytes. Exact if no tensor is made or freed meanwhile.
  int64_t live() const {
    int64_t sum = 0;
    threads.forEach([&](const ThreadState &thread) { sum += thread.live; });
    return sum;
  }
  /// Returns the live bytes but for up to `maxUnflushed` of each thread, in one load.
  int64_t approximateLive() const { return flushedLive.load(std::memory_order_relaxed); }

private:
  static constexpr size_t minLimit = 48 << 20;
  static constexpr int64_t maxUnflushed = 64 << 20;
  struct ThreadState {
    LargeBlocks blocks;
    int64_t live = 0;          // negative if this thread frees what others made
    int64_t unflushedLive = 0; // the part of `live` that `flushedLive` doesn't include
  };

  ThreadSlots<ThreadState> threads;
  alignas(64) std::atomic<int64_t> flushedLive{0};
  std::atomic<int> numThreads{0}; // threads with numbers below it may have blocks
};

void *allocateMemory(size_t bytes, uint8_t &sizeClass) {
#if TREADLE_POOL
  int k = bytes <= 64 ? 0 : std::bit_width(bytes - 1) - 6;
  if (k < numClasses && !Pool::isDestroyed) {
    sizeClass = static_cast<uint8_t>(k);
    return pool.allocate(k);
  }
#endif
  sizeClass = systemClass;
#if TREADLE_POOL
  if (void *kept = LargeMemory::global().take(bytes))
    return kept;
#endif
  return Pool::systemAllocate(bytes);
}

void freeMemory(void *p, uint8_t sizeClass) {
#if TREADLE_POOL
  if (sizeClass == systemClass)
    return LargeMemory::global().put(p);
#endif
  if (sizeClass == systemClass || Pool::isDestroyed)
    return std::free(p);
  pool.free(p, sizeClass);
}

// --- blocks ------------------------------------------------------------------------------------

/// The charge of a block to a budget, stored after its dimensions.
struct BudgetCharge {
  MemoryBudget::Account *account;
  int64_t bytes;
  int64_t texts; // the part of `bytes` that the strings' heap memory takes

  static BudgetCharge &of(TensorBlock *b) {
    return *reinterpret_cast<BudgetCharge *>(b->dims + b->rank);
  }
};

size_t headerBytes(size_t rank, size_t payload) {
  size_t header = sizeof(TensorBlock) + rank * sizeof(int64_t);
  size_t alignment = payload > 64 ? 64 : 16;
  return (header + alignment - 1) & ~(alignment - 1);
}

TensorBlock *newBlock(DType dtype, Dims dims, int64_t count, size_t payload) {
  size_t header = headerBytes(dims.size(), payload);
  MemoryBudget::Account *account = MemoryBudget::opened();
  if (account) [[unlikely]] {
    header = headerBytes(dims.size() + sizeof(BudgetCharge) / sizeof(int64_t), payload);
    account->takeOrThrow(static_cast<int64_t>(header + payload));
  }
  uint8_t sizeClass;
  auto *b = static_cast<TensorBlock *>(allocateMemory(header + payload, sizeClass));
  new (&b->references) std::atomic<uint32_t>(1);
  b->dtype = dtype;
  b->rank = static_cast<uint8_t>(dims.size());
  b->sizeClass = sizeClass;
  b->isRef = 0;
  b->data = reinterpret_cast<char *>(b) + header;
  b->count = count;
  b->owner = nullptr;
  std::copy(dims.begin(), dims.end(), b->dims);
  if (account) [[unlikely]] {
    b->sizeClass |= isCharged;
    BudgetCharge::of(b) = {account, static_cast<int64_t>(header + payload),
                           dtype == DType::String ? static_cast<int64_t>(payload) : 0};
  }
  return b;
}

template <typename T> void destroyElements(TensorBlock *b) {
  std::destroy_n(static_cast<T *>(b->data), b->count);
}

void constructElements(TensorBlock *b) {
  switch (b->dtype) {
  case DType::String:
    std::uninitialized_value_construct_n(static_cast<std::string *>(b->data), b->count);
    break;
  case DType::Resource:
    std::uninitialized_value_construct_n(static_cast<ResourceHandle *>(b->data), b->count);
    break;
  case DType::Variant:
    std::uninitialized_value_construct_n(static_cast<Variant *>(b->data), b->count);
    break;
  default:
    break;
  }
}

// The owner of external elements: a block whose payload is the function that releases them.
struct ExternalOwner {
  std::function<void()> release;
};
// Values of TensorBlock::isRef for owners: of external elements, and of elements mapped from a
// file.
constexpr uint8_t externalOwner = 2, fileOwner = 3;

} // namespace

std::string dimsText(Dims dims) {
  std::string out = "[";
  for (size_t i = 0; i < dims.size(); ++i)
    out += str(i ? "," : "", dims[i]);
  return out + "]";
}

std::string tensorTypeText(const Tensor &tensor) {
  if (!tensor)
    return "nothing";
  return str(dtypeName(tensor.dtype()), dimsText(tensor.dims()));
}

std::optional<int64_t> countElements(Dims dims) {
  int64_t count = 1;
  bool isEmpty = false, overflows = false;
  for (int64_t d : dims) {
    if (d < 0)
      return std::nullopt;
    isEmpty |= d == 0;
    overflows |= __builtin_mul_overflow(count, std::max<int64_t>(d, 1), &count);
  }
  if (overflows)
    return std::nullopt;
  return isEmpty ? 0 : count;
}

Expected<Tensor> Tensor::make(DType dtype, Dims dims) {
  if (dims.size() > 254)
    return Unexpected(invalidArgument("a tensor has at most 254 dimensions, not ", dims.size()));
  std::optional<int64_t> count = countElements(dims);
  if (!count) {
    bool negative = std::any_of(dims.begin(), dims.end(), [](int64_t d) { return d < 0; });
    return Unexpected(invalidArgument("shape ", dimsText(dims),
                                      negative ? " has a negative dimension"
                                               : " has more elements than fit in 64 bits"));
  }
  int64_t payload;
  if (__builtin_mul_overflow(*count, static_cast<int64_t>(dtypeSize(dtype)), &payload))
    return Unexpected(resourceExhausted("tensor ", dtypeName(dtype), dimsText(dims),
                                        " needs more bytes than 64 bits can count"));
  if (payload > static_cast<int64_t>(largeBytes)) {
    if (payload > physicalMemory() - LargeMemory::global().approximateLive())
      return Unexpected(resourceExhausted("tensor ", dtypeName(dtype), dimsText(dims), " needs ",
                                          payload,
                                          " bytes, more than the free memory of this machine"));
  }
  TensorBlock *b;
  try {
    b = newBlock(dtype, dims, *count, static_cast<size_t>(payload));
  } catch (const OverBudget &over) {
    return Unexpected(resourceExhausted(
        "tensor ", dtypeName(dtype), dimsText(dims), " needs ", payload,
        " bytes, more than is left of the session's memory limit of ", over.limit, " bytes"));
  } catch (const std::bad_alloc &) {
    return Unexpected(resourceExhausted("out of memory: tensor ", dtypeName(dtype), dimsText(dims),
                                        " needs ", payload, " bytes"));
  }
  if (payload > static_cast<int64_t>(largeBytes))
    LargeMemory::global().count(payload);
  if (!isPlain(dtype))
    constructElements(b);
  return Tensor(b);
}

TensorBlock *Tensor::allocateScalar(DType dtype) {
  TensorBlock *b = newBlock(dtype, {}, 1, dtypeSize(dtype));
  if (!isPlain(dtype)) [[unlikely]]
    constructElements(b);
  return b;
}

Tensor Tensor::scalarString(std::string value) {
  Tensor t = makeScalar(DType::String);
  *t.data<std::string>() = std::move(value);
  return t;
}

Tensor Tensor::external(DType dtype, Dims dims, void *data, std::function<void()> release) {
  TensorBlock *owner = newBlock(DType::UInt8, {}, 0, sizeof(ExternalOwner));
  new (owner->data) ExternalOwner{std::move(release)};
  owner->isRef = externalOwner;
  TensorBlock *b = newBlock(dtype, dims, countElements(dims).value_or(0), 0);
  b->data = data;
  b->owner = owner;
  return Tensor(b);
}

Tensor mappedTensor(DType dtype, Dims dims, std::shared_ptr<void> elements) {
  void *data = elements.get();
  Tensor tensor = Tensor::external(dtype, dims, data, [kept = std::move(elements)] {});
  tensor.get()->owner->isRef = fileOwner;
  return tensor;
}

bool isMappedTensor(const Tensor &tensor) {
  const TensorBlock *owner = tensor.get()->owner;
  return owner && owner->isRef == fileOwner;
}

static TensorBlock *newView(TensorBlock *of, DType dtype, Dims dims, void *data) {
  TensorBlock *b = newBlock(dtype, dims, countElements(dims).value_or(0), 0);
  b->data = data;
  b->owner = of->owner ? of->owner : of;
  b->owner->references.fetch_add(1, std::memory_order_relaxed);
  return b;
}

Tensor Tensor::withDims(Dims newDims) const {
  return Tensor(newView(block, block->dtype, newDims, block->data));
}

Tensor Tensor::withDType(DType dtype, Dims newDims) const {
  return Tensor(newView(block, dtype, newDims, block->data));
}

Tensor Tensor::view(int64_t offset, Dims newDims) const {
  char *data = static_cast<char *>(block->data) + offset * dtypeSize(block->dtype);
  return Tensor(newView(block, block->dtype, newDims, data));
}

Expected<Tensor> Tensor::clone() const {
  Expected<Tensor> copy = make(dtype(), dims());
  if (!copy)
    return copy;
  switch (dtype()) {
  case DType::String:
    std::copy_n(data<std::string>(), count(), copy->data<std::string>());
    break;
  case DType::Resource:
    std::copy_n(data<ResourceHandle>(), count(), copy->data<ResourceHandle>());
    break;
  case DType::Variant:
    std::copy_n(data<Variant>(), count(), copy->data<Variant>());
    break;
  default:
    if (count())
      std::memcpy(copy->raw(), raw(), bytes());
  }
  return copy;
}

int64_t trimTensorMemory() {
  size_t bytes = LargeMemory::global().trim();
  malloc_trim(0);
  return static_cast<int64_t>(bytes);
}

int64_t Tensor::liveBytes() { return LargeMemory::global().live(); }

void Tensor::freeBlock(TensorBlock *b) {
  if (TensorBlock *owner = b->owner) {
    releaseBlock(owner);
  } else if (b->isRef) [[unlikely]] {
    if (b->isRef == externalOwner || b->isRef == fileOwner) {
      auto *external = static_cast<ExternalOwner *>(b->data);
      external->release();
      external->~ExternalOwner();
    } else {
      static_cast<Ref<Resource> *>(b->data)->~Ref();
    }
  } else {
    switch (b->dtype) {
    case DType::String:
      destroyElements<std::string>(b);
      break;
    case DType::Resource:
      destroyElements<ResourceHandle>(b);
      break;
    case DType::Variant:
      destroyElements<Variant>(b);
      break;
    default: {
      int64_t payload = b->count * static_cast<int64_t>(dtypeSize(b->dtype));
      if (payload > static_cast<int64_t>(largeBytes)) [[unlikely]]
        LargeMemory::global().count(-payload);
    }
    }
  }
  if (b->sizeClass & isCharged) [[unlikely]] {
    BudgetCharge debt = BudgetCharge::of(b);
    freeMemory(b, b->sizeClass & ~isCharged);
    return debt.account->give(debt.bytes);
  }
  freeMemory(b, b->sizeClass);
}

// --- budgets -----------------------------------------------------------------------------------

Error memoryError(const std::bad_alloc &thrown) {
  if (const auto *over = dynamic_cast<const OverBudget *>(&thrown))
    return resourceExhausted(over->bytes,
                             " bytes are more than is left of the session's memory limit of ",
                             over->limit, " bytes");
  return resourceExhausted("out of memory");
}

bool MemoryBudget::Account::take(int64_t bytes) {
  if (bytes > limit)
    return false;
  if (taken.fetch_add(bytes, std::memory_order_relaxed) + bytes - owner <= limit)
    return true;
  give(bytes);
  return false;
}

constinit thread_local MemoryBudget::Account *MemoryBudget::open = nullptr;
constinit std::atomic<int> MemoryBudget::count{0};

MemoryBudget::Scope::Scope(Account *account) : before(std::exchange(open, account)) {}
MemoryBudget::Scope::~Scope() { open = before; }

namespace {

/// Returns the heap memory of a string beyond its inline buffer.
int64_t heapBytes(const std::string &text) {
  static const size_t inPlace = std::string().capacity();
  return text.capacity() > inPlace ? static_cast<int64_t>(text.capacity()) + 1 : 0;
}

} // namespace

Expected<void> chargeStringMemory(std::span<const Tensor> made) {
  for (const Tensor &tensor : made) {
    if (!tensor || tensor.dtype() != DType::String || tensor.isRef())
      continue;
    TensorBlock *b = tensor.get();
    bool isNew = (b->sizeClass & isCharged) && !b->owner && b->references.load() == 1;
    if (!isNew)
      continue;
    int64_t bytes = b->count * static_cast<int64_t>(sizeof(std::string));
    for (const std::string &text : tensor.values<std::string>())
      bytes += heapBytes(text);
    BudgetCharge &debt = BudgetCharge::of(b);
    int64_t more = bytes - debt.texts;
    if (more > 0 && !debt.account->take(more))
      return Unexpected(resourceExhausted(
          "strings of ", bytes, " bytes are more than is left of the session's memory limit of ",
          debt.account->limit, " bytes"));
    if (more < 0)
      debt.account->give(-more);
    debt.bytes += more;
    debt.texts = bytes;
  }
  return {};
}

} // namespace treadle
