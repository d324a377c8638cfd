function deep(n: i32): i32 { return n == -1 ? 0 : deep(n + 1) + deep(n + 2); }
export function sick(what: i32): i32 {
  if (what == 1) unreachable();
  if (what == 2) { let i = 1; while (i != 0) i |= 1; return i; }
  if (what == 3) return deep(0);
  if (what == 4) { while (memory.grow(1) >= 0) {} return memory.size(); }
  if (what == 5) return 1 / (what - 5);
  return what;
}
