// Starts other programs: the browser, an SVG renderer.
#pragma once

#include <string>
#include <vector>

namespace treadle::cli {

/// Runs the program named by the first word, found on PATH, and waits for it. Returns whether it
/// was found and succeeded.
bool runProgram(std::vector<std::string> words);

/// Opens an address in the user's default browser; returns false if there is none, as in a remote
/// terminal.
bool openBrowser(const std::string &address);

} // namespace treadle::cli
