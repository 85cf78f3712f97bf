#include "treadle/tools/cli/PageServer.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <thread>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

namespace treadle::cli {
namespace {

/// The limit of a request's head; those of browsers have a tenth of that.
constexpr size_t maxHeadBytes = 1 << 16;

std::string randomToken() {
  std::array<unsigned char, 16> bytes{};
  for (size_t done = 0; done < bytes.size();)
    if (ssize_t got = getrandom(bytes.data() + done, bytes.size() - done, 0); got > 0)
      done += static_cast<size_t>(got);
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (unsigned char byte : bytes) {
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

/// Compares in constant time, so that the time doesn't reveal the length of a common prefix.
bool isEqual(std::string_view a, std::string_view b) {
  unsigned difference = a.size() != b.size();
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  return difference == 0;
}

std::string lowered(std::string_view text) {
  std::string out(text);
  for (char &c : out)
    c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

/// Returns the value of the header with this name (in lower case).
std::string_view headerOf(std::string_view head, std::string_view name) {
  for (size_t begin = head.find("\r\n"); begin != head.npos;) {
    size_t end = head.find("\r\n", begin + 2);
    std::string_view line = head.substr(begin + 2, end == head.npos ? end : end - begin - 2);
    if (size_t colon = line.find(':');
        colon != line.npos && lowered(line.substr(0, colon)) == name) {
      line.remove_prefix(colon + 1);
      while (line.starts_with(' '))
        line.remove_prefix(1);
      return line;
    }
    begin = end;
  }
  return {};
}

std::string refusal(std::string_view status, std::string_view why) {
  return httpReply(status, "text/plain; charset=utf-8", str("treadle view: ", why, "\n"));
}

/// Reads up to the empty line; returns nullopt if none arrives in time.
std::optional<std::string> readRequestHead(int connection) {
  std::string head;
  char block[4096];
  while (head.size() < maxHeadBytes && head.find("\r\n\r\n") == head.npos) {
    ssize_t got = read(connection, block, sizeof block);
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      return std::nullopt;
    head.append(block, static_cast<size_t>(got));
  }
  return head.substr(0, head.find("\r\n\r\n"));
}

void writeAll(int connection, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t sent = send(connection, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR)
      continue;
    if (sent <= 0)
      return; // the browser closed the connection
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
}

} // namespace

std::string httpReply(std::string_view status, std::string_view type, std::string_view body,
                      std::string_view allowed) {
  return str("HTTP/1.1 ", status, "\r\nContent-Type: ", type, "\r\nContent-Length: ", body.size(),
             "\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
             "Referrer-Policy: no-referrer\r\nX-Frame-Options: DENY\r\n",
             allowed.empty() ? "Cross-Origin-Resource-Policy: same-origin"
                             : str("Access-Control-Allow-Origin: ", allowed),
             "\r\nConnection: close\r\n\r\n", body);
}

Expected<PageServer> PageServer::listen(int port) {
  int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int yes = 1;
  setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  auto *generic = reinterpret_cast<sockaddr *>(&address);
  socklen_t size = sizeof address;
  if (socket < 0 || bind(socket, generic, size) != 0 || ::listen(socket, 16) != 0 ||
      getsockname(socket, generic, &size) != 0) {
    Error error = unavailable("port ", port, " of the loopback address can't be listened on: ",
                              std::strerror(errno), "; leave out --port to have one that is free");
    if (socket >= 0)
      close(socket);
    return Unexpected(std::move(error));
  }
  return PageServer(socket, ntohs(address.sin_port), randomToken());
}

PageServer::PageServer(PageServer &&other) noexcept
    : socket(std::exchange(other.socket, -1)), port(other.port), secret(std::move(other.secret)) {}

PageServer::~PageServer() {
  if (socket >= 0)
    close(socket);
}

std::string PageServer::address() const {
  return str("http://127.0.0.1:", port, "/?token=", secret);
}

std::string PageServer::answer(std::string_view head, const std::string &page,
                               const std::map<std::string, std::string> &parts) const {
  std::string_view host = headerOf(head, "host");
  if (host != str("127.0.0.1:", port) && host != str("localhost:", port))
    return refusal("403 Forbidden", "use the address that 'treadle view' printed");
  if (!head.starts_with("GET "))
    return refusal("405 Method Not Allowed", "expected GET");
  std::string_view target = head.substr(4);
  target = target.substr(0, target.find(' '));
  constexpr std::string_view withToken = "/?token=", section = "/section/", bearer = "Bearer ";
  if (target.starts_with(withToken) && isEqual(target.substr(withToken.size()), secret))
    return httpReply("200 OK", "text/html; charset=utf-8", page);
  if (!target.starts_with(section))
    return target == "/" || target.starts_with("/?")
               ? refusal("403 Forbidden", "open the whole address that was printed, with its token")
               : refusal("404 Not Found", "not found");
  std::string_view given = headerOf(head, "authorization");
  if (!given.starts_with(bearer) || !isEqual(given.substr(bearer.size()), secret))
    return refusal("403 Forbidden", "the token is missing or wrong");
  auto part = parts.find(std::string(target.substr(section.size())));
  return part == parts.end() ? refusal("404 Not Found", "the page has no such part")
                             : httpReply("200 OK", "application/octet-stream", part->second);
}

void PageServer::serve(const std::function<std::string(std::string_view)> &answer) {
  // Browsers open spare connections: each has its own thread, with a short timeout.
  while (true) {
    int connection = accept4(socket, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection < 0)
      continue;
    timeval patience{.tv_sec = 10, .tv_usec = 0};
    setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    std::thread([connection, &answer] {
      if (std::optional<std::string> head = readRequestHead(connection))
        writeAll(connection, answer(*head));
      close(connection);
    }).detach();
  }
}

} // namespace treadle::cli
