// The object behind the TensorArray ops of v1: tensors that are each written once and read, usually
// once, and whose gradients are arrays of the same size that add up what is written to them.
#pragma once

#include "treadle/kernels/ElementShapes.h"
#include "treadle/tensor/KeptMemory.h"
#include "treadle/tensor/Resource.h"

#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace treadle {

/// What is said of an array when it is made.
struct TensorArrayTraits {
  DType dtype = DType::Invalid;
  PartialShape elementShape;
  bool isDynamic = false;          // writing beyond the end makes it longer
  bool clearsAfterRead = true;     // an element may be read once
  bool hasIdenticalShapes = false; // the first element written tells the shape of all
  bool sumsWrites = false;         // an element may be written again: the values are added
};

/// Thread-safe; every call locks.
class TensorArray final : public Resource {
public:
  static constexpr std::string_view kindName = "tensor array";
  std::string_view kind() const override { return kindName; }

  TensorArray(TensorArrayTraits traits, int64_t size)
      : traits(std::move(traits)), elements(static_cast<size_t>(size), share) {}

  DType dtype() const { return traits.dtype; }
  Expected<int64_t> size() const;
  bool isDynamic() const;
  /// How many elements are joined by Concat and Pack: all, but of an array of gradients those that
  /// the array's own values were split into.
  Expected<int64_t> joinedSize() const;
  /// Says that a value was split into this many elements.
  void markSplit(int64_t size);

  std::optional<Error> write(int64_t index, Tensor value);
  Expected<Tensor> read(int64_t index);
  /// States the shape of the elements; an error where it contradicts what is known.
  std::optional<Error> stateShape(const PartialShape &shape);

  /// The array of gradients by that name, made at the first call: one of the same size, whose
  /// elements have the shapes of this one's, with `prepended` before them. This one keeps its
  /// size from then on.
  Expected<Ref<TensorArray>> gradient(const std::string &source, Dims prepended);

  /// Lets go of everything. Whatever is done after that is an error.
  void close();

private:
  struct Element {
    Tensor value;       // may be empty though it was written: zeros of that shape
    PartialShape shape; // known once it was written
    bool isWritten = false, isRead = false, isCleared = false;
  };

  std::optional<Error> checkWrite(int64_t index, const Tensor &value);
  std::optional<Error> add(int64_t index, Tensor value);
  Ref<TensorArray> makeGradient(Dims prepended) const;

  const MemoryShare share;
  mutable std::mutex mutex;
  TensorArrayTraits traits;
  KeptVector<Element> elements;
  std::vector<std::pair<std::string, Ref<TensorArray>>> gradients;
  int64_t splitSize = 0;
  bool isGradient = false;
  bool isClosed = false;
  bool wasSummed = false; // then there is no gradient
};

/// More elements than any array may have.
inline constexpr int64_t maxTensorArraySize = int64_t{1} << 26;

} // namespace treadle
