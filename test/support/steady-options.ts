/**
 * Options of Node for processes that compute much and then wait or end. The compiler of hot functions works on their
 * main thread then. On others it may wait until the main thread collects garbage, while that waits for the compiler
 * where it has no handle open: while only WebAssembly compiles, and at the end (nodejs/node#54918).
 */
export const steadyOptions: readonly string[] = ['--no-concurrent-recompilation'];
