// Codecs of the convention `pointers` for tests: one that works, and one that does what the first byte of a message says.
#include "pointers.h"

static i64 text(const char *from) {
  i32 length = 0;
  while (from[length]) length++;
  u8 *out = take(length);
  copy(out, (const u8 *)from, length);
  return span(out, length);
}

// Bytes, each turned by one bit: JSON becomes something that is none, and JSON again.
EXPORT("turn") i64 turn(const u8 *from, i32 length) {
  u8 *out = take(length);
  for (i32 i = 0; i < length; i++) out[i] = from[i] ^ 0x80;
  return span(out, length);
}

static volatile i32 sink;

static i32 deep(i32 n) {
  sink = n;
  return deep(n + 1) + sink;
}

EXPORT("sick") i64 sick(const u8 *message, i32 length) {
  if (length == 0) return text("{\"empty\":true}");
  switch (message[0]) {
    case 'o': return text("{\"ok\":true}");
    case 'l': return text("[{\"n\":1},{\"n\":2}]");
    case '0': return 0;
    case 'n': return text("{\"n\":");
    case '5': return text("5");
    case 'u': return text("{\"u\":\"\xff\"}");
    case 'w': return span((void *)0x7fffff00, 16);
    case 'h': return span(message, 0x7fffffff);
    case 'x': return span(0, (size)20 << 20);
    case 't': __builtin_trap();
    case 'r': return deep(0);
    case 'f': fail("the sum is wrong", 16); return 0;
    case 'e': for (;;) sink++;
  }
  return text("{}");
}

// Writes what its rows ask for.
EXPORT("sick_write") i64 sick_write(const u8 *rows, i32 length) {
  for (i32 i = 0; i + 4 < length; i++) {
    if (rows[i] != 'd' || rows[i + 1] != 'o' || rows[i + 2] != '"' || rows[i + 3] != ':') continue;
    if (rows[i + 5] == 'o') return turn(rows, length);
    return sick(rows + i + 5, length - i - 5);
  }
  return turn(rows, length);
}
