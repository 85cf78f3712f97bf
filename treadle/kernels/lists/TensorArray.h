// The resource of v1 TensorArray ops: each element is written once and usually read once. Gradients
// are arrays of the same size that sum what is written to an element.
#pragma once

#include "treadle/kernels/ElementShapes.h"
#include "treadle/tensor/BudgetedMemory.h"
#include "treadle/tensor/Resource.h"

#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace treadle {

/// The parameters of an array.
struct TensorArrayTraits {
  DType dtype = DType::Invalid;
  PartialShape elementShape;
  bool isDynamic = false;          // writing past the end grows the array
  bool clearsAfterRead = true;     // elements may be read only once
  bool hasIdenticalShapes = false; // all elements have the shape of the first one written
  bool sumsWrites = false;         // repeated writes to an element are summed
};

/// A tensor array. Thread-safe; every call locks.
class TensorArray final : public Resource {
public:
  static constexpr std::string_view kindName = "tensor array";
  std::string_view kind() const override { return kindName; }

  TensorArray(TensorArrayTraits traits, int64_t size)
      : traits(std::move(traits)), elements(static_cast<size_t>(size), share) {}

  DType dtype() const { return traits.dtype; }
  Expected<int64_t> size() const;
  bool isDynamic() const;
  /// Returns the number of elements that Concat and Pack join: all, but in an array of gradients
  /// those that the array's own value was split into.
  Expected<int64_t> concatenatedSize() const;
  /// Records that a value was split into this many elements.
  void recordSplit(int64_t size);

  std::optional<Error> write(int64_t index, Tensor value);
  Expected<Tensor> read(int64_t index);
  /// Sets the shape of the elements; returns an error if it is incompatible with the known shape.
  std::optional<Error> setElementShape(const PartialShape &shape);

  /// Returns the array of gradients of that name, created on first use: of the same size, with
  /// elements of this array's shapes with `prepended` before them. Fixes this array's size.
  Expected<Ref<TensorArray>> gradient(const std::string &source, Dims prepended);

  /// Frees all elements. Any later access is an error.
  void close();

private:
  struct TensorArrayElement {
    Tensor value;       // empty although written: zeros of that shape
    PartialShape shape; // known once written
    bool isWritten = false, isRead = false, isCleared = false;
  };

  std::optional<Error> checkWrite(int64_t index, const Tensor &value);
  std::optional<Error> add(int64_t index, Tensor value);
  Ref<TensorArray> makeGradient(Dims prepended) const;

  const MemoryShare share;
  mutable std::mutex mutex;
  TensorArrayTraits traits;
  BudgetedVector<TensorArrayElement> elements;
  std::vector<std::pair<std::string, Ref<TensorArray>>> gradients;
  int64_t splitSize = 0;
  bool isGradient = false;
  bool isClosed = false;
  bool hasSummedWrites = false; // no gradient is possible then
};

/// Upper limit for the number of elements of an array.
inline constexpr int64_t maxTensorArraySize = int64_t{1} << 26;

} // namespace treadle
