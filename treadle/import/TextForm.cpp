#include "treadle/import/TextForm.h"

#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/stubs/logging.h>
#include <google/protobuf/text_format.h>

namespace treadle::graphdef {
namespace {

/// Records the first error of a text; protobuf counts lines and columns from 0.
class FirstError : public google::protobuf::io::ErrorCollector {
public:
  void AddError(int line, int column, const std::string &message) override {
    if (text.empty())
      text = str("line ", line + 1, ", column ", column + 1, ": ", message);
  }
  std::string text;
};

} // namespace

Expected<void> parseTextForm(std::string_view text, std::string_view kind, std::string_view file,
                             google::protobuf::Message &message) {
  google::protobuf::LogSilencer silencer;
  google::protobuf::TextFormat::Parser parser;
  FirstError error;
  parser.RecordErrorsTo(&error);
  parser.SetRecursionLimit(maxDepth);
  if (text.size() > INT32_MAX)
    error.text = "it is longer than 2 GiB";
  else if (parser.ParseFromString(std::string(text), &message))
    return {};
  return Unexpected(invalidArgument("the text doesn't parse as a ", kind, ": ", error.text,
                                    "; expected a ", kind, " in protobuf's text form (", file,
                                    ")"));
}

} // namespace treadle::graphdef
