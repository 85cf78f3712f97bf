// Uses treadle/c.h as a C program would.
#include "treadle/c.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>

extern "C" size_t treadle_test_options_size(void);

namespace {

constexpr const char *adds = R"(
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
node { name: "y" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
node { name: "sum" op: "AddV2" input: "x" input: "y" attr { key: "T" value { type: DT_FLOAT } } }
)";

std::string taken(treadle_status *status) {
  std::string message =
      status ? std::to_string(treadle_status_code(status)) + ": " + treadle_status_message(status)
             : "";
  treadle_status_free(status);
  return message;
}
#define EXPECT_OK(call) EXPECT_EQ(taken(call), "")
#define ASSERT_OK(call) ASSERT_EQ(taken(call), "")

/// Frees the handle at the end of its scope.
template <typename T, void (*free)(T *)> struct Own {
  ~Own() { free(it); }
  operator T *() const { return it; }
  T **operator&() { return &it; }
  T *it = nullptr;
};
using Array = Own<treadle_array, treadle_array_free>;
using GraphHandle = Own<treadle_graph, treadle_graph_free>;
using SessionHandle = Own<treadle_session, treadle_session_free>;
using Values = Own<treadle_values, treadle_values_free>;
using ModelHandle = Own<treadle_model, treadle_model_free>;
using Ops = Own<treadle_ops, treadle_ops_free>;

void read(const std::string &text, GraphHandle &graph) {
  ASSERT_OK(treadle_graph_from_bytes(text.data(), text.size(), &graph));
}

void makeFloats(std::initializer_list<float> values, Array &array) {
  int64_t dims[] = {static_cast<int64_t>(values.size())};
  ASSERT_OK(treadle_array_make(TREADLE_FLOAT32, 1, dims, &array));
  std::copy(values.begin(), values.end(), static_cast<float *>(treadle_array_mutable_data(array)));
}

std::vector<float> floats(const treadle_array *array) {
  auto *data = static_cast<const float *>(treadle_array_data(array));
  return {data, data + treadle_array_count(array)};
}

treadle_status *runSum(treadle_session *session, treadle_array *x, treadle_array *y,
                       treadle_array **sum, const char *fetch = "sum:0") {
  const char *feeds[] = {"x:0", "y:0"};
  treadle_array *values[] = {x, y};
  return treadle_session_run(session, 2, feeds, values, 1, &fetch, sum, 0, nullptr);
}

TEST(CApi, RunsAGraph) {
  GraphHandle graph;
  read(adds, graph);
  SessionHandle session;
  ASSERT_OK(treadle_session_make(graph, nullptr, &session));
  Array x, y, sum;
  makeFloats({1, 2, 3}, x);
  makeFloats({10, 20, 30}, y);
  ASSERT_OK(runSum(session, x, y, &sum));
  EXPECT_EQ(treadle_array_dtype(sum), TREADLE_FLOAT32);
  EXPECT_EQ(treadle_array_rank(sum), 1);
  EXPECT_EQ(treadle_array_dims(sum)[0], 3);
  EXPECT_EQ(treadle_array_bytes(sum), 12U);
  EXPECT_EQ(floats(sum), (std::vector<float>{11, 22, 33}));
}

TEST(CApi, SaysWhatIsWrong) {
  GraphHandle graph;
  EXPECT_EQ(taken(treadle_graph_from_file("/not/there.pb", &graph)).substr(0, 3), "5: ");
  EXPECT_EQ(taken(treadle_graph_from_file(nullptr, &graph)), "3: argument 'path' is null");
  read(adds, graph);
  SessionHandle session;
  treadle_options options = TREADLE_OPTIONS;
  options.tier = 7;
  EXPECT_EQ(taken(treadle_session_make(graph, &options, &session)),
            "3: option tier is 7, expected 0 to 2");
  ASSERT_OK(treadle_session_make(graph, nullptr, &session));
  Array x, sum;
  makeFloats({1}, x);
  EXPECT_NE(taken(runSum(session, x, x, &sum, "total:0")), "");
  EXPECT_EQ(sum.it, nullptr);
  EXPECT_EQ(taken(runSum(session, x, nullptr, &sum)), "3: the array for 'y:0' is null");
  int64_t dims[] = {-1};
  Array array;
  EXPECT_NE(taken(treadle_array_make(TREADLE_FLOAT32, 1, dims, &array)), "");
  EXPECT_NE(taken(treadle_array_make(77, 0, nullptr, &array)), "");
  EXPECT_NE(taken(treadle_array_make(TREADLE_FLOAT32, 1, nullptr, &array)), "");
  EXPECT_EQ(taken(nullptr), "");
}

TEST(CApi, OfNullThereIsNothingToTell) {
  EXPECT_EQ(treadle_model_num_signatures(nullptr), 0);
  EXPECT_EQ(treadle_model_signature(nullptr, 0), nullptr);
  EXPECT_EQ(treadle_values_count(nullptr), 0);
  EXPECT_EQ(treadle_values_key(nullptr, 0), nullptr);
  EXPECT_EQ(treadle_values_dims(nullptr, 0), nullptr);
  EXPECT_EQ(treadle_array_dtype(nullptr), 0);
  EXPECT_EQ(treadle_array_rank(nullptr), 0);
  EXPECT_EQ(treadle_array_dims(nullptr), nullptr);
  EXPECT_EQ(treadle_array_count(nullptr), 0);
  EXPECT_EQ(treadle_array_data(nullptr), nullptr);
  EXPECT_EQ(treadle_array_mutable_data(nullptr), nullptr);
  EXPECT_EQ(treadle_array_bytes(nullptr), 0u);
  EXPECT_EQ(treadle_array_string(nullptr, 0, nullptr), nullptr);
  EXPECT_FALSE(treadle_session_is_compiling(nullptr));
  treadle_session_cancel(nullptr);
}

TEST(CApi, ReadsElementsWhereTheyLie) {
  GraphHandle graph;
  read(adds, graph);
  SessionHandle session;
  ASSERT_OK(treadle_session_make(graph, nullptr, &session));
  alignas(64) float elements[100];
  std::fill_n(elements, 100, 2.0F);
  int64_t dims[] = {100};
  std::atomic<int> released = 0;
  auto release = [](void *context) { ++*static_cast<std::atomic<int> *>(context); };
  {
    Array x, sum;
    ASSERT_OK(treadle_array_of(TREADLE_FLOAT32, 1, dims, elements, release, &released, &x));
    EXPECT_EQ(treadle_array_data(x), elements);
    ASSERT_OK(runSum(session, x, x, &sum));
    EXPECT_EQ(floats(sum), std::vector<float>(100, 4.0F));
    EXPECT_EQ(elements[0], 2.0F);
    EXPECT_EQ(released, 0);
  }
  EXPECT_EQ(released, 1);
  Array odd;
  EXPECT_NE(taken(treadle_array_of(TREADLE_FLOAT32, 1, dims, reinterpret_cast<char *>(elements) + 1,
                                   nullptr, nullptr, &odd)),
            "");
}

TEST(CApi, HoldsStrings) {
  Array array;
  int64_t dims[] = {2};
  ASSERT_OK(treadle_array_make(TREADLE_STRING, 1, dims, &array));
  ASSERT_OK(treadle_array_set_string(array, 1, "a\0b", 3));
  size_t size = 99;
  EXPECT_EQ(std::string(treadle_array_string(array, 1, &size), size), std::string("a\0b", 3));
  EXPECT_STREQ(treadle_array_string(array, 0, nullptr), "");
  EXPECT_EQ(treadle_array_string(array, 2, nullptr), nullptr);
  EXPECT_EQ(treadle_array_data(array), nullptr);
  Array other;
  other.it = treadle_array_share(array);
  EXPECT_EQ(taken(treadle_array_set_string(array, 0, "x", 1)),
            "9: the array's elements are shared");
}

TEST(CApi, TellsWhatAGraphTakesAndGives) {
  GraphHandle graph;
  read(adds, graph);
  Values inputs, outputs;
  ASSERT_OK(treadle_graph_inputs(graph, &inputs));
  ASSERT_OK(treadle_graph_outputs(graph, &outputs));
  ASSERT_EQ(treadle_values_count(inputs), 2);
  EXPECT_STREQ(treadle_values_name(inputs, 1), "y:0");
  EXPECT_EQ(treadle_values_dtype(inputs, 0), TREADLE_FLOAT32);
  EXPECT_EQ(treadle_values_rank(inputs, 0), -1);
  ASSERT_EQ(treadle_values_count(outputs), 1);
  EXPECT_STREQ(treadle_values_name(outputs, 0), "sum:0");
  EXPECT_EQ(treadle_values_name(outputs, 1), nullptr);
  char *text = nullptr;
  ASSERT_OK(treadle_graph_to_text(graph, &text));
  EXPECT_NE(std::strstr(text, "AddV2"), nullptr);
  treadle_text_free(text);
}

TEST(CApi, RunsPassesOverAGraph) {
  GraphHandle graph, changed, none;
  read(adds, graph);
  ASSERT_OK(treadle_graph_run_passes(graph, "tfg-toposort", &changed));
  EXPECT_EQ(taken(treadle_graph_run_passes(graph, "no-pass", &none)).substr(0, 3), "3: ");
  EXPECT_EQ(none.it, nullptr);
  char *bytes = nullptr;
  size_t size = 0;
  ASSERT_OK(treadle_graph_to_bytes(changed, &bytes, &size));
  GraphHandle again;
  ASSERT_OK(treadle_graph_from_bytes(bytes, size, &again));
  treadle_text_free(bytes);
}

TEST(CApi, CallsAModel) {
  std::string path = testing::TempDir() + "c_api_model.mlir";
  std::ofstream(path) << R"(
func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
  %y = stablehlo.add %x, %x : tensor<3xf32>
  return %y : tensor<3xf32>
})";
  ModelHandle model;
  ASSERT_OK(treadle_model_load(path.c_str(), nullptr, &model));
  ASSERT_EQ(treadle_model_num_signatures(model), 1);
  const char *signature = treadle_model_signature(model, 0);
  Values inputs, outputs;
  ASSERT_OK(treadle_model_inputs(model, signature, &inputs));
  ASSERT_OK(treadle_model_outputs(model, signature, &outputs));
  ASSERT_EQ(treadle_values_count(inputs), 1);
  ASSERT_EQ(treadle_values_count(outputs), 1);
  EXPECT_EQ(treadle_values_rank(inputs, 0), 1);
  EXPECT_EQ(treadle_values_dims(inputs, 0)[0], 3);
  Array x, y;
  makeFloats({1, 2, 3}, x);
  const char *in = treadle_values_key(inputs, 0), *out = treadle_values_key(outputs, 0);
  treadle_array *value = x;
  ASSERT_OK(treadle_model_call(model, signature, 1, &in, &value, 1, &out, &y));
  EXPECT_EQ(floats(y), (std::vector<float>{2, 4, 6}));
  const char *other = "other";
  treadle_array *nothing = nullptr;
  EXPECT_EQ(taken(treadle_model_call(model, signature, 1, &in, &value, 1, &other, &nothing)),
            std::string("5: signature '") + signature + "' has no output 'other'");
  EXPECT_EQ(taken(treadle_model_inputs(model, "other", &inputs)).substr(0, 3), "5: ");
}

