// Good for a million rows; from the millionth on as bad as its argument says, until it begins anew.
let rows = 0;
function deep(n: i32): i32 { return n == -1 ? 0 : deep(n + 1) + deep(n + 2); }
export function turned(v: i32): i32 {
  if (++rows < 1_000_000) return 0;
  if (v == 1) while (rows != 0) rows |= 1;
  if (v == 2) unreachable();
  if (v == 3) return deep(0);
  return rows - 1_000_000 + 1;
}
