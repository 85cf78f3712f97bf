// The user's browser.
#pragma once

#include <string>

namespace treadle::cli {

/// Opens an address in the browser that the user chose; false where there is none, as over a
/// terminal of another machine.
bool openBrowser(const std::string &address);

} // namespace treadle::cli
