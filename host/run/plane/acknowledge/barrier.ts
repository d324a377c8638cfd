/**
 * A message is acknowledged when all that came of it is with the outside. Each piece of input has a barrier; the
 * sinks that get output of it, and the nodes that gather rows of it, hold the barrier until they have passed that on.
 */
import { completed } from '../../../connectors/receipts.js';

/** Waits in a sink until the bytes that it had then have left. */
export interface Mark {
  /** They have left; `isLost` says that they never will, since the sink is closed. */
  passed(isLost: boolean): void;
}

/** Whose barriers they are. */
export interface BarrierOwner {
  /** A barrier that a closed sink leaves is never passed. */
  readonly keepsLost: boolean;
  /** One of its barriers was left by a holder. */
  advance(): void;
}

/** One piece of input with the messages to acknowledge. */
export class Barrier implements Mark {
  /** What is owed for its messages; see connectors/receipts.ts. */
  receipts: Uint32Array[] = [];
  /** Holders, and the input itself while it is at work. */
  left = 1;
  /** Holders that are checkpoints. */
  #kept = 0;
  /** The input is in a log: whoever sent it need not wait. */
  isLogged = false;
  /** A log has to know of the input before it is acknowledged, so that it is known when it comes again. */
  needsLog = false;
  /** Messages that came again and are not passed on, among those to acknowledge. */
  redelivered = 0;
  /** Earlier input with the same messages. */
  origins: Barrier[] | undefined;

  /**
   * @param since when the input came, epoch ms
   * @param goesToLog what holds it need not hurry
   */
  constructor(
    readonly owner: BarrierOwner,
    readonly since: number,
    readonly goesToLog = false,
  ) {}

  /** It may be acknowledged. */
  get isSafe(): boolean {
    // What only came again is kept already.
    const isKept = this.isLogged || (this.redelivered > 0 && this.messages === 0);
    if (!isKept && (this.left > 0 || this.needsLog)) return false;
    return this.origins === undefined || this.origins.every((origin) => origin.isSafe);
  }

  /** Messages that the kernel has got. */
  get messages(): number {
    let messages = -this.redelivered;
    for (const { length } of this.receipts) messages += length;
    return messages;
  }

  /** A message came again that waits for the origin, if there is one. */
  redeliver(receipt: number, origin: Barrier | undefined): void {
    this.receipts.push(Uint32Array.of(receipt));
    this.redelivered++;
    if (origin === undefined || origin === this || origin.isSafe) return;
    this.origins ??= [];
    if (origin !== this.origins.at(-1)) this.origins.push(origin);
  }

  /** All that came of it is out, whoever keeps the input itself. */
  get isOut(): boolean {
    return this.left <= this.#kept;
  }

  /** A checkpoint is to have it. */
  keep(): void {
    this.left++;
    this.#kept++;
  }

  /** A checkpoint has it, or never will. */
  kept(isLost: boolean): void {
    if (isLost && this.owner.keepsLost) return;
    this.#kept--;
    this.passed(false);
  }

  passed(isLost: boolean): void {
    // The other side keeps what it has no acknowledgement for: it may send that again.
    if (isLost && this.owner.keepsLost) return;
    this.left--;
    this.owner.advance();
  }
}

/** Twice the packet ids that there are: no broker has so many messages on their way, whatever it sends again. */
const mostWaiting = 2 * 65_535;

/** Acknowledges the input of one source, in order of arrival as the protocol demands. */
export class Acknowledgements implements BarrierOwner {
  /** What is lost stays unacknowledged: nobody else got it. */
  keepsLost = false;
  /** Messages that wait. */
  count = 0;
  /** When the latest messages were acknowledged, as `performance.now` says. */
  lastAt = 0;
  /** Set where input is logged that waits: it hears of each barrier that is left. */
  log: { advance(): void } | undefined;
  #waiting: Barrier[] = [];

  /**
   * @param redeliveries is to know what is acknowledged
   * @param refuse ends the connection of a sender that waits for nothing: what comes again makes no output to stop at
   */
  constructor(
    private readonly acknowledge: (receipts: Uint32Array) => void,
    private readonly redeliveries?: { acknowledged(receipts: Uint32Array): void },
    private readonly refuse: (reason: string) => void = () => {},
  ) {}

  /** Opens the barrier of input that goes to work now. */
  begin(goesToLog = false): Barrier {
    return new Barrier(this, Date.now(), goesToLog);
  }

  /** The input was processed. */
  end(barrier: Barrier): void {
    barrier.left--;
    if (barrier.receipts.length === 0) {
      // What comes from the log has been acknowledged.
      this.log?.advance();
      return;
    }
    this.#waiting.push(barrier);
    for (const { length } of barrier.receipts) this.count += length;
    this.advance();
    if (this.count > mostWaiting) this.refuse(`${this.count} messages wait for their acknowledgements`);
  }

  advance(): void {
    for (let first = this.#waiting[0]; first?.isSafe === true; first = this.#waiting[0]) {
      for (const receipts of this.#waiting.shift()?.receipts ?? []) {
        this.count -= receipts.length;
        this.redeliveries?.acknowledged(receipts);
        this.acknowledge(receipts);
      }
      this.lastAt = performance.now();
    }
    this.log?.advance();
  }

  /** Says that a packet id is free. */
  complete(id: number): void {
    this.acknowledge(Uint32Array.of(completed | id));
  }

  /** The oldest input that waits. */
  get oldest(): Barrier | undefined {
    return this.#waiting[0];
  }

  /** Forgets all that waits: on a new connection only what came on it may be acknowledged. */
  clear(): void {
    this.#waiting = [];
    this.count = 0;
  }
}
