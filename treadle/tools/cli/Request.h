// The requests of `run`, `bench` and `profile`: a model, its inputs and fetches.
#pragma once

#include "treadle/Sandbox.h"
#include "treadle/tensor/ByName.h"
#include "treadle/tools/cli/Command.h"

#include <optional>
#include <variant>

namespace treadle::cli {

/// Runs a request: a session of this process, or a sandbox.
using Runner = std::variant<Session, Sandbox>;
bool isCompiling(const Runner &runner);

struct Request {
  Graph graph = {}; // empty with a sandbox, since this process then reads nothing of the model
  SessionOptions options = {};
  std::vector<std::string> fetches = {}, targets = {}, setup = {};
  Session::Feeds feeds = {};
  std::optional<Model> model = {}; // for a SavedModel
  /// The signature, if one is called: inputs and fetches are then its keys.
  std::optional<Graph::Signature> signature = {};
  /// The function, if one is called; `signature` is then that of the variant that fits the inputs.
  const ModelFunction *function = nullptr;
  std::optional<Sandbox> sandbox = {}; // holds the model instead of this process

  /// Creates a session and runs the setup nodes in it.
  Expected<Session> makeSession() const;
  /// Creates a session as above, or returns the sandbox.
  Expected<Runner> makeRunner() const;
  /// The values that can be fed, with the names to feed them by.
  std::vector<Graph::Value> inputs() const;
  /// Adds advice to an error: for a missing value the inputs and how to set them, for an
  /// uninitialized variable how to initialize it.
  Error withAdvice(Error error) const;
  /// Runs once; adds advice to errors.
  Expected<std::vector<Tensor>> run(const Runner &runner) const;
};

/// Full names of the inputs or outputs of a request, to which it refers.
class ValueNames {
public:
  ValueNames(const Request &request, bool isInput);

  /// Returns `x:0` for `x`; keys of a signature unchanged. `0`, `1`, ... are inputs by position; in
  /// a graph its placeholders.
  std::string operator()(std::string_view name) const;

private:
  std::string ofGraph(std::string_view name) const;

  const Request &request;
  const std::vector<std::pair<std::string, Graph::Value>> *listed = nullptr; // null: no signature
  std::optional<ByName<Graph::Value>> keys;
  std::vector<Graph::Value> inputs; // of a graph
};

/// The help text of --fast-math.
inline constexpr std::string_view fastMathHelp =
    "let compiled code round differently if that is faster; docs/tiers.md lists the error bounds";

inline constexpr OptionRow denormalsOption = {"--denormals", "flush|keep",
                                              "what arithmetic makes of denormal numbers: zero "
                                              "(flush, the default), or as IEEE 754 has them"};
/// Parses the value of --denormals.
Parsed<Denormals> parseDenormalsOption(const Arguments &args);

/// The options of these commands.
#define TREADLE_RUN_OPTIONS                                                                        \
  {"--fetch", "T,...", "tensors to fetch: x:0; in a loop also x:0@3, x:0@last, x:0@*"},            \
      {"--target", "N,...", "nodes to run for their side effects"},                                \
      {"--setup", "N,...", "nodes to run once before, such as variable initializers"},             \
      {"--input", "K=VALUE", "value of an input: 5, [1,2,3], 2x3xf32=0, @file.npy, random"},       \
      {"--threads", "N", "number of threads for a run; default: one for each core"},               \
      {"--cores", "N,...", "cores to run on, such as 0,1; default: all that the process may use"}, \
      {"--timeout", "S", "time limit of a run in seconds"},                                        \
      {"--allow-read", "PATH", "folder or file that ops may read; default: the model's own"},      \
      {"--allow-write", "PATH", "folder or file that ops may write"},                              \
      {"--allow-clock", "", "let ops read the time of day"},                                       \
      {"--memory", "SIZE", "memory limit for tensors: 512MiB, 2GiB; default: no limit"},           \
      {"--tier", "auto|interpret|jit",                                                             \
       "when to compile: in the background (auto, the default), never (interpret), or before the " \
       "first run (jit)"},                                                                         \
      {"--fast-math", "", fastMathHelp}, denormalsOption,                                          \
      {"--loop-overlap", "auto|off|on", "loops whose iterations may overlap; default: auto"},      \
      {"--passes", "PIPELINE", "passes to run on the graph first: tfg-default"},                   \
      {"--signature", "S", "signature of a SavedModel to call; default: serving_default"},         \
      {"--function", "F", "function of a SavedModel to call, as listed by 'treadle show'"}

/// The option of commands that support sandboxes.
inline constexpr OptionRow sandboxOption = {
    "--sandbox", "", "run the model in a separate, sandboxed process: docs/security.md"};

/// The use of a request.
struct RequestUse {
  bool isCheck = false;     // feeds and fetches come from a file
  bool joinsOthers = false; // joins the processes that mpirun started
  bool traces = false;      // traces even without --trace
  bool countsCode = false;  // profiles compiled code
  bool compiles = false;    // compiles before the first run (tier jit)
};

/// Replaces keys of the called signature, if any, by its tensors.
void useTensorNames(Request &request);

/// Reads the model and the options. Returns nullopt on an error, after reporting it and setting the
/// exit status.
std::optional<Request> makeRequest(const Arguments &args, RequestUse use, int &status);

} // namespace treadle::cli
