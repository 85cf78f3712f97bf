// What `run`, `bench` and `profile` are asked: a model, its inputs, what to fetch.
#pragma once

#include "treadle/Sandbox.h"
#include "treadle/tools/cli/Command.h"

#include <optional>
#include <variant>

namespace treadle::cli {

/// What runs a request: a session of this process, or a sandbox.
using Runner = std::variant<Session, Sandbox>;
bool isCompiling(const Runner &runner);

struct Request {
  Graph graph = {}; // empty with a sandbox, where nothing of the model is read here
  SessionOptions options = {};
  std::vector<std::string> fetches = {}, targets = {}, setup = {};
  Session::Feeds feeds = {};
  std::optional<Model> model = {}; // of a SavedModel
  /// Of the model, if one is called: inputs and fetches are then its keys.
  std::optional<Graph::Signature> signature = {};
  /// Of the model, if one is called; `signature` is then that of the variant that takes the inputs.
  const ModelFunction *function = nullptr;
  std::optional<Sandbox> sandbox = {}; // which the model is in, instead of this process

  /// In which the setup's nodes have run.
  Expected<Session> makeSession() const;
  /// The same, or the sandbox.
  Expected<Runner> makeRunner() const;
  /// What can be fed, by the names that it is fed by.
  std::vector<Graph::Value> inputs() const;
  /// `x:0` for `x`; keys of a signature as they are. `0`, `1`, ... are inputs by place, in a graph
  /// those of its placeholders.
  std::string valueName(std::string_view name, bool isInput) const;
  /// An error about a missing value lists the inputs and how to give them, one about a variable
  /// that has none how to initialize it.
  Error withAdvice(Error error) const;
  /// Runs once; errors come with advice.
  Expected<std::vector<Tensor>> run(const Runner &runner) const;
};

/// What --fast-math allows.
inline constexpr std::string_view fastMathHelp =
    "let compiled code round differently where that is faster; docs/tiers.md has the bounds";

/// The options that these commands take.
#define TREADLE_RUN_OPTIONS                                                                        \
  {"--fetch", "T,...", "tensors to compute: x:0; in a loop also x:0@3, x:0@last, x:0@*"},          \
      {"--target", "N,...", "nodes to run for their effects"},                                     \
      {"--setup", "N,...", "nodes to run once before, such as those that initialize variables"},   \
      {"--input", "K=VALUE", "the value of an input: 5, [1,2,3], 2x3xf32=0, @file.npy, random"},   \
      {"--threads", "N", "threads that a run may use; by default one for each core"},              \
      {"--cores", "N,...", "cores to run on, by number; by default all that the process may use"}, \
      {"--timeout", "S", "seconds after which a run fails"},                                       \
      {"--allow-read", "PATH", "a folder or file that ops may read; by default the model's own"},  \
      {"--allow-write", "PATH", "a folder or file that ops may write"},                            \
      {"--allow-clock", "", "ops may ask for the time of day"},                                    \
      {"--memory", "SIZE", "what tensors may take: 512MiB, 2GiB; by default all that there is"},   \
      {"--tier", "auto|interpret|jit",                                                             \
       "when to compile: on another thread (auto, the default), never (interpret), or before the " \
       "first run (jit)"},                                                                         \
      {"--fast-math", "", fastMathHelp},                                                           \
      {"--loop-overlap", "auto|off|on", "loops whose iterations may overlap; auto by default"},    \
      {"--passes", "PIPELINE", "passes to run over the graph first: tfg-default"},                 \
      {"--signature", "S", "the signature of a SavedModel to call; serving_default by default"},   \
      {"--function", "F",                                                                          \
       "the function of a SavedModel's objects to call, as 'treadle show' lists it"}

/// Of commands that take --sandbox.
inline constexpr OptionRow sandboxOption = {
    "--sandbox", "",
    "run the model in a process of its own that can do nothing but compute: docs/sandbox.md"};

/// What a request is made for.
struct RequestUse {
  bool isCheck = false;     // inputs and outputs come from a file
  bool joinsOthers = false; // the processes that mpirun started
  bool traces = false;      // whether --trace asks for it or not
  bool countsCode = false;  // what compiled code does
  bool compiles = false;    // with tier jit
};

/// Keys of the signature that is called, if one is, become the tensors that it has for them.
void useTensorNames(Request &request);

/// Reads the model and the options. The exit status, the error having been reported, if that fails.
std::optional<Request> makeRequest(const Arguments &args, RequestUse use, int &status);

} // namespace treadle::cli
