/* CRC-32C (RFC 3720, appendix B.4) by the processor's instruction, under the name that ISA-L gives
   it: Debian has no static form of that library. */
#include <nmmintrin.h>
#include <string.h>

unsigned int crc32_iscsi(unsigned char *buffer, int length, unsigned int initial) {
  unsigned long long crc = initial, word;
  for (; length >= 8; buffer += 8, length -= 8) {
    memcpy(&word, buffer, sizeof word);
    crc = _mm_crc32_u64(crc, word);
  }
  for (; length > 0; ++buffer, --length)
    crc = _mm_crc32_u8((unsigned int)crc, *buffer);
  return (unsigned int)crc;
}
