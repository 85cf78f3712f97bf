#include "treadle/transforms/place/Rules.h"

#include "treadle/rewriting/DeviceName.h"

using namespace mlir;

namespace treadle::tfg {

std::optional<PlacementRule> PlacementRule::parse(StringRef text, std::string &error) {
  // A pattern may contain '=', a device can't.
  auto [pattern, device] = text.rsplit('=');
  pattern = pattern.trim();
  device = device.trim();
  bool looksAtName = pattern.consume_front("name:");
  auto fail = [&](const Twine &why) {
    error = ("rule '" + text + "': " + why).str();
    return std::nullopt;
  };
  if (pattern.empty() || device.empty())
    return fail("expected PATTERN=DEVICE or name:PATTERN=DEVICE, as in 'MatMul=/device:GPU:0'");
  std::optional<DeviceName> name = DeviceName::parse(device);
  if (!name)
    return fail("'" + device +
                "' is not a device name, expected one like "
                "'/job:worker/task:0/device:CPU:0'");
  llvm::Regex regex(looksAtName ? pattern.str() : ("^(" + pattern + ")$").str());
  std::string reason;
  if (!regex.isValid(reason))
    return fail("'" + pattern + "' is not a valid regular expression: " + reason);
  return PlacementRule(std::move(regex), looksAtName, name->str());
}

bool PlacementRule::matches(Node node) const {
  return pattern.match(looksAtName ? node.name() : node.opType());
}

std::optional<PlacementRules> PlacementRules::parse(StringRef text, std::string &error) {
  PlacementRules out;
  SmallVector<StringRef> parts;
  text.split(parts, ';', -1, /*KeepEmpty=*/false);
  for (StringRef part : parts) {
    std::optional<PlacementRule> rule = PlacementRule::parse(part, error);
    if (!rule)
      return std::nullopt;
    out.rules.push_back(std::move(*rule));
  }
  return out;
}

StringRef PlacementRules::deviceFor(Node node) const {
  for (const PlacementRule &rule : rules)
    if (rule.matches(node))
      return rule.device();
  return {};
}

} // namespace treadle::tfg
