// What guests of the convention `pointers` begin with.
typedef int i32;
typedef long long i64;
typedef unsigned char u8;
typedef unsigned long size;

#define EXPORT(name) __attribute__((export_name(name)))
#define IMPORT(name) __attribute__((import_module("haumea"), import_name(name)))

IMPORT("fail") void fail(const char *text, i32 length);
IMPORT("null") void null(void);

// ---- memory: one block after the other, given back in the opposite order ----------------------------------

extern u8 __heap_base;
static u8 *top = &__heap_base;

EXPORT("haumea_alloc") u8 *take(i32 length) {
  u8 *at = (u8 *)(((size)top + 7) & ~(size)7);
  size end = (size)at + (size)length;
  size have = __builtin_wasm_memory_size(0) * 65536;
  if (end > have && __builtin_wasm_memory_grow(0, (end - have + 65535) / 65536) == (size)-1) return 0;
  top = (u8 *)end;
  return at;
}

EXPORT("haumea_free") void give_back(u8 *at, i32 length) {
  if (at + length == top) top = at;
}

static i64 span(const void *at, i32 length) { return (i64)(size)at << 32 | (unsigned)length; }

static void copy(u8 *to, const u8 *from, i32 length) {
  for (i32 i = 0; i < length; i++) to[i] = from[i];
}
