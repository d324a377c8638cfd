// A guest of the convention `pointers` for tests: what works, and what goes wrong.
#include "pointers.h"

IMPORT("is_null") i32 is_null(i32 argument);
IMPORT("log") void say(const u8 *text, i32 length);

// ---- rows ----------------------------------------------------------------------------------------------------

EXPORT("shout") i64 shout(const u8 *text, i32 length) {
  u8 *out = take(length + 1);
  for (i32 i = 0; i < length; i++) out[i] = text[i] >= 'a' && text[i] <= 'z' ? text[i] - 32 : text[i];
  out[length] = '!';
  return span(out, length + 1);
}

EXPORT("glue") i64 glue(const u8 *a, i32 aLength, const u8 *b, i32 bLength) {
  u8 *out = take(aLength + bLength);
  copy(out, a, aLength);
  copy(out + aLength, b, bLength);
  return span(out, aLength + bLength);
}

EXPORT("size_of") i64 size_of(const u8 *bytes, i32 length) { return length; }

EXPORT("is_long") i32 is_long(const u8 *text, i32 length, i64 than) { return length > than; }

EXPORT("later") i64 later(i64 micros, double seconds) { return micros + (i64)(seconds * 1e6); }

// Bytes as they came.
EXPORT("same") i64 same(const u8 *bytes, i32 length) {
  u8 *out = take(length);
  copy(out, bytes, length);
  return span(out, length);
}

EXPORT("positive") i64 positive(i64 n) {
  if (n < 0) fail("it is below zero", 16);
  if (n == 0) null();
  return n;
}

EXPORT("nulls") i64 nulls(const u8 *a, i32 aLength, i64 b) {
  static const char *const texts[] = {"none", "a", "b", "a and b"};
  static const i32 lengths[] = {4, 1, 1, 7};
  i32 which = is_null(0) + 2 * is_null(1);
  u8 *out = take(lengths[which]);
  copy(out, (const u8 *)texts[which], lengths[which]);
  return span(out, lengths[which]);
}

EXPORT("sick") i64 sick(i64 what) {
  static u8 bad[] = {'a', 0xff, 'b'};
  switch (what) {
    case 1: return span((void *)0xfffffff0, 100);
    case 2: return span(bad, (i32)0x7fffffff);
    case 3: return span(bad, 3);
    case 4: __builtin_trap();
    case 5: for (volatile i32 i = 0;; i++) {}
    case 6: return 0;
    case 7: return span(bad, 0);
    default: return span("ok", 2);
  }
}

// As long as it is asked for.
EXPORT("many") i64 many(i64 length) {
  u8 *out = take((i32)length);
  if (out == 0) {
    fail("no memory", 9);
    return 0;
  }
  for (i64 i = 0; i < length; i++) out[i] = 'x';
  return span(out, (i32)length);
}

// ---- batches -------------------------------------------------------------------------------------------------

typedef struct {
  void *cells;
  u8 *states;
  u8 *reserved[2];
} column;

typedef struct {
  const u8 *text;
  i32 length;
} text_cell;

EXPORT("sums") i32 sums(i32 count, const column *args, column *result) {
  const double *a = args[0].cells, *b = args[1].cells;
  double *out = result->cells;
  for (i32 i = 0; i < count; i++) {
    out[i] = a[i] + b[i];
    if (a[i] == 13) __builtin_trap();
    if (a[i] == 14) result->states[i] = 1;
  }
  return 0;
}

EXPORT("trims") i32 trims(i32 count, const column *args, column *result) {
  const text_cell *in = args[0].cells;
  text_cell *out = result->cells;
  for (i32 i = 0; i < count; i++) {
    const u8 *at = in[i].text, *end = at + in[i].length;
    while (at < end && *at == ' ') at++;
    while (end > at && end[-1] == ' ') end--;
    out[i].text = at;
    out[i].length = (i32)(end - at);
    if (at == end) {
      result->states[i] = 2;
      out[i].text = (const u8 *)"nothing is left";
      out[i].length = 15;
    }
  }
  return 0;
}

EXPORT("refuses") i32 refuses(i32 count, const column *args, column *result) { return 7; }

// ---- an aggregate: longest text, with its length --------------------------------------------------------------

typedef struct {
  i64 rows;
  i32 length;
  u8 text[64];
} longest;

EXPORT("longest_init") longest *longest_init(void) {
  longest *state = (longest *)take(sizeof(longest));
  state->rows = 0;
  state->length = 0;
  return state;
}

EXPORT("longest_accumulate") void longest_accumulate(longest *state, const u8 *text, i32 length) {
  state->rows++;
  if (length > 64) fail("a text has more than 64 bytes", 29);
  else if (length > state->length) {
    state->length = length;
    copy(state->text, text, length);
  }
}

EXPORT("longest_finish") i64 longest_finish(longest *state) {
  u8 *out = take(state->length);
  copy(out, state->text, state->length);
  return span(out, state->length);
}

// ---- what the module says of itself ---------------------------------------------------------------------------

__asm__(".section .custom_section.haumea,\"\",@\n .incbin \"texts.json\"\n");
