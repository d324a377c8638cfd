/**
 * QoS 1: a message is acknowledged when all that came of it is with the outside. Each piece of input has a barrier; the
 * sinks that get output of it, and the nodes that gather rows of it, hold the barrier until they have passed that on.
 */

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
  packetIds: Uint16Array[] = [];
  /** Holders, and the input itself while it is at work. */
  left = 1;
  /** The input is in a log: whoever sent it need not wait. */
  isLogged = false;

  /**
   * @param since when the input came, epoch ms
   * @param goesToLog what holds it need not hurry
   */
  constructor(
    readonly owner: BarrierOwner,
    readonly since: number,
    readonly goesToLog = false,
  ) {}

  passed(isLost: boolean): void {
    // The other side keeps what it has no acknowledgement for: it may send that again.
    if (isLost && this.owner.keepsLost) return;
    this.left--;
    this.owner.advance();
  }
}

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

  constructor(private readonly acknowledge: (packetIds: Uint16Array) => void) {}

  /** Opens the barrier of input that goes to work now. */
  begin(goesToLog = false): Barrier {
    return new Barrier(this, Date.now(), goesToLog);
  }

  /** The input was worked off. */
  end(barrier: Barrier): void {
    barrier.left--;
    if (barrier.packetIds.length === 0) {
      // What comes from the log has been acknowledged.
      this.log?.advance();
      return;
    }
    this.#waiting.push(barrier);
    for (const { length } of barrier.packetIds) this.count += length;
    this.advance();
  }

  advance(): void {
    for (let first = this.#waiting[0]; first?.left === 0 || first?.isLogged === true; first = this.#waiting[0]) {
      for (const packetIds of this.#waiting.shift()?.packetIds ?? []) {
        this.count -= packetIds.length;
        this.acknowledge(packetIds);
      }
      this.lastAt = performance.now();
    }
    this.log?.advance();
  }

  /** The oldest input that waits. */
  get oldest(): Barrier | undefined {
    return this.#waiting[0];
  }

  /** Forgets all that waits: a new connection starts with new packet ids, late acknowledgements would mean other messages. */
  clear(): void {
    this.#waiting = [];
    this.count = 0;
  }
}
