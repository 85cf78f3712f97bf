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

/// Formats dimensions for messages: `[2,3]`.
std::string dimsText(Dims dims);

/// Returns the product of `dims`, or nullopt if a dimension is negative or the product overflows
/// int64.
std::optional<int64_t> countElements(Dims dims);

/// A tensor's block of memory: this header, the dimensions, then (unless it views another block)
/// the elements, aligned to 64 bytes when larger than a cache line, else to 16.
struct TensorBlock {
  std::atomic<uint32_t> references;
  DType dtype;
  uint8_t rank;
  uint8_t sizeClass; // size class of the pool; 255: allocated from the system
  uint8_t isRef;     // a reference to a v1 variable (see Variable.h) instead of elements
  void *data;
  int64_t count;      // number of elements
  TensorBlock *owner; // block whose elements `data` points into; null if its own
  int64_t dims[];     // `rank` of them
};
static_assert(sizeof(TensorBlock) == 32);

/// A reference to a block of elements with a dtype and a shape; may be empty (no block at all), and
/// then only bool conversion, assignment, `reset`, `get` and `take` are valid. Copies share the
/// block. Elements may be written only while the block is new or `isUnique()`. Different Tensors
/// may be used on different threads at once, a single Tensor object may not.
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

  /// Returns a new tensor. Plain elements are uninitialized, others default-constructed. Errors:
  /// InvalidArgument for a negative dimension or an element count that overflows, ResourceExhausted
  /// if there is no memory.
  static Expected<Tensor> make(DType dtype, Dims dims);
  static Expected<Tensor> make(DType dtype, std::initializer_list<int64_t> dims) {
    return make(dtype, Dims(dims.begin(), dims.size()));
  }
  /// Returns an uninitialized scalar of a plain dtype. Throws std::bad_alloc if there is no memory.
  static Tensor makeScalar(DType dtype) { return Tensor(allocateScalar(dtype)); }
  template <typename T> static Tensor scalar(DType dtype, T value) {
    Tensor t = makeScalar(dtype);
    *t.data<T>() = value;
    return t;
  }
  static Tensor scalarString(std::string value);
  /// Returns a rank-1 tensor of `values`; sizeof(T) must be the dtype's size.
  template <typename T> static Tensor vector(DType dtype, std::span<const T> values) {
    Tensor t = *make(dtype, {static_cast<int64_t>(values.size())});
    std::copy(values.begin(), values.end(), t.data<T>());
    return t;
  }
  /// Returns a tensor of elements that the caller owns, without a copy. `data` must stay valid
  /// until `release` is called, which happens once, on any thread, when the last reference goes.
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

  /// Whether this is the only reference to the elements, so that they may be overwritten in place.
  bool isUnique() const {
    return block->references.load(std::memory_order_acquire) == 1 &&
           (!block->owner || block->owner->references.load(std::memory_order_acquire) == 1) &&
           !block->isRef;
  }

  /// Returns the same elements under other dimensions of the same count, without a copy.
  Tensor withDims(Dims dims) const;
  /// Returns the same bytes under another dtype and other dimensions of the same size in bytes,
  /// without a copy.
  Tensor withDType(DType dtype, Dims dims) const;
  /// Returns a view of `dims` elements, starting at element `offset`, without a copy.
  Tensor view(int64_t offset, Dims dims) const;
  /// Returns a copy of the elements in a block of its own.
  Expected<Tensor> clone() const;

  bool sharesElementsWith(const Tensor &other) const { return raw() == other.raw(); }

  TensorBlock *get() const { return block; }
  TensorBlock *take() { return std::exchange(block, nullptr); }
  static Tensor adopt(TensorBlock *block) { return Tensor(block); }

  /// Returns the bytes of the elements of all live tensors in this process that are above the
  /// small-block pool's sizes.
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

/// Formats dtype and shape for messages: `int32[2,3]`.
std::string tensorTypeText(const Tensor &tensor);

} // namespace treadle
