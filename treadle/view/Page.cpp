// The page: one file that npm built, with the data that it shows.
#include "treadle/View.h"
#include "treadle/kernels/Compression.h"
#include "treadle/tensor/Error.h"

#include "llvm/Support/Base64.h"

#include <zlib.h>

// The compressed page.
asm(R"(
  .pushsection .rodata.treadle_view_page, "a"
  .global treadle_view_page, treadle_view_page_end
  .hidden treadle_view_page, treadle_view_page_end
treadle_view_page:
  .incbin ")" TREADLE_VIEW_PAGE R"("
treadle_view_page_end:
  .popsection
)");
extern "C" {
extern const unsigned char treadle_view_page[];
extern const unsigned char treadle_view_page_end[];
}

namespace treadle {
namespace {

std::string unpacked() {
  std::string page;
  inflateAll({reinterpret_cast<const char *>(treadle_view_page),
              static_cast<size_t>(treadle_view_page_end - treadle_view_page)},
             *windowBitsOf("GZIP"), page);
  return page;
}

/// Compresses large parts fast rather than well.
std::string packed(const std::string &bytes) {
  constexpr size_t large = 16 << 20;
  z_stream stream{};
  deflateInit2(&stream, bytes.size() > large ? Z_BEST_SPEED : Z_DEFAULT_COMPRESSION, Z_DEFLATED,
               *windowBitsOf("GZIP"), /*memLevel=*/8, Z_DEFAULT_STRATEGY);
  std::string out;
  char block[1 << 16];
  size_t taken = 0;
  for (int status = Z_OK; status == Z_OK;) {
    if (stream.avail_in == 0 && taken < bytes.size()) {
      size_t size = std::min<size_t>(bytes.size() - taken, 1 << 30);
      stream.next_in = reinterpret_cast<unsigned char *>(const_cast<char *>(bytes.data() + taken));
      stream.avail_in = static_cast<unsigned>(size);
      taken += size;
    }
    stream.next_out = reinterpret_cast<unsigned char *>(block);
    stream.avail_out = sizeof block;
    status = deflate(&stream, taken == bytes.size() ? Z_FINISH : Z_NO_FLUSH);
    out.append(block, sizeof block - stream.avail_out);
  }
  deflateEnd(&stream);
  return out;
}

std::string pageWith(const std::string &sections) {
  constexpr std::string_view place = "[[\"treadle-sections\"]]";
  std::string page = unpacked();
  size_t at = page.find(place);
  return page.replace(at, place.size(), sections);
}

} // namespace

std::string viewPage(const std::map<std::string, std::string> &parts) {
  std::string sections;
  for (const auto &[name, bytes] : parts)
    sections += str(sections.empty() ? "" : ",", "\"", name, "\":\"",
                    llvm::encodeBase64(packed(bytes)), "\"");
  return pageWith("{" + sections + "}");
}

std::string viewPage(const std::map<std::string, std::string> &parts, std::string_view address,
                     std::string_view token) {
  std::string names;
  for (const auto &[name, bytes] : parts)
    names += str(names.empty() ? "" : ",", "\"", name, "\"");
  return pageWith(
      str("{\"from\":\"", address, "\",\"token\":\"", token, "\",\"names\":[", names, "]}"));
}

} // namespace treadle
