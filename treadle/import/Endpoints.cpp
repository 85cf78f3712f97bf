// Parses inputs of nodes.
#include "treadle/import/Endpoints.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace treadle::graphdef;

std::optional<Endpoint> treadle::graphdef::parseEndpoint(StringRef text) {
  Endpoint endpoint;
  if (text.consume_front("^")) {
    endpoint.isControl = true;
    endpoint.node = text;
    return endpoint;
  }
  // Fast path: most inputs are a bare name.
  if (!text.contains(':')) {
    endpoint.node = text;
    return endpoint;
  }
  size_t colon = text.rfind(':');
  StringRef digits = text.drop_front(colon + 1);
  if (!digits.empty() && all_of(digits, isDigit)) {
    if (digits.getAsInteger(10, endpoint.index))
      return std::nullopt;
    endpoint.hasIndex = true;
    endpoint.isPlainIndex = digits.size() == 1 || digits.front() != '0';
    text = text.take_front(colon);
  }
  std::tie(endpoint.node, endpoint.output) = text.split(':');
  return endpoint;
}
