// The conversation of a sandbox and its owner: who says what, in which order. The owner asks and
// the child answers, one by one: Setup, then the graph's bytes, then calls. Both are of one build.
#pragma once

#include "treadle/Sandbox.h"
#include "treadle/sandbox/Message.h"

namespace treadle::sandbox {

/// What the child is to be, before it is confined.
struct Setup {
  SandboxOptions options = {};
  std::string path = {};    // of the model
  bool isFile = true;       // else its bytes follow
  std::string version = {}; // of the owner's library
};
void write(MessageWriter &message, const Setup &setup);
Expected<Setup> readSetup(MessageReader &message);

/// What a model offers.
struct Contents {
  std::vector<Graph::Signature> signatures;
  std::vector<Graph::Value> inputs, outputs;
  std::vector<std::string> notes;
};
void write(MessageWriter &message, const Contents &contents);
Expected<Contents> readContents(MessageReader &message);

/// A call of a signature, or of a graph's tensors and nodes.
struct Call {
  bool isOfSignature = false;
  std::string signature = {};
  std::vector<std::string> fetches = {}, targets = {};
  Sandbox::Values inputs = {};
};
void write(MessageWriter &message, const Call &call);
/// Where an input can't be had for want of memory, what is left unread is nothing.
Expected<Call> readCall(MessageReader &message);

/// Before each answer: whether it is one, or an error.
void writeOutcome(MessageWriter &message, const Expected<void> &outcome);
/// The outer error: the other process made no sense.
Expected<Expected<void>> readOutcome(MessageReader &message);

} // namespace treadle::sandbox
