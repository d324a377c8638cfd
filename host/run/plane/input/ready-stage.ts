/**
 * Input that waits until its decoder can read it: a schema that its messages name has to come from a registry first.
 * The source is not read meanwhile. The input is in frames, cut anywhere.
 */
import { reasonOf } from '../../../base/errors.js';
import type { MessageDecoder } from '../../../codecs/define.js';
import { nextFrame } from '../../../connectors/messages/frames.js';
import type { Input } from '../stage/input.js';
import { PassingStage } from '../stage/stage.js';

/** Time until what did not load is tried again, ms: it doubles each time. */
const firstRetryMs = 250;
const lastRetryMs = 30_000;
const nothing = Buffer.alloc(0);

export class ReadyStage extends PassingStage<Input> {
  /** Input that waits, or the begin of a frame. */
  #rest: Buffer = nothing;
  #isWaiting = false;
  #isClosed = false;
  #timer: NodeJS.Timeout | undefined;
  #askers: (() => void)[] = [];

  /**
   * @param needs what has to be loaded before a message can be decoded
   * @param waits input begins to wait, or no longer does
   * @param failed something did not load; it is tried again
   */
  constructor(
    private readonly needs: NonNullable<MessageDecoder['needs']>,
    private readonly waits: (isWaiting: boolean) => void,
    private readonly failed: (reason: string) => void,
  ) {
    super();
  }

  override get isFull(): boolean {
    return this.#isWaiting;
  }

  write({ bytes, ...input }: Input): boolean {
    const given = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    const all = this.#rest.length === 0 ? given : Buffer.concat([this.#rest, given]);
    if (!this.#isWaiting) return this.#pass(all, input);
    this.#rest = all === given ? Buffer.from(given) : all;
    return true;
  }

  /** Passes on all whole messages before the first one that has to wait. */
  #pass(all: Buffer, input: Omit<Input, 'bytes'>): boolean {
    let at = 0;
    let load: (() => Promise<void>) | undefined;
    for (let frame = nextFrame(all, at); frame !== undefined; frame = nextFrame(all, at)) {
      load = this.needs(frame.payload);
      if (load !== undefined) break;
      at = frame.end;
    }
    // A copy: what was given is good for the call only.
    this.#rest = at === all.length ? nothing : Buffer.from(all.subarray(at));
    const isTaken = at === 0 || this.next.write({ ...input, bytes: all.subarray(0, at) });
    if (load === undefined) {
      if (this.#isWaiting) this.#over();
      return isTaken;
    }
    if (!this.#isWaiting) {
      this.#isWaiting = true;
      this.waits(true);
    }
    void this.#load(load, firstRetryMs);
    return isTaken;
  }

  async #load(load: () => Promise<void>, retryMs: number): Promise<void> {
    try {
      await load();
      if (!this.#isClosed) this.#pass(this.#rest, { isLast: true });
    } catch (error) {
      if (this.#isClosed) return;
      this.failed(reasonOf(error));
      this.#timer = setTimeout(() => void this.#load(load, Math.min(retryMs * 2, lastRetryMs)), retryMs);
    }
  }

  #over(): void {
    this.#isWaiting = false;
    for (const call of this.#askers.splice(0)) call();
    this.waits(false);
  }

  /** Resolves when nothing waits. */
  whenEmpty(): Promise<void> {
    if (!this.#isWaiting) return Promise.resolve();
    return new Promise((resolve) => this.#askers.push(resolve));
  }

  /** The connection was lost: the begin of a frame is of no use, whole messages are. */
  cut(): void {
    let at = 0;
    for (let frame = nextFrame(this.#rest, at); frame !== undefined; frame = nextFrame(this.#rest, at)) at = frame.end;
    this.#rest = this.#rest.subarray(0, at);
  }

  override close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#rest = nothing;
    this.#isWaiting = false;
    for (const call of this.#askers.splice(0)) call();
  }
}
