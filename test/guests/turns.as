export function turns(n: i32): i32 {
  let s = 0;
  for (let i = 0; i < n; i++) s += i ^ s;
  return s | 1;
}
