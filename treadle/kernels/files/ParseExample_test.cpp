// Tests of ops that read tf.Example messages.
#include "treadle/tensor/Wire.h"
#include "treadle/testing/KernelTest.h"

namespace treadle {
namespace {

std::string message(std::initializer_list<std::pair<uint64_t, std::string>> fields) {
  std::string out;
  for (const auto &[field, bytes] : fields)
    putBytes(out, field, bytes);
  return out;
}

std::string integers(std::initializer_list<uint64_t> values) {
  std::string packed;
  for (uint64_t value : values)
    putVarint(packed, value);
  return message({{3, message({{1, packed}})}});
}
std::string floats(std::initializer_list<float> values) {
  std::string packed;
  for (float value : values)
    packed.append(reinterpret_cast<const char *>(&value), sizeof value);
  return message({{2, message({{1, packed}})}});
}
std::string text(const char *value) { return message({{1, message({{1, value}})}}); }

std::string entry(const char *name, const std::string &feature) {
  return message({{1, message({{1, name}, {2, feature}})}});
}
std::string example(const std::string &features) { return message({{1, features}}); }

std::vector<TypeAttr> types(std::initializer_list<DType> dtypes) {
  std::vector<TypeAttr> out;
  for (DType dtype : dtypes)
    out.push_back({dtype});
  return out;
}

struct ExampleOp {
  AttrMap attrs;
  std::vector<Tensor> inputs;
  std::vector<DType> outputs;
};

// Features: `s` sparse int64, `d` dense float32[2] with a default, `r` ragged strings.
ExampleOp exampleOp(const std::vector<std::string> &examples, Tensor fallback) {
  ExampleOp op;
  op.attrs.set("sparse_types", types({DType::Int64}));
  op.attrs.set("num_sparse", int64_t{1});
  op.attrs.set("Tdense", types({DType::Float32}));
  op.attrs.set("dense_shapes", std::vector<PartialShape>{PartialShape::ranked({2})});
  op.attrs.set("ragged_value_types", types({DType::String}));
  op.attrs.set("ragged_split_types", types({DType::Int32}));
  op.inputs = {vec<std::string>(examples), vec<std::string>({}),    vec<std::string>({"s"}),
               vec<std::string>({"d"}),    vec<std::string>({"r"}), std::move(fallback)};
  op.outputs = {DType::Int64,   DType::Int64,  DType::Int64,
                DType::Float32, DType::String, DType::Int32};
  return op;
}

TEST(ParseExampleTest, SparseDenseAndRagged) {
  ExampleOp op = exampleOp(
      {example(entry("s", integers({5, 6})) + entry("d", floats({1, 2})) + entry("r", text("x"))),
       example(""), example(entry("s", integers({7})) + entry("z", text("")))},
      vec<float>({8, 9}));
  std::vector<Tensor> out = runAll("ParseExampleV2", op.inputs, op.outputs, op.attrs);
  ASSERT_EQ(out.size(), 6u);
  EXPECT_EQ(values<int64_t>(out[0]), (std::vector<int64_t>{0, 0, 0, 1, 2, 0}));
  EXPECT_EQ(values<int64_t>(out[1]), (std::vector<int64_t>{5, 6, 7}));
  EXPECT_EQ(values<int64_t>(out[2]), (std::vector<int64_t>{3, 2}));
  EXPECT_EQ(values<float>(out[3]), (std::vector<float>{1, 2, 8, 9, 8, 9}));
  EXPECT_EQ(values<std::string>(out[4]), (std::vector<std::string>{"x"}));
  EXPECT_EQ(values<int32_t>(out[5]), (std::vector<int32_t>{0, 1, 1, 1}));
}

TEST(ParseExampleTest, LastDuplicateFeatureWins) {
  ExampleOp op = exampleOp({example(entry("s", integers({5, 6})) + entry("s", integers({7})))},
                           vec<float>({8, 9}));
  std::vector<Tensor> out = runAll("ParseExampleV2", op.inputs, op.outputs, op.attrs);
  ASSERT_EQ(out.size(), 6u);
  EXPECT_EQ(values<int64_t>(out[1]), (std::vector<int64_t>{7}));
}

TEST(ParseExampleTest, Errors) {
  auto error = [](const std::string &bytes, Tensor fallback) {
    ExampleOp op = exampleOp({bytes}, std::move(fallback));
    return errorOf("ParseExampleV2", op.inputs, op.outputs, op.attrs);
  };
  Tensor none = vec<float>({}), given = vec<float>({8, 9});
  EXPECT_EQ(error(example(""), none),
            "InvalidArgumentError: message 0: feature 'd' (float32) is missing and has no default; "
            "give it one if it may be");
  EXPECT_EQ(error(example(entry("d", integers({1, 2}))), given),
            "InvalidArgumentError: message 0: feature 'd' holds int64, expected float32");
  EXPECT_EQ(error(example(entry("d", floats({1}))), given),
            "InvalidArgumentError: message 0: feature 'd' has 1 values, expected 2 for the shape "
            "[2]");
  EXPECT_EQ(error("\x0a\x50", given),
            "InvalidArgumentError: message 0: the bytes are not a serialized Example");
  EXPECT_EQ(error(example(""), vec<float>({1, 2, 3})),
            "InvalidArgumentError: the default of feature 'd' is float32[3], expected float32 of "
            "the shape [2]");
}

TEST(ParseExampleTest, SequencesArePadded) {
  std::string steps = message({{1, integers({1})}, {1, integers({2})}});
  std::string lists = message({{1, message({{1, "l"}, {2, steps}})}});
  AttrMap attrs;
  attrs.set("feature_list_dense_keys", std::vector<std::string>{"l"});
  attrs.set("feature_list_dense_types", types({DType::Int64}));
  attrs.set("feature_list_dense_shapes", std::vector<PartialShape>{PartialShape::ranked({})});
  std::vector<Tensor> inputs = {vec<std::string>({message({{2, lists}}), ""}),
                                vec<std::string>({})};
  std::vector<DType> dtypes = {DType::Int64, DType::Int64};
  EXPECT_EQ(errorClassOf("ParseSequenceExample", inputs, dtypes, attrs), "InvalidArgumentError");
  attrs.set("feature_list_dense_missing_assumed_empty", std::vector<std::string>{"l"});
  std::vector<Tensor> out = runAll("ParseSequenceExample", inputs, dtypes, attrs);
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(dimsText(out[0].dims()), "[2,2]");
  EXPECT_EQ(values<int64_t>(out[0]), (std::vector<int64_t>{1, 2, 0, 0}));
  EXPECT_EQ(values<int64_t>(out[1]), (std::vector<int64_t>{2, 0}));
}

} // namespace
} // namespace treadle
