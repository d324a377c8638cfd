/** Bytes from one thread to another: a ring in shared memory, with one writer and one reader. */
import { setImmediate as turn } from 'node:timers/promises';

/** Numbers of the control part; the rest of it is for what is built upon a ring. */
const at = { written: 0, read: 1, isEnded: 2, signals: 3, isAwaited: 4, isAsleep: 5 } as const;
const controlBytes = 64;
/** First number of the control part that is free. */
export const firstFree = 6;

/**
 * V8 copies from and to shared memory byte by byte, unless both sides have the same place within eight bytes: that
 * takes four to nine times as long as a detour by other memory, which is copied at once.
 */
const detour = new Uint8Array((16 << 10) + 8);
const detourBytes = detour.length - 8;
/** Less is copied byte by byte as fast. */
const fewBytes = 512;

/** A ring whose other side is another thread; both have the same memory. */
export class Ring {
  protected readonly control: Int32Array;
  readonly #data: Uint8Array;

  /** @param shared made by `ringMemory` */
  constructor(shared: SharedArrayBuffer) {
    this.control = new Int32Array(shared, 0, controlBytes / 4);
    this.#data = new Uint8Array(shared, controlBytes);
  }

  /** Bytes that can be read. */
  get available(): number {
    return (Atomics.load(this.control, at.written) - Atomics.load(this.control, at.read)) | 0;
  }

  get room(): number {
    return this.#data.length - this.available;
  }

  /** The writer has ended. */
  get isEnded(): boolean {
    return Atomics.load(this.control, at.isEnded) === 1;
  }

  /** Bytes that the reader has taken, modulo 2^32. */
  get read(): number {
    return Atomics.load(this.control, at.read);
  }

  /** Writes as much as there is room for; returns how much that was. Wakes nobody. */
  put(bytes: Uint8Array): number {
    const length = Math.min(bytes.length, this.room);
    if (length === 0) return 0;
    const from = (Atomics.load(this.control, at.written) >>> 0) % this.#data.length;
    const first = Math.min(length, this.#data.length - from);
    this.#write(first === bytes.length ? bytes : bytes.subarray(0, first), from);
    if (first < length) this.#write(bytes.subarray(first, length), 0);
    Atomics.add(this.control, at.written, length);
    return length;
  }

  /** Moves bytes that are there; returns how many. Wakes nobody. */
  take(to: Uint8Array): number {
    const length = Math.min(to.length, this.available);
    if (length === 0) return 0;
    const from = (Atomics.load(this.control, at.read) >>> 0) % this.#data.length;
    const first = Math.min(length, this.#data.length - from);
    this.#read(first === to.length ? to : to.subarray(0, first), from);
    if (first < length) this.#read(to.subarray(first, length), 0);
    Atomics.add(this.control, at.read, length);
    return length;
  }

  #write(bytes: Uint8Array, place: number): void {
    if (isSwift(bytes, place)) {
      this.#data.set(bytes, place);
      return;
    }
    for (let done = 0; done < bytes.length; done += detourBytes) {
      const part = bytes.subarray(done, done + detourBytes);
      const aside = asideAt(place + done, part.length);
      aside.set(part);
      this.#data.set(aside, place + done);
    }
  }

  #read(to: Uint8Array, place: number): void {
    if (isSwift(to, place)) {
      to.set(this.#data.subarray(place, place + to.length));
      return;
    }
    for (let done = 0; done < to.length; done += detourBytes) {
      const part = to.subarray(done, done + detourBytes);
      const aside = asideAt(place + done, part.length);
      aside.set(this.#data.subarray(place + done, place + done + part.length));
      part.set(aside);
    }
  }

  /** The writer has nothing more. */
  end(): void {
    Atomics.store(this.control, at.isEnded, 1);
    this.signal();
  }

  /** Number of signals so far, modulo 2^32. */
  get signals(): number {
    return Atomics.load(this.control, at.signals);
  }

  /** Wakes the thread that waits for a signal. */
  signal(): void {
    Atomics.add(this.control, at.signals, 1);
    // To wake nobody takes a lock, too.
    if (Atomics.exchange(this.control, at.isAsleep, 0) === 1) Atomics.notify(this.control, at.signals);
  }

  /** Blocks the thread until there was a signal after so many; one side alone waits. */
  waitForSignal(signals: number): void {
    Atomics.store(this.control, at.isAsleep, 1);
    Atomics.wait(this.control, at.signals, signals);
  }

  /** Resolves when there was a signal after so many, after a turn of the event loop at least; one side alone waits. */
  async whenSignalled(signals: number): Promise<void> {
    Atomics.store(this.control, at.isAsleep, 1);
    const { async, value } = Atomics.waitAsync(this.control, at.signals, signals);
    await (async ? value : turn());
  }

  /** Asks the other side to tell of its next change. */
  await(): void {
    Atomics.store(this.control, at.isAwaited, 1);
  }

  /** Whether the other side is to be told now; it has to ask again then. */
  takeWait(): boolean {
    return Atomics.exchange(this.control, at.isAwaited, 0) === 1;
  }
}

function isSwift({ byteOffset, length }: Uint8Array, place: number): boolean {
  return length < fewBytes || ((byteOffset ^ place) & 7) === 0;
}

/** Memory with the same place within eight bytes. */
function asideAt(place: number, length: number): Uint8Array {
  return detour.subarray(place & 7, (place & 7) + length);
}

/** Memory of a ring; the size has to be a power of two, since counters overflow. */
export function ringMemory(bytes: number): SharedArrayBuffer {
  return new SharedArrayBuffer(controlBytes + bytes);
}
