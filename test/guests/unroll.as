// Functions of numbers for tests of those that are called for eight rows at once.
const table = memory.data<f64>([0,1.5,3,4.5,6,7.5,9,10.5,12,13.5,15,16.5,18,19.5,21,22.5,24,25.5,27,28.5,30,31.5,33,34.5,36,37.5,39,40.5,42,43.5,45,46.5,48,49.5,51,52.5,54,55.5,57,58.5,60,61.5,63,64.5,66,67.5,69,70.5,72,73.5,75,76.5,78,79.5,81,82.5,84,85.5,87,88.5,90,91.5,93,94.5]);
let calls: i64 = 0;
/** With state, memory and a trap. */
export function numbered(x: i64): i64 { calls++; if (x == 13) unreachable(); return calls * 1000 + x; }
export function calibrated(x: f64): f64 { return load<f64>(table + (<u32>x << 3)) + x; }
export function power(x: f32, n: i32): f32 { let y: f32 = 1; for (let i = 0; i < n; i++) y *= x; return y; }
export function early(n: i32, x: f64): i32 {
  for (let i = 0; i < 100; i++) { if (i * i > n) return i; if (x < <f64>i) return -i; store<i32>(1024, i); }
  return n == 7 ? -1 : load<i32>(1024);
}
/** Longer than what is copied. */
export function long(n: i64): i64 {
  let x = n;
  if (x % 2 == 1) x = x * 3 + calls; else calls += x;
  if (x % 3 == 1) x = x * 4 + calls; else calls += x;
  if (x % 4 == 1) x = x * 5 + calls; else calls += x;
  if (x % 5 == 1) x = x * 6 + calls; else calls += x;
  if (x % 6 == 1) x = x * 7 + calls; else calls += x;
  if (x % 7 == 1) x = x * 8 + calls; else calls += x;
  if (x % 8 == 1) x = x * 9 + calls; else calls += x;
  if (x % 9 == 1) x = x * 10 + calls; else calls += x;
  if (x % 10 == 1) x = x * 11 + calls; else calls += x;
  if (x % 11 == 1) x = x * 12 + calls; else calls += x;
  if (x % 12 == 1) x = x * 13 + calls; else calls += x;
  if (x % 13 == 1) x = x * 14 + calls; else calls += x;
  if (x % 14 == 1) x = x * 15 + calls; else calls += x;
  if (x % 15 == 1) x = x * 16 + calls; else calls += x;
  if (x % 16 == 1) x = x * 17 + calls; else calls += x;
  if (x % 17 == 1) x = x * 18 + calls; else calls += x;
  if (x % 18 == 1) x = x * 19 + calls; else calls += x;
  if (x % 19 == 1) x = x * 20 + calls; else calls += x;
  if (x % 20 == 1) x = x * 21 + calls; else calls += x;
  if (x % 21 == 1) x = x * 22 + calls; else calls += x;
  if (x % 22 == 1) x = x * 23 + calls; else calls += x;
  if (x % 23 == 1) x = x * 24 + calls; else calls += x;
  if (x % 24 == 1) x = x * 25 + calls; else calls += x;
  if (x % 25 == 1) x = x * 26 + calls; else calls += x;
  if (x % 26 == 1) x = x * 27 + calls; else calls += x;
  if (x % 27 == 1) x = x * 28 + calls; else calls += x;
  if (x % 28 == 1) x = x * 29 + calls; else calls += x;
  if (x % 29 == 1) x = x * 30 + calls; else calls += x;
  if (x % 30 == 1) x = x * 31 + calls; else calls += x;
  if (x % 31 == 1) x = x * 32 + calls; else calls += x;
  if (x % 32 == 1) x = x * 33 + calls; else calls += x;
  if (x % 33 == 1) x = x * 34 + calls; else calls += x;
  if (x % 34 == 1) x = x * 35 + calls; else calls += x;
  if (x % 35 == 1) x = x * 36 + calls; else calls += x;
  if (x % 36 == 1) x = x * 37 + calls; else calls += x;
  if (x % 37 == 1) x = x * 38 + calls; else calls += x;
  if (x % 38 == 1) x = x * 39 + calls; else calls += x;
  if (x % 39 == 1) x = x * 40 + calls; else calls += x;
  if (x % 40 == 1) x = x * 41 + calls; else calls += x;
  if (x % 41 == 1) x = x * 42 + calls; else calls += x;
  return x;
}
function fib(n: i32): i32 { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
export function nested(n: i32): i32 { return fib(n & 15) + fib(n & 7); }
export function endless(n: i32): i32 { let x = n; while (x & 1) { x |= 1; store<i32>(2048, x); } return x; }
export function counted(): i64 { return ++calls; }
