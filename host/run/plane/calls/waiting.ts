/**
 * Nodes in which rows wait: for answers of somebody outside (asking.ts), or for a time. The rows themselves are in the
 * kernel.
 */
import type { Kernel, NodeHandle } from '../../../../kernels/api.js';
import type { CarriedColumns } from '../../../../kernels/values/carried.js';
import type { Value } from '../../../../kernels/values/value.js';
import type { LookupSpec } from '../../link/protocol.js';
import type { Barrier } from '../acknowledge/barrier.js';
import type { RunningRule, RunningWaiting } from '../running/running.js';

/** A sink of the rule, that gets what the rows become. */
interface Holder {
  hold(barrier: Barrier): void;
}

export interface WaitingHost {
  readonly rule: RunningRule;
  readonly kernel: Kernel;
  readonly sinks: readonly Holder[];
  now(): number;
  /** Runs work of the kernel that is for the rule. */
  work(call: () => void): void;
  /** Too many batches wait, or no longer. */
  hold(isFull: boolean): void;
  /** Nothing waits any more. */
  idle(): void;
}

/** A node in which rows wait. */
export class Waiting implements RunningWaiting {
  /** Lookup that the node asks; undefined where rows wait for a time. */
  spec: LookupSpec | undefined = undefined;
  #barriers: { barrier: Barrier; last: number }[] = [];
  #isFull = false;
  #fullSince = 0;
  #hasRows = false;
  #isClosed = false;
  lost: RunningWaiting['lost'] = { rows: 0, reason: '', at: 0 };

  /** The table that is asked may have other properties. */
  renew(_specs: readonly LookupSpec[]): void {}

  constructor(
    readonly node: NodeHandle,
    /** Batches that may wait before the sources of the rule pause. */
    private readonly most: number,
    /** Reason of the wait. */
    private readonly cause: string,
    protected readonly host: WaitingHost,
  ) {}

  get rule(): RunningRule {
    return this.host.rule;
  }

  /** Takes what the kernel asks for. */
  ask(_request: number, _keys: readonly (readonly Value[])[], _count: number): void {
    throw new Error('rows that wait for a time ask nobody');
  }

  /** Takes the request of a node whose rows each ask by themselves. */
  askEach(_request: number, _keys: CarriedColumns): void {
    throw new Error('rows that wait for a time ask nobody');
  }

  /** Looks at what waits; to be called after work of the kernel. */
  settle(): void {
    const { batches, first } = this.host.kernel.waiting(this.node);
    if (this.#isFull ? batches <= this.most / 2 : batches >= this.most) {
      this.#isFull = !this.#isFull;
      this.#fullSince = Date.now();
      this.host.hold(this.#isFull);
    }
    while (this.#barriers[0] !== undefined && (first === 0 || this.#barriers[0].last < first)) {
      const { barrier } = this.#barriers.shift()!;
      for (const sink of this.host.sinks) sink.hold(barrier);
      barrier.passed(false);
    }
    const hadRows = this.#hasRows;
    this.#hasRows = first !== 0;
    // The rule may be at its end now; who calls is in the middle of work.
    if (hadRows && first === 0) setImmediate(() => this.#tellIdle());
  }

  get isAnswered(): boolean {
    return this.#isClosed || this.spec === undefined || this.host.kernel.waiting(this.node).first === 0;
  }

  #tellIdle(): void {
    if (this.#isClosed || this.#hasRows) return;
    this.host.idle();
  }

  /** Holds the barrier of input of which rows wait now; to be called after `settle`. */
  holdBarrier(barrier: Barrier): void {
    const { first, last } = this.host.kernel.waiting(this.node);
    if (first === 0) return;
    barrier.left++;
    this.#barriers.push({ barrier, last });
  }

  /** Sentence for people when rows wait for long; empty otherwise. */
  get trouble(): string {
    if (!this.#isFull || Date.now() - this.#fullSince < 1000) return '';
    const { batches } = this.host.kernel.waiting(this.node);
    return `${batches} batches of rows wait for ${this.cause}`;
  }

  /** Counts the rows that wait as lost, since the rule ends; says so, undefined when there are none. */
  loseWaiting(): string | undefined {
    const { rows } = this.host.kernel.waiting(this.node);
    if (rows === 0) return undefined;
    this.lost = { rows, reason: `the rule ended while rows waited for ${this.cause}`, at: Date.now() };
    const waited = rows === 1 ? '1 row waits' : `${rows.toLocaleString('en')} rows wait`;
    return `the rule ends while ${waited} for ${this.cause}: ${rows === 1 ? 'it is' : 'they are'} lost`;
  }

  /** Nobody waits any more; to be called before the node goes. */
  close(): void {
    this.#isClosed = true;
    if (this.#isFull) this.host.hold(false);
    for (const { barrier } of this.#barriers.splice(0)) barrier.passed(true);
  }
}

/** A node in which rows wait that leave it in another order than they came in: input is not held for them. */
export class UnorderedWaiting extends Waiting {
  override holdBarrier(): void {}
}
