// A web page that only the browser of this machine's user can read.
#pragma once

#include "treadle/tensor/Error.h"

#include <functional>
#include <map>
#include <string>

namespace treadle::cli {

/// Formats a response with its headers. `allowed`: the origin whose pages may read it; empty for
/// none but its own.
std::string httpReply(std::string_view status, std::string_view type, std::string_view body,
                      std::string_view allowed = "");

/// Listens on the loopback address only, and answers only requests with the token: the page at
/// `/?token=...`, and its parts at `/section/NAME` for requests with the token as a bearer. Refuses
/// other values of `Host`, so that a page from the network can't send requests through the browser
/// (DNS rebinding).
class PageServer {
public:
  /// Starts to listen on `port`; 0 selects a free one. Unavailable if the port can't be used.
  static Expected<PageServer> listen(int port);
  PageServer(PageServer &&other) noexcept;
  PageServer &operator=(PageServer &&) = delete;
  ~PageServer();

  const std::string &token() const { return secret; }
  /// The address of the page: `http://127.0.0.1:40321/?token=...`.
  std::string address() const;
  /// Serves until the process ends. `answer` returns the response to the head of a request; it is
  /// called on a thread for each connection, so it must be thread-safe.
  [[noreturn]] void serve(const std::function<std::string(std::string_view)> &answer);

  /// Returns the response to a request with this head: status line, headers and body. For tests.
  std::string answer(std::string_view head, const std::string &page,
                     const std::map<std::string, std::string> &parts) const;

private:
  PageServer(int socket, int port, std::string secret)
      : socket(socket), port(port), secret(std::move(secret)) {}

  int socket;
  int port;
  std::string secret;
};

} // namespace treadle::cli
