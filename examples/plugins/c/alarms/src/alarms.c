// A program as a sink: it reads rows as lines, and says how many it has seen at each hundredth and at its end.
//
// It speaks to the system directly, so that clang alone builds it; with a C library it would be fgets and printf.

#define SYSTEM(name) __attribute__((import_module("wasi_snapshot_preview1"), import_name(name)))

typedef unsigned int u32;

struct part {
  char *at;
  u32 length;
};

SYSTEM("fd_read") int fd_read(int fd, const struct part *parts, u32 count, u32 *read);
SYSTEM("fd_write") int fd_write(int fd, const struct part *parts, u32 count, u32 *written);

static u32 lines;

static void say(char *end) {
  static char text[20];
  char *at = text + 20;
  u32 value = lines, written;
  do *--at = '0' + value % 10;
  while (value /= 10);
  struct part line[2] = {{at, text + 20 - at}, {end, 0}};
  while (end[line[1].length]) line[1].length++;
  fd_write(1, line, 2, &written);
}

__attribute__((export_name("_start"))) void _start(void) {
  static char bytes[4096];
  struct part all = {bytes, sizeof bytes};
  u32 length;
  while (fd_read(0, &all, 1, &length) == 0 && length > 0)
    for (u32 i = 0; i < length; i++)
      if (bytes[i] == '\n' && ++lines % 100 == 0) say(" alarms so far\n");
  say(" alarms, the rule has ended\n");
}