constexpr const char *scales = R"(
node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
node { name: "y" op: "Scale" input: "x"
  attr { key: "by" value { i: 3 } } attr { key: "what" value { s: "all" } } }
node { name: "z" op: "Identity" input: "y" attr { key: "T" value { type: DT_FLOAT } } }
)";

void scale(treadle_op_call *call, void *context) {
  ++*static_cast<std::atomic<int> *>(context);
  int64_t by = 0;
  float missing = 0;
  const char *what = nullptr;
  size_t size = 0;
  EXPECT_OK(treadle_op_attr_int(call, "by", &by));
  EXPECT_OK(treadle_op_attr_string(call, "what", &what, &size));
  EXPECT_EQ(std::string(what, size), "all");
  EXPECT_NE(taken(treadle_op_attr_float(call, "missing", &missing)), "");
  EXPECT_STREQ(treadle_op_node(call), "y");
  EXPECT_EQ(treadle_op_input(call, 1), nullptr);
  const treadle_array *x = treadle_op_input(call, 0);
  if (treadle_array_count(x) == 0)
    return treadle_op_fail(call, TREADLE_OUT_OF_RANGE, "nothing to scale");
  Array y;
  EXPECT_OK(treadle_array_make(TREADLE_FLOAT32, treadle_array_rank(x), treadle_array_dims(x), &y));
  auto *out = static_cast<float *>(treadle_array_mutable_data(y));
  for (float value : floats(x))
    *out++ = value * static_cast<float>(by);
  treadle_op_set_output(call, 0, y);
}

