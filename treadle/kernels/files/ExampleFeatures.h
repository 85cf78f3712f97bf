// The features of serialized tf.Example and tf.SequenceExample messages, gathered into columns: for
// each feature that is asked for, its values of a batch of messages.
#pragma once

#include "treadle/kernels/Element.h"
#include "treadle/kernels/ElementCopy.h"

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace treadle {

enum class FeatureKind : uint8_t { Sparse, Dense, Ragged };

/// A feature that is asked for. `isList` features are lists of steps in a SequenceExample's
/// feature_lists, the others plain ones in `features` or `context`.
struct FeatureSpec {
  FeatureKind kind = FeatureKind::Sparse;
  bool isList = false;
  DType dtype = DType::Invalid;
  DimVector shape = {};             // dense: of one message's (or step's) value, without a variable
                                    // first dimension
  bool isVariable = false;          // dense: the first dimension is as long as there are values
  DType splitsDType = DType::Int64; // ragged
  bool isOfSequence = false; // a Feature that sets no kind has no values, instead of being absent
};

/// Elements of one dtype (float32, int64 or string), as many as come.
class FeatureValues {
public:
  explicit FeatureValues(DType dtype) : dtype(dtype) {}
  int64_t size() const;
  /// The values in the bytes of a FloatList, Int64List or BytesList. False: malformed.
  bool append(std::string_view list);
  void append(const Tensor &values);
  /// Elements [begin, begin + count) into `out` at `at`.
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

  /// The bytes of the Feature or FeatureList in the next message; null where there is none.
  Expected<void> add(const std::string_view *bytes);
  /// Tensors of all messages: indices, values and shape; or values (and, of lists, their lengths);
  /// or values and splits. `isSingle`: there is one message, and no dimension for it.
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
  Tensor absent; // the value where a message lacks a dense feature; empty: none
  bool mayBeAbsent;
  FeatureValues values;
  std::vector<int64_t> steps;   // lists: how many each message has
  std::vector<int64_t> lengths; // how many values each message or step has
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
  std::unordered_multimap<std::string_view, size_t> plain, lists; // columns by name
  std::vector<std::string_view> found;
  std::vector<bool> isFound;
};

} // namespace treadle
