/**
 * When input of a source is acknowledged. Each piece gets a barrier as it goes to the kernel; besides sinks, nodes that
 * gather or wait hold it, checkpoints, and the log of the source.
 */
import type { NodeHandle } from '../../../../kernels/api.js';
import type { Redeliveries } from '../../../connectors/messages/redeliveries.js';
import { Acknowledgements, type Barrier } from '../acknowledge/barrier.js';
import { EarlyBatches } from '../acknowledge/early-batches.js';
import type { Gathering } from '../acknowledge/gathering.js';
import type { FedSource } from '../feed/fed-source.js';
import type { LogStage } from './log-stage.js';

/** The connector's side of an acknowledgement. */
export interface Acknowledged {
  acknowledge(receipts: Uint32Array): void;
  /** The sender waits for nothing: its connection is to end. */
  malformed(reason: string): void;
}

export class InputAcknowledgement {
  /** Undefined of a source whose messages are not acknowledged. */
  waiting: Acknowledgements | undefined;
  /** The source has had messages to acknowledge. */
  hasSome = false;
  /** Nodes that may gather rows of its messages. */
  readonly gatherings = new Map<NodeHandle, Gathering>();
  #early: EarlyBatches | undefined;

  /** @param redeliveries is to know what is acknowledged */
  constructor(
    private readonly source: FedSource,
    private readonly log: LogStage,
    private readonly redeliveries: Redeliveries<Barrier> | undefined,
  ) {}

  /** The messages of the source are acknowledged. */
  open({ acknowledge, malformed }: Acknowledged): void {
    this.waiting = new Acknowledgements(acknowledge, this.redeliveries, malformed);
    this.#early = new EarlyBatches(this.waiting, () => this.#sendGathered());
  }

  /** Opens the barrier of input that goes to the kernel; undefined where nothing is acknowledged. */
  begin(): Barrier | undefined {
    this.#early?.came();
    return this.waiting?.begin(this.log.isReady && this.source.retention.isNeeded);
  }

  /** The kernel has worked the input off. */
  end(barrier: Barrier): void {
    const { waiting } = this;
    const { log } = this.log;
    if (waiting === undefined) return;
    const isGathered = this.#hold(barrier);
    log?.add(barrier);
    waiting.end(barrier);
    if (barrier.goesToLog && !isGathered) log?.worked();
    else this.#early?.worked(isGathered || this.source.retention.isNeeded);
    if (waiting.oldest !== undefined) this.source.host.waits();
  }

  /** Lets all that still need the input hold its barrier; returns whether it waits for a batch. */
  #hold(barrier: Barrier): boolean {
    const { host, retention, stream, users } = this.source;
    let isGathered = false;
    for (const node of host.kernel.gathering(stream)) {
      const gathering = this.gatherings.get(node);
      if (gathering?.hold(barrier) !== true) continue;
      host.gathers(gathering);
      isGathered = true;
    }
    retention.hold(barrier);
    host.holdWaiting(barrier, users);
    return isGathered;
  }

  /** Messages taken over in the running call of the kernel, that receipts are owed for. */
  taken(receipts: Uint32Array, barrier: Barrier | undefined): void {
    // Messages of a log were acknowledged when they came.
    if (this.log.isLive && !this.log.isReplay) {
      barrier?.receipts.push(receipts.slice());
      this.redeliveries?.taken(receipts, barrier);
    }
    if (this.hasSome) return;
    this.hasSome = true;
    for (const { sinks } of this.source.users) for (const sink of sinks) sink.acknowledged();
  }

  /** Takes what stands for a message that came again, or tells that an id is free; false: the packet is another. */
  redelivered(packet: Uint8Array, barrier: Barrier | undefined): boolean {
    const { redeliveries } = this;
    const again = redeliveries?.redeliveredIn(packet) ?? 0;
    const freed = redeliveries?.freedIn(packet) ?? 0;
    if (again > 0) barrier?.redeliver(again, redeliveries?.originOf(again));
    else if (freed > 0) redeliveries?.freed(freed, () => this.waiting?.complete(freed));
    return again > 0 || freed > 0;
  }

  /** From now on messages that a sink loses stay unacknowledged: no rule is left that got them. */
  keepLost(): void {
    if (this.waiting !== undefined) this.waiting.keepsLost = true;
  }

  /** On a new connection only what came on it may be acknowledged. */
  clear(): void {
    this.waiting?.clear();
  }

  close(): void {
    this.#early?.close();
  }

  #sendGathered(): void {
    const { source } = this;
    const { kernel } = source.host;
    if (source.isClosed) return;
    source.host.work(source.users, () => {
      for (const node of kernel.gathering(source.stream)) {
        if (this.gatherings.get(node)?.isHolding) kernel.flush(node);
      }
    });
    if (this.log.log === undefined) source.retention.request();
    else this.log.log.flush();
  }
}
