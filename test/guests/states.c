// A guest of the convention `pointers` whose states the engine keeps: what works, and what goes wrong.
#include "pointers.h"

static i64 copied(const u8 *text, i32 length) {
  u8 *out = take(length);
  copy(out, text, length);
  return span(out, length);
}

// ---- states: a number and a text; as many at once as a batch has groups -----------------------------------

#define MOST 1024
#define LONGEST 1000

typedef struct state {
  struct state *next;
  i64 number;
  i32 length;
  u8 text[LONGEST];
} state;

static state states[MOST];
static state *ended;
static i32 used;

EXPORT("state_init") state *state_init(void) {
  state *made = ended ? ended : used < MOST ? &states[used++] : 0;
  if (!made) __builtin_trap();
  if (made == ended) ended = made->next;
  made->number = 0;
  made->length = 0;
  return made;
}

static void end(state *it) {
  it->next = ended;
  ended = it;
}

EXPORT("state_load") state *state_load(const u8 *bytes, i32 length) {
  if (length < 8) return 0;
  state *it = state_init();
  copy((u8 *)&it->number, bytes, 8);
  it->length = length - 8;
  copy(it->text, bytes + 8, it->length);
  return it;
}

EXPORT("state_save") i64 state_save(state *it) {
  u8 *out = take(8 + it->length);
  copy(out, (const u8 *)&it->number, 8);
  copy(out + 8, it->text, it->length);
  end(it);
  return span(out, 8 + it->length);
}

static void add(state *it, const u8 *text, i32 length) {
  if (it->length + length > LONGEST) {
    fail("it gets too long", 16);
    return;
  }
  copy(it->text + it->length, text, length);
  it->length += length;
}

// ---- aggregates: all texts in a row, the sum of numbers -----------------------------------------------------

EXPORT("path_accumulate") void path_accumulate(state *it, const u8 *text, i32 length) { add(it, text, length); }

EXPORT("path_merge") void path_merge(state *it, state *later) {
  add(it, later->text, later->length);
  end(later);
}

EXPORT("path_finish") i64 path_finish(state *it) {
  end(it);
  return copied(it->text, it->length);
}

EXPORT("total_accumulate") void total_accumulate(state *it, i64 a, i64 b) { it->number += a * b; }

EXPORT("total_merge") void total_merge(state *it, state *later) {
  it->number += later->number;
  end(later);
}

EXPORT("total_finish") i64 total_finish(state *it) {
  end(it);
  return it->number;
}

static void misbehave(state *it, i64 how) {
  switch (how) {
    case 13: __builtin_trap();
    case 14: fail("14 is bad luck", 14); break;
    case 15: for (volatile i32 i = 0;; i++) {}
    case 16: it->length = LONGEST; it->number = 16; break;
    default: it->number += how;
  }
}

EXPORT("sick_accumulate") void sick_accumulate(state *it, i64 how) { misbehave(it, how); }

EXPORT("sick_merge") void sick_merge(state *it, state *later) {
  if (it->number + later->number == 100) __builtin_trap();
  it->number += later->number;
  end(later);
}

EXPORT("sick_save") i64 sick_save(state *it) {
  switch (it->number) {
    case 200: __builtin_trap();
    case 201: fail("it keeps it to itself", 21); return 0;
    case 202: return span((void *)0xfffffff0, 100);
    case 203: return 0;
    default: return state_save(it);
  }
}

EXPORT("sick_load") state *sick_load(const u8 *bytes, i32 length) {
  state *it = state_load(bytes, length);
  if (it->number == 300) __builtin_trap();
  if (it->number == 301) fail("it has forgotten", 16);
  if (it->number == 302) return 0;
  return it;
}

EXPORT("sick_finish") i64 sick_finish(state *it) {
  if (it->number == 400) __builtin_trap();
  if (it->number == 401) null();
  end(it);
  return it->number;
}

// ---- functions that look back: the sum so far, the texts so far ---------------------------------------------

EXPORT("running_step") i64 running_step(state *it, i64 value) { return it->number += value; }

EXPORT("trail_step") i64 trail_step(state *it, const u8 *text, i32 length) {
  add(it, text, length);
  return copied(it->text, it->length);
}

EXPORT("sick_step") i64 sick_step(state *it, i64 how) {
  misbehave(it, how);
  return it->number;
}

// ---- what the module says of itself ---------------------------------------------------------------------------

__asm__(".section .custom_section.haumea,\"\",@\n .incbin \"states.json\"\n");