TEST(CApi, CallsFunctionsOfTheProgram) {
  std::atomic<int> calls = 0, freed = 0;
  struct Context {
    std::atomic<int> *calls, *freed;
  } context{&calls, &freed};
  auto function = [](treadle_op_call *call, void *given) {
    scale(call, static_cast<Context *>(given)->calls);
  };
  auto end = [](void *given) { ++*static_cast<Context *>(given)->freed; };
  {
    SessionHandle session;
    {
      Ops ops;
      ASSERT_OK(treadle_ops_make(&ops));
      treadle_op_traits traits{sizeof traits, 0, 0};
      ASSERT_OK(treadle_ops_add(ops, "Scale", function, &context, end, &traits));
      GraphHandle graph;
      std::string text = scales;
      read(text, graph);
      treadle_options options = TREADLE_OPTIONS;
      options.ops = ops;
      ASSERT_OK(treadle_session_make(graph, &options, &session));
      EXPECT_EQ(taken(treadle_ops_add(ops, "Late", function, &context, nullptr, nullptr)),
                "9: op 'Late' must be added before a session is created with these ops");
    }
    Array x, none, y;
    makeFloats({1, 2}, x);
    makeFloats({}, none);
    const char *feed = "x", *fetch = "z:0";
    treadle_array *value = x;
    ASSERT_OK(treadle_session_run(session, 1, &feed, &value, 1, &fetch, &y, 0, nullptr));
    EXPECT_EQ(floats(y), (std::vector<float>{3, 6}));
    value = none;
    treadle_array *nothing = nullptr;
    std::string failed =
        taken(treadle_session_run(session, 1, &feed, &value, 1, &fetch, &nothing, 0, nullptr));
    EXPECT_EQ(failed.substr(0, 4), "11: ");
    EXPECT_NE(failed.find("nothing to scale"), failed.npos);
    EXPECT_EQ(nothing, nullptr);
    EXPECT_EQ(freed, 0);
  }
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(freed, 1);
}

