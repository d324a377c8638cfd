// A guest that speaks the interface of Extism's development kits, for tests.
typedef int i32;
typedef unsigned long long u64;
typedef unsigned char u8;

#define EXPORT(name) __attribute__((export_name(name)))
#define IMPORT(name) __attribute__((import_module("extism:host/env"), import_name(name)))

IMPORT("input_length") u64 input_length(void);
IMPORT("input_load_u8") u8 input_load_u8(u64 at);
IMPORT("input_load_u64") u64 input_load_u64(u64 at);
IMPORT("length") u64 length(u64 at);
IMPORT("alloc") u64 alloc(u64 size);
IMPORT("free") void release(u64 at);
IMPORT("output_set") void output_set(u64 at, u64 size);
IMPORT("error_set") void error_set(u64 at);
IMPORT("load_u8") u8 load_u8(u64 at);
IMPORT("load_u64") u64 load_u64(u64 at);
IMPORT("store_u8") void store_u8(u64 at, u8 byte);
IMPORT("store_u64") void store_u64(u64 at, u64 bytes);
IMPORT("var_get") u64 var_get(u64 name);
IMPORT("var_set") void var_set(u64 name, u64 value);
IMPORT("config_get") u64 config_get(u64 name);
IMPORT("http_request") u64 http_request(u64 request, u64 body);
IMPORT("log_info") void log_info(u64 text);

static u64 text(const char *from) {
  u64 size = 0;
  while (from[size]) size++;
  u64 at = alloc(size);
  for (u64 i = 0; i < size; i++) store_u8(at + i, (u8)from[i]);
  return at;
}

// Capital letters, eight bytes at a time where there are so many.
EXPORT("loud") i32 loud(void) {
  u64 size = input_length(), at = alloc(size), i = 0;
  for (; i + 8 <= size; i += 8) store_u64(at + i, input_load_u64(i));
  for (; i < size; i++) store_u8(at + i, input_load_u8(i));
  for (i = 0; i < size; i++) {
    u8 byte = load_u8(at + i);
    if (byte >= 'a' && byte <= 'z') store_u8(at + i, byte - 32);
  }
  output_set(at, length(at));
  return 0;
}

// How often it was called.
EXPORT("times") i32 times(void) {
  u64 name = text("calls"), value = var_get(name);
  if (value == 0) {
    value = alloc(8);
    store_u64(value, 0);
  }
  u64 count = load_u64(value) + 1;
  store_u64(value, count);
  var_set(name, value);
  char digits[21];
  i32 at = 20;
  digits[20] = 0;
  for (u64 rest = count; rest > 0 || at == 20; rest /= 10) digits[--at] = (char)('0' + rest % 10);
  u64 out = text(digits + at);
  output_set(out, length(out));
  return 0;
}

// As `times`; then it does what the input says: `t` traps, `f` fails, `c` forgets all.
EXPORT("trips") i32 trips(void) {
  times();
  u8 what = input_length() > 0 ? input_load_u8(0) : 0;
  if (what == 't') __builtin_trap();
  if (what == 'c') var_set(text("calls"), 0);
  return what == 'f';
}

EXPORT("fails") i32 fails(void) {
  if (input_length() > 0) error_set(text("nothing of this kind"));
  return 1;
}

EXPORT("silent") i32 silent(void) { return 0; }

EXPORT("strays") i32 strays(void) {
  u8 which = input_load_u8(0);
  if (which == 'o') output_set(100, 0x7fffffff);
  if (which == 'i') return input_load_u8(1000);
  if (which == 'l') return load_u8((u64)-1);
  if (which == 'e') {
    error_set(0x7ffffff0);
    return 1;
  }
  if (which == 'a') return alloc((u64)1 << 40) == 0 ? 0 : 2;
  if (which == 'h') return (i32)http_request(1, 0);
  if (which == 'c') return config_get(text("key")) == 0 ? 0 : 2;
  log_info(text("from a guest"));
  return 0;
}
