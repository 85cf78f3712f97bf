// Rules that assign devices to nodes: `MatMul|Conv.*=/device:GPU:0;name:^loop/=/job:w/task:0`.
#pragma once

#include "treadle/dialect/Tfg.h"

#include "mlir/Support/LLVM.h"
#include "llvm/Support/Regex.h"

#include <optional>
#include <vector>

namespace treadle::tfg {

/// A rule that assigns a device to nodes whose whole op, or part of whose name, matches a pattern.
class PlacementRule {
public:
  /// Returns nullopt and sets `error` if the text isn't a rule.
  static std::optional<PlacementRule> parse(llvm::StringRef text, std::string &error);

  bool matches(Node node) const;
  llvm::StringRef device() const { return deviceName; }

private:
  PlacementRule(llvm::Regex pattern, bool looksAtName, std::string device)
      : pattern(std::move(pattern)), looksAtName(looksAtName), deviceName(std::move(device)) {}

  llvm::Regex pattern;
  bool looksAtName;
  std::string deviceName;
};

/// All rules of an option, of which the first that matches applies.
class PlacementRules {
public:
  /// Returns nullopt and sets `error` if a rule is malformed.
  static std::optional<PlacementRules> parse(llvm::StringRef text, std::string &error);

  /// Returns an empty string if no rule matches.
  llvm::StringRef deviceFor(Node node) const;

private:
  std::vector<PlacementRule> rules;
};

} // namespace treadle::tfg
