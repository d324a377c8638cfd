// A program as a source: a line with a row each second, or as often as its argument says, in milliseconds.
//
// It speaks to the system directly, so that clang alone builds it; with a C library it would be printf and usleep.

#define SYSTEM(name) __attribute__((import_module("wasi_snapshot_preview1"), import_name(name)))

typedef unsigned int u32;
typedef unsigned long long u64;

struct part {
  const char *at;
  u32 length;
};

SYSTEM("fd_write") int fd_write(int fd, const struct part *parts, u32 count, u32 *written);
SYSTEM("poll_oneoff") int poll_oneoff(const void *wanted, void *happened, u32 count, u32 *number);
SYSTEM("args_sizes_get") int args_sizes_get(u32 *count, u32 *bytes);
SYSTEM("args_get") int args_get(char **list, char *bytes);

static void rest(u64 ms) {
  // What is waited for: a time from now on, nanoseconds, at offset 24.
  static u64 wanted[6], happened[4];
  u32 number;
  wanted[3] = ms * 1000000;
  poll_oneoff(wanted, happened, 1, &number);
}

static char *digits(char *end, u64 value) {
  do *--end = '0' + value % 10;
  while (value /= 10);
  return end;
}

static u64 pause_ms(void) {
  static char bytes[256], *list[8];
  u32 count, size;
  args_sizes_get(&count, &size);
  if (count < 2 || count > 8 || size > 256) return 1000;
  args_get(list, bytes);
  u64 ms = 0;
  for (const char *at = list[1]; *at >= '0' && *at <= '9'; at++) ms = ms * 10 + (*at - '0');
  return ms;
}

__attribute__((export_name("_start"))) void _start(void) {
  u64 ms = pause_ms();
  for (u64 beat = 1;; beat++) {
    char text[20], *number = digits(text + 20, beat);
    struct part line[3] = {{"{\"beat\":", 8}, {number, text + 20 - number}, {"}\n", 2}};
    u32 written;
    fd_write(1, line, 3, &written);
    rest(ms);
  }
}
