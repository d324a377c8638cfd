/** What the thread of a program tells without a message: whether it is at work, and how much memory it has. */
const at = { calls: 0, isWaiting: 1, memoryPages: 2 } as const;
const pageBytes = 65_536;

export class CommandState {
  readonly #cells: Int32Array;

  constructor(readonly shared = new SharedArrayBuffer(16)) {
    this.#cells = new Int32Array(shared);
  }

  /** Calls of the system so far. */
  get calls(): number {
    return Atomics.load(this.#cells, at.calls);
  }

  get isWaiting(): boolean {
    return Atomics.load(this.#cells, at.isWaiting) === 1;
  }

  get memoryBytes(): number {
    return Atomics.load(this.#cells, at.memoryPages) * pageBytes;
  }

  /** Notes a call of the system, with the memory of the program. */
  called(memory: WebAssembly.Memory | undefined): void {
    Atomics.add(this.#cells, at.calls, 1);
    Atomics.store(this.#cells, at.memoryPages, (memory?.buffer.byteLength ?? 0) / pageBytes);
  }

  /** The program waits, for others or for a time, while `wait` runs. */
  wait(wait: () => void): void {
    Atomics.store(this.#cells, at.isWaiting, 1);
    try {
      wait();
    } finally {
      Atomics.store(this.#cells, at.isWaiting, 0);
      Atomics.add(this.#cells, at.calls, 1);
    }
  }

  /** Lets so many milliseconds pass. */
  sleep(ms: number): void {
    this.wait(() => Atomics.wait(this.#cells, at.isWaiting, 1, ms));
  }
}
