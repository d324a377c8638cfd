/** Another data plane that a stream is handed to: a branch of the source, whose input goes there in blocks. */
import type { MemoryBus } from '../../../connectors/topics/bus.js';
import type { Barrier } from '../acknowledge/barrier.js';
import type { InputBranch } from '../feed/input-branches.js';
import type { RunningRule } from '../running/running.js';
import { blockBytes, kinds } from './blocks.js';

/** Input under way beyond which the source waits, bytes. */
const mostBytes = 1 << 20;
const noRules: ReadonlySet<RunningRule> = new Set();

export interface ReaderOptions {
  readonly bus: MemoryBus;
  /** Topic of its blocks. */
  readonly topic: string;
  readonly session: number;
  /** Too much is under way, or no longer is. */
  readonly holds: (isFull: boolean) => void;
}

export class Reader implements InputBranch {
  readonly rules = noRules;
  readonly copies = true;
  /** Input under way, with what waits for it. */
  readonly #sent = new Map<number, { readonly bytes: number; readonly barrier: Barrier | undefined }>();
  #last = 0;
  #bytes = 0;
  #isFull = false;
  #isClosed = false;
  #whenTaken: (() => void)[] = [];

  constructor(private readonly options: ReaderOptions) {}

  get session(): number {
    return this.options.session;
  }

  tell(kind: number, body?: Uint8Array): void {
    const { bus, topic, session } = this.options;
    if (!this.#isClosed) bus.publish(topic, blockBytes(session, kind, body), () => {});
  }

  add(bytes: Uint8Array, barrier: Barrier | undefined): void {
    if (this.#isClosed) return;
    const { bus, topic, session, holds } = this.options;
    const number = this.#last++;
    if (barrier !== undefined) barrier.left++;
    this.#sent.set(number, { bytes: bytes.length, barrier });
    this.#bytes += bytes.length;
    const block = blockBytes(session, kinds.input, bytes, barrier?.messages);
    bus.publish(topic, block, (lost) => this.#taken(number, lost !== undefined));
    if (this.#isFull || this.#bytes <= mostBytes) return;
    this.#isFull = true;
    holds(true);
  }

  numbered(): void {}

  reset(): void {
    this.tell(kinds.reset);
  }

  end(): void {
    this.tell(kinds.end);
  }

  /** Resolves when all input so far was worked on, or the reader is gone. */
  async whenTaken(): Promise<void> {
    if (this.#sent.size > 0) await new Promise<void>((resolve) => this.#whenTaken.push(resolve));
  }

  #taken(number: number, isLost: boolean): void {
    const sent = this.#sent.get(number);
    if (sent === undefined) return;
    this.#sent.delete(number);
    this.#bytes -= sent.bytes;
    sent.barrier?.passed(isLost);
    if (this.#isFull && this.#bytes <= mostBytes / 2) {
      this.#isFull = false;
      this.options.holds(false);
    }
    if (this.#sent.size === 0) for (const call of this.#whenTaken.splice(0)) call();
  }

  /** The reader is gone: nobody waits for it any more. */
  close(): void {
    this.#isClosed = true;
    for (const number of [...this.#sent.keys()]) this.#taken(number, true);
  }
}