TEST(CApi, OptionsOfAnOlderProgramAreItsOwnAlone) {
  EXPECT_EQ(treadle_test_options_size(), sizeof(treadle_options));
  GraphHandle graph;
  read(adds, graph);
  SessionHandle session;
  treadle_options options = TREADLE_OPTIONS;
  options.trace = 1;
  options.size = offsetof(treadle_options, trace);
  ASSERT_OK(treadle_session_make(graph, &options, &session));
  char *json = nullptr;
  EXPECT_EQ(taken(treadle_session_trace(session, &json)).substr(0, 3), "9: ");
}

TEST(CApi, CountsAndTraces) {
  GraphHandle graph;
  read(adds, graph);
  SessionHandle session;
  treadle_options options = TREADLE_OPTIONS;
  options.trace = options.statistics = 1;
  ASSERT_OK(treadle_session_make(graph, &options, &session));
  Array x, sum;
  makeFloats({1}, x);
  ASSERT_OK(runSum(session, x, x, &sum));
  char *text = nullptr;
  ASSERT_OK(treadle_session_trace(session, &text));
  EXPECT_NE(std::strstr(text, "traceEvents"), nullptr);
  treadle_text_free(text);
  ASSERT_OK(treadle_session_profile(session, &text));
  EXPECT_NE(std::strstr(text, "AddV2"), nullptr);
  treadle_text_free(text);
  treadle_statistics statistics{};
  statistics.size = offsetof(treadle_statistics, compiled_calls);
  statistics.bails = -5;
  ASSERT_OK(treadle_session_statistics(session, &statistics));
  EXPECT_EQ(statistics.runs, 1);
  EXPECT_EQ(statistics.bails, -5);
}

TEST(CApi, ARunIsCancelled) {
  constexpr const char *waits = R"(
node { name: "q" op: "FIFOQueueV2"
  attr { key: "component_types" value { list { type: DT_FLOAT } } } }
node { name: "x" op: "QueueDequeueV2" input: "q"
  attr { key: "component_types" value { list { type: DT_FLOAT } } } }
)";
  GraphHandle graph;
  read(waits, graph);
  SessionHandle session;
  ASSERT_OK(treadle_session_make(graph, nullptr, &session));
  std::atomic<bool> isDone = false;
  std::string end;
  std::thread runs([&] {
    const char *fetch = "x:0";
    treadle_array *result = nullptr;
    end = taken(treadle_session_run(session, 0, nullptr, nullptr, 1, &fetch, &result, 0, nullptr));
    isDone = true;
  });
  while (!isDone)
    treadle_session_cancel(session);
  runs.join();
  EXPECT_EQ(end.substr(0, 3), "1: ");
}

} // namespace
