/**
 * The end of the input chain of a source: the kernel takes a piece of input with the barrier that acknowledges it, and
 * after it the branches of the source do.
 */
import type { Barrier } from '../acknowledge/barrier.js';
import type { FedSource } from '../feed/fed-source.js';
import { type Fed, feedInput } from '../feed/feed-stream.js';
import type { Input } from '../stage/input.js';
import type { Stage } from '../stage/stage.js';
import type { InputAcknowledgement } from './input-acknowledgement.js';
import type { LogStage } from './log-stage.js';
import type { OwedReceipts } from './owed-receipts.js';

/** Takes bytes that the kernel refuses. */
export interface Refusals {
  /** The kernel has no room for the bytes now. */
  keep(bytes: Uint8Array): void;
  /** The input is malformed. */
  malformed(reason: string): void;
}

export class KernelStage implements Stage<Input> {
  /** Bytes that the kernel has no room for wait in the stage before. */
  readonly isFull = false;
  /** Epoch ms, 0 never. */
  lastInputAt = 0;

  /** @param isWaiting says whether input waits in the stages before */
  constructor(
    private readonly source: FedSource,
    private readonly acknowledgement: InputAcknowledgement,
    private readonly log: LogStage,
    private readonly isWaiting: () => boolean,
    private readonly refusals: Refusals,
    private readonly owed: OwedReceipts,
  ) {}

  write({ bytes, isLast, maySkip = false }: Input): boolean {
    const { source, acknowledgement, log } = this;
    const { host, branches } = source;
    let fed: Fed = { taken: bytes.length, malformed: undefined };
    const barrier = acknowledgement.begin();
    const feed = () => {
      this.lastInputAt = Date.now();
      fed = feedInput(host.kernel, source, bytes, host.now(), maySkip);
      this.#owe(bytes.subarray(0, fed.taken), barrier);
      if (fed.taken < bytes.length) this.refusals.keep(bytes.subarray(fed.taken));
    };
    host.work(source.readers, feed, { source, place: source, bytes, barrier });
    branches.add(bytes.subarray(0, fed.taken), barrier, log.isReplay);
    if (barrier !== undefined) acknowledgement.end(barrier);
    if (log.isReady || (isLast && !this.isWaiting())) branches.numbered();
    if (fed.malformed === undefined) return true;
    this.refusals.malformed(fed.malformed);
    return false;
  }

  /** The barrier gets the receipts for messages in frames that the kernel has taken. */
  #owe(taken: Uint8Array, barrier: Barrier | undefined): void {
    if (barrier === undefined || this.source.form.framing !== 'frames' || this.log.isReplay) return;
    const receipts = this.owed.fed(taken);
    if (receipts.length > 0) this.acknowledgement.taken(receipts, barrier);
  }

  resume(): void {}

  drain(): void {}

  close(): void {}
}
