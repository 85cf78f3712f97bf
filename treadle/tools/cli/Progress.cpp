// The progress line, drawn by its own thread ten times a second.
#include "treadle/tools/cli/Progress.h"

#include "treadle/tensor/Error.h"
#include "treadle/tools/cli/Command.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <system_error>
#include <unistd.h>

namespace treadle::cli {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds patience{1000}, period{100};

std::string progressText(const std::string &what, double share, double seconds) {
  std::string text = what;
  if (share >= 0) {
    constexpr int width = 20;
    double bounded = std::clamp(share, 0.0, 1.0);
    auto full = static_cast<size_t>(std::floor(bounded * width));
    text += str(" [", std::string(full, '#'), std::string(width - full, '-'), "] ",
                static_cast<int>(bounded * 100), "%");
  }
  return str(text, " ", static_cast<int64_t>(seconds), " s");
}

Progress::Progress(std::string text) : what(std::move(text)) {
  if (!isQuiet && isatty(STDERR_FILENO))
    try {
      thread = std::thread([this] { show(); });
    } catch (const std::system_error &) {
      // Without a thread there is no progress line.
    }
}

Progress::~Progress() {
  if (!thread.joinable())
    return;
  {
    std::lock_guard lock(mutex);
    hasEnded = true;
  }
  ended.notify_one();
  thread.join();
}

void Progress::show() {
  Clock::time_point start = Clock::now();
  std::unique_lock lock(mutex);
  if (ended.wait_for(lock, patience, [this] { return hasEnded; }))
    return;
  do {
    double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    // Return the cursor to the start of the line, so that other output overwrites it.
    std::fprintf(stderr, "\r\033[K%s\r", progressText(what, done, seconds).c_str());
  } while (!ended.wait_for(lock, period, [this] { return hasEnded; }));
  std::fputs("\r\033[K", stderr);
}

} // namespace treadle::cli
