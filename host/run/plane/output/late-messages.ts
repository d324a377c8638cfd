/**
 * Output that waits for another thread to make its messages. They keep their order, and who waits for the output of a
 * sink waits for what is here, too.
 */
import type { OutputChunk } from '../../../../kernels/api.js';
import type { Acknowledgements, Barrier } from '../acknowledge/barrier.js';

interface Part {
  readonly bytes: number;
  readonly messages: number;
  readonly barriers: { readonly barrier: Barrier; readonly since: number }[];
  readonly calls: (() => void)[];
}

/** The sink whose messages are made. */
interface Owner {
  /** Begins to make messages; what it resolves with takes them. */
  makeLater(chunk: OutputChunk): Promise<() => void>;
  /** Messages were taken: barriers may be held from now on for what the sink has. */
  taken(): void;
  hold(barrier: Barrier): void;
}

export class LateMessages {
  readonly #parts: Part[] = [];
  #last: Promise<unknown> = Promise.resolve();
  #isClosed = false;
  bytes = 0;
  messages = 0;

  constructor(private readonly owner: Owner) {}

  /** Takes output of the kernel, which is good for the call only, with so many messages. */
  add({ bytes, ends, ...chunk }: OutputChunk, messages: number): void {
    const copy = { ...chunk, bytes: Uint8Array.from(bytes), ends: ends && Uint32Array.from(ends) };
    const part: Part = { bytes: bytes.length, messages, barriers: [], calls: [] };
    this.#parts.push(part);
    this.bytes += part.bytes;
    this.messages += part.messages;
    const made = this.owner.makeLater(copy);
    this.#last = Promise.all([made, this.#last]).then(([take]) => this.#take(part, take));
  }

  #take(part: Part, take: () => void): void {
    if (this.#isClosed) return;
    this.#parts.shift();
    this.bytes -= part.bytes;
    this.messages -= part.messages;
    take();
    for (const { barrier } of part.barriers) {
      this.owner.hold(barrier);
      barrier.passed(false);
    }
    for (const call of part.calls) call();
    this.owner.taken();
  }

  /** Holds the barrier until the output that waits is with the sink; false when nothing waits. */
  hold(barrier: Barrier): boolean {
    const last = this.#parts.at(-1);
    if (last === undefined) return false;
    if (!last.barriers.some((one) => one.barrier === barrier)) {
      barrier.left++;
      last.barriers.push({ barrier, since: Date.now() });
    }
    return true;
  }

  /** Calls back when the output that waits is with the sink; false when nothing waits. */
  whenTaken(call: () => void): boolean {
    const last = this.#parts.at(-1);
    last?.calls.push(call);
    return last !== undefined;
  }

  /** Resolves when the output that waits now is with the sink. */
  async taken(): Promise<void> {
    await this.#last;
  }

  /** Time since which a barrier of the source waits, epoch ms; Infinity when none does. */
  since(source: Acknowledgements): number {
    const own = this.#parts.flatMap(({ barriers }) => barriers.filter(({ barrier }) => barrier.owner === source));
    return Math.min(Number.POSITIVE_INFINITY, ...own.map(({ since }) => since));
  }

  /** Passes all barriers as lost, so that they block nobody any more. */
  giveBack(): void {
    for (const { barriers } of this.#parts) for (const { barrier } of barriers.splice(0)) barrier.passed(true);
  }

  /** What waits goes nowhere any more. */
  close(): void {
    this.#isClosed = true;
  }
}
