// Tensors: reference-counted, immutable once shared, one pointer wide.
#pragma once

#include "treadle/tensor/DType.h"
#include "treadle/tensor/Error.h"

#include <atomic>
#include <cassert>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace treadle {

/// The dimensions of a tensor. Rank 0 is a scalar.
using Dims = std::span<const int64_t>;

/// `[2,3]`, for messages.
std::string dimsText(Dims dims);

/// The product of `dims`; nothing if a dimension is negative or the product overflows int64.
std::optional<int64_t> countElements(Dims dims);

/// A tensor's block of memory: this header, the dimensions, then (unless it views another block)
/// the elements, aligned to 64 bytes when larger than a cache line, else to 16.
struct TensorBlock {
  std::atomic<uint32_t> references;
  DType dtype;
  uint8_t rank;
  uint8_t sizeClass; // of the pool; 255: from the system
  uint8_t isRef;     // holds a reference to a v1 variable (see Variable.h), not elements
  void *data;
  int64_t count;      // number of elements
  TensorBlock *owner; // the block whose elements `data` points into; null: this one's own
  int64_t dims[];     // `rank` of them
};
static_assert(sizeof(TensorBlock) == 32);

/// A shared, counted reference to a block of elements with a dtype and a shape; may be empty (no
/// block at all). Copying shares. Elements may be written only while the block is new or
/// `isUnique()`. Different Tensors may be used from different threads; one Tensor object may not.
class Tensor {
public:
  Tensor() = default;
  Tensor(const Tensor &other) : block(other.block) {
    if (block)
      block->references.fetch_add(1, std::memory_order_relaxed);
  }
  Tensor(Tensor &&other) noexcept : block(std::exchange(other.block, nullptr)) {}
  Tensor &operator=(const Tensor &other) {
    Tensor copy(other);
    std::swap(block, copy.block);
    return *this;
  }
  Tensor &operator=(Tensor &&other) noexcept {
    if (this != &other) {
      reset();
      block = std::exchange(other.block, nullptr);
    }
    return *this;
  }
  ~Tensor() { reset(); }

  /// A new tensor. Plain elements are uninitialised, others default-constructed. Errors:
  /// InvalidArgument for a negative or overflowing shape, ResourceExhausted when there is no
  /// memory.
  static Expected<Tensor> make(DType dtype, Dims dims);
  static Expected<Tensor> make(DType dtype, std::initializer_list<int64_t> dims) {
    return make(dtype, Dims(dims.begin(), dims.size()));
  }
  /// A scalar of a plain dtype; cannot fail short of std::bad_alloc.
  static Tensor makeScalar(DType dtype) { return Tensor(allocateScalar(dtype)); }
  template <typename T> static Tensor scalar(DType dtype, T value) {
    Tensor t = makeScalar(dtype);
    *t.data<T>() = value;
    return t;
  }
  static Tensor scalarString(std::string value);
  /// A rank-1 tensor of the values given.
  template <typename T> static Tensor vector(DType dtype, std::span<const T> values) {
    Tensor t = *make(dtype, {static_cast<int64_t>(values.size())});
    std::copy(values.begin(), values.end(), t.data<T>());
    return t;
  }
  /// Elements owned by someone else; `release` is called when the last reference goes.
  static Tensor external(DType dtype, Dims dims, void *data, std::function<void()> release);

  explicit operator bool() const { return block != nullptr; }
  void reset() {
    if (TensorBlock *b = std::exchange(block, nullptr))
      releaseBlock(b);
  }

  DType dtype() const { return block->dtype; }
  int rank() const { return block->rank; }
  Dims dims() const { return {block->dims, block->rank}; }
  int64_t dim(int i) const { return block->dims[i]; }
  int64_t count() const { return block->count; }
  size_t bytes() const { return static_cast<size_t>(block->count) * dtypeSize(block->dtype); }
  bool isScalar() const { return block->rank == 0; }
  bool isRef() const { return block->isRef; }

  template <typename T> const T *data() const { return static_cast<const T *>(block->data); }
  template <typename T> T *data() { return static_cast<T *>(block->data); }
  template <typename T> std::span<const T> values() const {
    return {data<T>(), static_cast<size_t>(count())};
  }
  template <typename T> const T &scalarValue() const { return *data<T>(); }
  void *raw() { return block->data; }
  const void *raw() const { return block->data; }

  /// True if this is the only reference to these elements: they may be overwritten in place.
  bool isUnique() const {
    return block->references.load(std::memory_order_acquire) == 1 &&
           (!block->owner || block->owner->references.load(std::memory_order_acquire) == 1) &&
           !block->isRef;
  }

  /// The same elements under other dimensions (same count): no copy.
  Tensor withDims(Dims dims) const;
  /// The same bits under another dtype of the same size (and dimensions): no copy.
  Tensor withDType(DType dtype, Dims dims) const;
  /// `dims` elements starting `offset` elements in: no copy.
  Tensor view(int64_t offset, Dims dims) const;
  /// A tensor of one's own with the same elements.
  Expected<Tensor> clone() const;

  bool sharesElementsWith(const Tensor &other) const { return raw() == other.raw(); }

  TensorBlock *get() const { return block; }
  TensorBlock *take() { return std::exchange(block, nullptr); }
  static Tensor adopt(TensorBlock *block) { return Tensor(block); }

  /// Bytes held by all live tensors' own elements beyond the small-block pool, in this process.
  static int64_t liveBytes();

private:
  explicit Tensor(TensorBlock *block) : block(block) {}
  static TensorBlock *allocateScalar(DType dtype);
  static void releaseBlock(TensorBlock *b) {
    if (b->references.load(std::memory_order_acquire) == 1 ||
        b->references.fetch_sub(1, std::memory_order_acq_rel) == 1)
      freeBlock(b);
  }
  static void freeBlock(TensorBlock *b);

  TensorBlock *block = nullptr;
};
static_assert(sizeof(Tensor) == sizeof(void *));

/// `int32[2,3]`, for messages.
std::string tensorTypeText(const Tensor &tensor);

} // namespace treadle
