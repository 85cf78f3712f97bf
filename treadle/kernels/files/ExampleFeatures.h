// Parses features of serialized tf.Example and tf.SequenceExample messages into columns: one for
// each requested feature, with its values in a batch of messages.
#pragma once

#include "treadle/kernels/Element.h"
#include "treadle/kernels/ElementCopy.h"

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace treadle {

enum class FeatureKind : uint8_t { Sparse, Dense, Ragged };

/// A requested feature. `isList` features are lists of steps in a SequenceExample's feature_lists,
/// the others are single Features in `features` or `context`.
struct FeatureSpec {
  FeatureKind kind = FeatureKind::Sparse;
  bool isList = false;
  DType dtype = DType::Invalid;
  DimVector shape = {};             // dense: of one value, without variable dim 0
  bool isVariable = false;          // dense: dimension 0 varies
  DType splitsDType = DType::Int64; // ragged
  bool isOfSequence = false;        // treat a Feature without a type as empty, not as missing
};

/// Values of one dtype (float32, int64 or string), appended one message at a time.
class FeatureValues {
public:
  explicit FeatureValues(DType dtype) : dtype(dtype) {}
  int64_t size() const;
  /// Appends the values of a serialized FloatList, Int64List or BytesList. Returns false if it is
  /// malformed.
  bool append(std::string_view list);
  void append(const Tensor &values);
  /// Moves elements [begin, begin + count) to `out` at `at`.
  void move(int64_t begin, int64_t count, Tensor &out, int64_t at);

private:
  DType dtype;
  std::vector<float> floats;
  std::vector<int64_t> integers;
  std::vector<std::string> texts;
};

/// One feature in all messages of a batch.
class FeatureColumn {
public:
  FeatureColumn(const FeatureSpec &spec, std::string_view key, Tensor absent, bool mayBeAbsent)
      : spec(spec), key(key), absent(std::move(absent)), mayBeAbsent(mayBeAbsent),
        values(spec.dtype) {}

  /// Adds the serialized Feature or FeatureList of the next message; null if it has none.
  Expected<void> add(const std::string_view *bytes);
  /// Returns the output tensors: indices, values and shape (sparse); values, for lists also their
  /// lengths (dense); or values and splits (ragged). With `isSingle` there is one message and no
  /// batch dimension.
  Expected<std::vector<Tensor>> finish(bool isSingle);

  std::string_view name() const { return key; }
  bool isList() const { return spec.isList; }

private:
  Expected<int64_t> addFeature(std::string_view feature);
  Expected<void> addAbsent();
  Expected<void> checkCount(int64_t count) const;
  Expected<std::vector<Tensor>> finishSparse(bool isSingle);
  Expected<std::vector<Tensor>> finishDense(bool isSingle);
  Expected<std::vector<Tensor>> finishRagged(bool isSingle);
  int64_t stride() const { return countBetween(spec.shape, 0, spec.shape.size()); }

  const FeatureSpec &spec;
  std::string key;
  Tensor absent; // default of a dense feature; empty: none
  bool mayBeAbsent;
  FeatureValues values;
  std::vector<int64_t> steps;   // lists: number of steps in each message
  std::vector<int64_t> lengths; // number of values in each message or step
};

/// Finds the columns' features in messages, and adds them.
class FeatureReader {
public:
  explicit FeatureReader(std::vector<FeatureColumn> &columns);
  Expected<void> addExample(std::string_view message);
  Expected<void> addSequenceExample(std::string_view message);

private:
  bool readMap(std::string_view map, bool isList);
  Expected<void> addFound();

  std::vector<FeatureColumn> &columns;
  std::unordered_multimap<std::string_view, size_t> plain, lists; // name to column index
  std::vector<std::string_view> found;
  std::vector<bool> isFound;
};

} // namespace treadle
