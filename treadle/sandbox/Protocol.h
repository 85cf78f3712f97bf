// The protocol between a sandbox and its owner: the owner sends requests and the child answers them
// one by one. First ChildSetup, then the graph's bytes, then calls. Both must be from the same
// build.
#pragma once

#include "treadle/Sandbox.h"
#include "treadle/sandbox/Message.h"

namespace treadle::sandbox {

/// Options of the child, sent before it is confined.
struct ChildSetup {
  SandboxOptions options = {};
  std::string path = {};    // of the model
  bool isFile = true;       // false: the model's bytes follow
  std::string version = {}; // of the owner's library
};
void write(MessageWriter &message, const ChildSetup &setup);
Expected<ChildSetup> readSetup(MessageReader &message);

/// The interface of a loaded model.
struct ModelInterface {
  std::vector<Graph::Signature> signatures;
  std::vector<Graph::Value> inputs, outputs;
  std::vector<std::string> notes;
};
void write(MessageWriter &message, const ModelInterface &contents);
Expected<ModelInterface> readContents(MessageReader &message);

/// A call of a signature, or of a graph's tensors and nodes.
struct CallRequest {
  bool isOfSignature = false;
  std::string signature = {};
  std::vector<std::string> fetches = {}, targets = {};
  Sandbox::Values inputs = {};
};
void write(MessageWriter &message, const CallRequest &call);
/// Reads a call. If there is no memory for an input, the rest of the message is consumed too.
Expected<CallRequest> readCall(MessageReader &message);

/// Writes the header of an answer: success or an error.
void writeOutcome(MessageWriter &message, const Expected<void> &outcome);
/// Reads that header. The outer error is a malformed message, the inner one the answer.
Expected<Expected<void>> readOutcome(MessageReader &message);

} // namespace treadle::sandbox
