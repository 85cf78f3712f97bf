#include "treadle/tools/cli/Manual.h"

namespace treadle::cli {
namespace {

/// Escapes text for roff.
std::string escaped(std::string_view text) {
  std::string out;
  bool begins = true; // at the start of a line, a dot or an apostrophe would be a request
  for (char c : text) {
    if (begins && (c == '.' || c == '\''))
      out += "\\&";
    begins = c == '\n';
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else
      out += c;
  }
  return out;
}

std::string described(const OptionRow &option) {
  std::string value = option.value.empty() ? "" : str(" \\fI", escaped(option.value), "\\fR");
  return str(".TP\n\\fB", escaped(option.name), "\\fR", value, "\n", escaped(option.help), "\n");
}

std::string described(const Command &command) {
  std::string out = str(".SS treadle ", command.name, " ", escaped(command.arguments), "\n",
                        escaped(command.summary), "\n");
  for (const OptionRow &option : command.options)
    if (!option.help.empty())
      out += described(option);
  return out + str(".PP\n.nf\n", escaped(command.example), ".fi\n");
}

} // namespace

std::string manualPage(std::span<const Command *const> commands) {
  std::string out = str(".TH TREADLE 1 \"\" \"treadle ", version(), "\"\n.SH NAME\n",
                        "treadle \\- runs, reshapes and explains dataflow graphs\n",
                        ".SH SYNOPSIS\n\\fBtreadle\\fR \\fICOMMAND ARGUMENTS\\fR\n",
                        ".SH DESCRIPTION\n", escaped(modelKinds), ".SH COMMANDS\n");
  for (const Command *command : commands)
    out += described(*command);
  out += ".SH OPTIONS OF ALL COMMANDS\n";
  for (const OptionRow &option : commonOptions)
    out += described(option);
  return out + ".SH EXIT STATUS\n0 on success, 1 on an error, 2 on bad usage.\n";
}

std::string bashCompletion(std::span<const Command *const> commands) {
  std::string names, cases;
  for (const Command *command : commands) {
    names += str(names.empty() ? "" : " ", command->name);
    std::string options;
    for (const OptionRow &option : command->options)
      if (!option.help.empty())
        options += str(option.name, " ");
    cases += str("    ", command->name, ") words='", options, "--quiet --help' ;;\n");
  }
  // Words that are neither commands nor options are completed as files.
  return str("_treadle() {\n"
             "  local word=${COMP_WORDS[COMP_CWORD]} words=\n"
             "  if ((COMP_CWORD == 1)); then\n"
             "    words='",
             names,
             " --help --version'\n"
             "  elif [[ $word == -* ]]; then\n"
             "    case ${COMP_WORDS[1]} in\n",
             cases,
             "    esac\n"
             "  fi\n"
             "  mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n"
             "}\n"
             "complete -o default -F _treadle treadle\n");
}

} // namespace treadle::cli
