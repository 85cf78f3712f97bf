// What `run`, `bench` and `profile` are asked: a model, its inputs, what to fetch.
#pragma once

#include "treadle/tools/cli/Command.h"

#include <optional>

namespace treadle::cli {

struct Request {
  Graph graph;
  SessionOptions options;
  std::vector<std::string> fetches, targets, setup;
  Session::Feeds feeds;
  std::optional<Model> model; // of a SavedModel
  /// Of the model, if one is called: inputs and fetches are then its keys.
  std::optional<Graph::Signature> signature;

  /// In which the setup's nodes have run.
  Expected<Session> makeSession() const;
  /// What can be fed, by the names that it is fed by.
  std::vector<Graph::Value> inputs() const;
  /// `x:0` for `x`; keys of a signature as they are, `0`, `1`, ... for them by place.
  std::string valueName(std::string_view name, bool isInput) const;
  /// An error about a missing value lists the inputs and how to give them, one about a variable that
  /// has none how to initialize it.
  Error withAdvice(Error error) const;
  /// Runs once; errors come with advice.
  Expected<std::vector<Tensor>> run(Session &session) const;
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
      {"--tier", "auto|interpret|jit",                                                             \
       "when to compile: on another thread (auto, the default), never (interpret), or before the " \
       "first run (jit)"},                                                                         \
      {"--fast-math", "", fastMathHelp},                                                           \
      {"--loop-overlap", "auto|off|on", "loops whose iterations may overlap; auto by default"},    \
      {"--passes", "PIPELINE", "passes to run over the graph first: tfg-default"},                 \
      {"--signature", "S", "the signature of a SavedModel to call; serving_default by default"}

/// What a request is made for.
struct RequestUse {
  bool isCheck = false;     // inputs and outputs come from a file
  bool joinsOthers = false; // the processes that mpirun started
  bool traces = false;      // whether --trace asks for it or not
  bool countsCode = false;  // what compiled code does
  bool compiles = false;    // with tier jit
};

/// Reads the model and the options. The exit status, the error having been reported, if that fails.
std::optional<Request> makeRequest(const Arguments &args, RequestUse use, int &status);

} // namespace treadle::cli
