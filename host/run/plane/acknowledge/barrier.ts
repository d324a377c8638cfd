/**
 * Barriers of input: a message is acknowledged when all its output is with the outside. Each piece of input has a
 * barrier. Sinks that get its output, and nodes that gather its rows, hold the barrier until they have passed these on.
 */
import { completed } from '../../../connectors/messages/receipts.js';

/** A mark in the output of a sink, passed when all earlier bytes have left. */
export interface Mark {
  /** To be called when the bytes have left; `isLost` when they never will, since the sink is closed. */
  passed(isLost: boolean): void;
}

/** The owner of barriers. */
export interface BarrierOwner {
  /** Whether a barrier is never passed after a closed sink has given it up. */
  readonly keepsLost: boolean;
  /** To be called when a holder has left one of the barriers. */
  advance(): void;
}

/** The barrier of one piece of input with messages to acknowledge. */
export class Barrier implements Mark {
  /** Receipts of its messages; see connectors/messages/receipts.ts. */
  receipts: Uint32Array[] = [];
  /** Number of holders, the input itself included while it is processed. */
  left = 1;
  /** Number of holders that are checkpoints. */
  #kept = 0;
  /** The input is in a log: its sender need not wait. */
  isLogged = false;
  /** The input log has to store the input before it is acknowledged, so that a redelivery is known. */
  needsLog = false;
  /** Number of redelivered messages to acknowledge, which are not passed on. */
  redelivered = 0;
  /** Barriers of earlier input with the same messages. */
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

  /** Whether the input may be acknowledged. */
  get isSafe(): boolean {
    // Input of redelivered messages alone is kept already.
    const isKept = this.isLogged || (this.redelivered > 0 && this.messages === 0);
    if (!isKept && (this.left > 0 || this.needsLog)) return false;
    return this.origins === undefined || this.origins.every((origin) => origin.isSafe);
  }

  /** Number of messages that the kernel has got. */
  get messages(): number {
    let messages = -this.redelivered;
    for (const { length } of this.receipts) messages += length;
    return messages;
  }

  /** Adds a redelivered message, which waits for the origin if there is one. */
  redeliver(receipt: number, origin: Barrier | undefined): void {
    this.receipts.push(Uint32Array.of(receipt));
    this.redelivered++;
    if (origin === undefined || origin === this || origin.isSafe) return;
    this.origins ??= [];
    if (origin !== this.origins.at(-1)) this.origins.push(origin);
  }

  /** Whether all output is out, though checkpoints may still hold the input. */
  get isOut(): boolean {
    return this.left <= this.#kept;
  }

  /** Lets a checkpoint hold the input. */
  keep(): void {
    this.left++;
    this.#kept++;
  }

  /** To be called when a checkpoint has the input, or never will. */
  kept(isLost: boolean): void {
    if (isLost && this.owner.keepsLost) return;
    this.#kept--;
    this.passed(false);
  }

  passed(isLost: boolean): void {
    // The other side keeps messages without an acknowledgement: it may send them again.
    if (isLost && this.owner.keepsLost) return;
    this.left--;
    this.owner.advance();
  }
}

/** Twice the packet ids that there are: no broker has so many messages on their way, whatever it sends again. */
const mostWaiting = 2 * 65_535;

/** Acknowledges the input of one source, in order of arrival as the protocol demands. */
export class Acknowledgements implements BarrierOwner {
  /** Whether lost input stays unacknowledged, since nobody else got it. */
  keepsLost = false;
  /** Number of messages that wait for their acknowledgement. */
  count = 0;
  /** Time of the latest acknowledgement, as of `performance.now`. */
  lastAt = 0;
  /** Input log, which is told of each barrier that is left; undefined without one. */
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

  /** To be called when the input was processed. */
  end(barrier: Barrier): void {
    barrier.left--;
    if (barrier.receipts.length === 0) {
      // Input from the log has been acknowledged before.
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

  /** Tells the sender that a packet id is free. */
  complete(id: number): void {
    this.acknowledge(Uint32Array.of(completed | id));
  }

  /** The oldest input that waits. */
  get oldest(): Barrier | undefined {
    return this.#waiting[0];
  }

  /** Forgets all waiting input: on a new connection only its own input may be acknowledged. */
  clear(): void {
    this.#waiting = [];
    this.count = 0;
  }
}
