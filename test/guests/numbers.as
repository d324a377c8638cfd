export function whole(a: i32, b: i32): i32 { return a * b; }
export function long(a: i64): i64 { return a + 1; }
export function half(a: f64): f64 { return a / 2; }
export function single(a: f32): f32 { return a / 3; }
export function seven(): i32 { return 7; }
