// Other programs of the user: the browser, one that draws.
#pragma once

#include <string>
#include <vector>

namespace treadle::cli {

/// Runs a program that is on PATH, the first of the words, and waits for it: whether it is there
/// and succeeded.
bool runProgram(std::vector<std::string> words);

/// Opens an address in the browser that the user chose; false where there is none, as over a
/// terminal of another machine.
bool openBrowser(const std::string &address);

} // namespace treadle::cli
