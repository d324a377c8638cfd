/**
 * Bytes from one thread to another: a ring in shared memory. The thread of a program may wait in it, for bytes or for
 * room; the data plane never waits, it is woken by a message.
 */
const controlBytes = 64;
const at = { written: 0, read: 1, handled: 2, isEnded: 3, hostWaits: 4, signal: 5 } as const;

/** A pipe whose other side is another thread; both have the same memory. */
export class Pipe {
  readonly #control: Int32Array;
  readonly #data: Uint8Array;

  /** @param shared made by `pipeMemory` */
  constructor(shared: SharedArrayBuffer) {
    this.#control = new Int32Array(shared, 0, controlBytes / 4);
    this.#data = new Uint8Array(shared, controlBytes);
  }

  /** Bytes that can be read. */
  get available(): number {
    return (Atomics.load(this.#control, at.written) - Atomics.load(this.#control, at.read)) | 0;
  }

  get isEnded(): boolean {
    return Atomics.load(this.#control, at.isEnded) === 1;
  }

  /** Bytes that the reader has dealt with, modulo 2^32. */
  get handled(): number {
    return Atomics.load(this.#control, at.handled);
  }

  /** Writes as much as there is room for; returns how much that was. */
  write(bytes: Uint8Array): number {
    const length = this.#put(bytes);
    if (length > 0) this.#signal();
    return length;
  }

  /** Writes all parts, from the thread of a program; `wait` is called with what waits for room. */
  writeAll(parts: readonly Uint8Array[], wait: (wait: () => void) => void): void {
    for (const part of parts) {
      for (let from = this.#put(part); from < part.length; from += this.#put(part.subarray(from))) {
        this.#signal();
        wait(() => this.waitUntil(() => this.room > 0));
      }
    }
    this.#signal();
  }

  #put(bytes: Uint8Array): number {
    const length = Math.min(bytes.length, this.#data.length - this.available);
    if (length === 0) return 0;
    const from = (Atomics.load(this.#control, at.written) >>> 0) % this.#data.length;
    const first = Math.min(length, this.#data.length - from);
    this.#data.set(bytes.subarray(0, first), from);
    this.#data.set(bytes.subarray(first, length), 0);
    Atomics.add(this.#control, at.written, length);
    return length;
  }

  /** Moves bytes that are there; returns how many. */
  readInto(to: Uint8Array): number {
    const length = Math.min(to.length, this.available);
    if (length === 0) return 0;
    const from = (Atomics.load(this.#control, at.read) >>> 0) % this.#data.length;
    const first = Math.min(length, this.#data.length - from);
    to.set(this.#data.subarray(from, from + first));
    to.set(this.#data.subarray(0, length - first), first);
    Atomics.add(this.#control, at.read, length);
    this.#signal();
    return length;
  }

  /** The writer has nothing more. */
  end(): void {
    Atomics.store(this.#control, at.isEnded, 1);
    this.#signal();
  }

  /** The reader has dealt with all that it has read. */
  handle(): void {
    Atomics.store(this.#control, at.handled, Atomics.load(this.#control, at.read));
  }

  /** The data plane is to be woken by the next change of the other side. */
  await(): void {
    Atomics.store(this.#control, at.hostWaits, 1);
  }

  /** Whether the data plane is to be woken now; it has to ask again then. */
  takeWait(): boolean {
    return Atomics.exchange(this.#control, at.hostWaits, 0) === 1;
  }

  /** Waits in the thread of a program until the condition holds. */
  waitUntil(holds: () => boolean): void {
    for (;;) {
      const seen = Atomics.load(this.#control, at.signal);
      if (holds()) return;
      Atomics.wait(this.#control, at.signal, seen);
    }
  }

  get room(): number {
    return this.#data.length - this.available;
  }

  #signal(): void {
    Atomics.add(this.#control, at.signal, 1);
    Atomics.notify(this.#control, at.signal);
  }
}

/** Memory of a pipe; the size has to be a power of two, since counters overflow. */
export function pipeMemory(bytes: number): SharedArrayBuffer {
  return new SharedArrayBuffer(controlBytes + bytes);
}
