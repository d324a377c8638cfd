/**
 * Calls of an interface of a service, whatever its protocol: so many at once, in time, tried again where that helps,
 * and none for a while when the service is down.
 */
import type { Value } from '../../../kernels/values/value.js';
import { reasonOf } from '../../base/errors.js';
import type { Answers, AskedCode } from '../define.js';
import type { ServiceCode } from '../service-code.js';
import type { FailureKind, OpenCalls, ServiceCounts } from '../service-figures.js';
import { Breaker } from './breaker.js';
import { ServiceFault, shortReason } from './faults.js';
import type { Prepared, Protocol } from './protocol.js';

/** Calls that came together. */
interface Batch {
  readonly entry: string;
  readonly calls: readonly (readonly unknown[])[];
  readonly signal: AbortSignal;
  readonly values: Value[];
  readonly failed: Map<number, string>;
  /** The first call that has not begun. */
  next: number;
  /** Calls without an end. */
  left: number;
  readonly end: (answers: Answers) => void;
}

/** A call under way, or in the pause before its next try. */
interface Running {
  readonly batch: Batch;
  readonly index: number;
  readonly prepared: Prepared;
  readonly since: number;
  /** Time at which it fails, ms. */
  readonly until: number;
  triesLeft: number;
  giveUp: (isLate: boolean) => void;
}

const endedReason = 'the rule has ended';

export class ServiceCalls implements AskedCode {
  readonly #breaker: Breaker;
  readonly #batches: Batch[] = [];
  /** In the order of their ends in time. */
  readonly #running = new Set<Running>();
  #timer: NodeJS.Timeout | undefined;
  /** The time is read once for all calls that begin together. */
  #now = 0;
  #isPumping = false;
  readonly #ending: (() => void)[] = [];

  constructor(
    private readonly code: ServiceCode,
    private readonly protocol: Protocol,
    private readonly counts: ServiceCounts,
    log: (line: string) => void,
  ) {
    const { name, address, breakAfter, breakMs } = code;
    this.#breaker = new Breaker(`service ${name} at ${new URL(address).host}`, breakAfter, breakMs, log);
  }

  get trouble(): string {
    return this.#breaker.trouble;
  }

  get open(): OpenCalls {
    const waiting = this.#batches.reduce((sum, { calls, next }) => sum + calls.length - next, 0);
    return { inFlight: this.#running.size, waiting, breaker: this.#breaker.state };
  }

  ask(entry: string, calls: readonly (readonly unknown[])[], signal: AbortSignal): Promise<Answers> {
    return new Promise((resolve) => {
      const values = new Array<Value>(calls.length).fill(null);
      const drop = () => this.#drop(batch, 'ended', endedReason);
      const end = (answers: Answers) => {
        clearTimeout(timer);
        signal.removeEventListener('abort', drop);
        resolve(answers);
      };
      const { batchMs } = this.code;
      const late = `no answer within ${batchMs} ms, the time of its batch`;
      const timer = setTimeout(() => this.#drop(batch, 'late', late), batchMs);
      const batch: Batch = { entry, calls, signal, values, failed: new Map(), next: 0, left: calls.length, end };
      if (calls.length === 0) {
        end(batch);
        return;
      }
      signal.addEventListener('abort', drop, { once: true });
      this.#batches.push(batch);
      this.#pump();
    });
  }

  /** Waits for the answers of calls under way. */
  async close(): Promise<void> {
    if (this.#running.size > 0 || this.#batches.length > 0) {
      await new Promise<void>((resolve) => this.#ending.push(resolve));
    }
    clearTimeout(this.#timer);
    this.protocol.close();
  }

  /** Begins calls as long as there is room; while the service is down, they fail. */
  #pump(): void {
    if (this.#isPumping) return;
    this.#isPumping = true;
    this.#now = performance.now();
    for (let batch = this.#batches[0]; batch !== undefined; batch = this.#batches[0]) {
      if (this.#running.size >= this.code.atOnce) break;
      const index = batch.next++;
      if (batch.next >= batch.calls.length) this.#batches.shift();
      this.#begin(batch, index);
    }
    this.#isPumping = false;
    if (this.#running.size === 0) for (const end of this.#ending.splice(0)) end();
  }

  #begin(batch: Batch, index: number): void {
    if (batch.signal.aborted) {
      this.#fail(batch, index, 'ended', endedReason);
      return;
    }
    let prepared: Prepared;
    try {
      prepared = this.protocol.prepare(batch.entry, batch.calls[index] ?? []);
    } catch (error) {
      this.#fail(batch, index, 'invalid', reasonOf(error));
      return;
    }
    const refusal = this.#breaker.refusal(this.#now);
    if (refusal !== undefined) {
      this.#fail(batch, index, 'down', refusal);
      return;
    }
    const { timeoutMs, tries } = this.code;
    const since = this.#now;
    const until = since + timeoutMs;
    const running: Running = { batch, index, prepared, since, until, triesLeft: tries - 1, giveUp: () => {} };
    this.#running.add(running);
    this.#timer ??= setTimeout(() => this.#expire(), timeoutMs);
    this.#send(running);
  }

  #send(running: Running): void {
    const { batch, index, prepared } = running;
    this.counts.tries++;
    try {
      running.giveUp = prepared.send({
        answered: (value) => {
          if (!this.#running.delete(running)) return;
          this.#breaker.answered();
          this.counts.answered(running.since, performance.now());
          batch.values[index] = value;
          this.#ended(batch);
        },
        failed: (fault) => this.#failed(running, fault),
      });
    } catch (error) {
      // It did not go out, so it says nothing of the service.
      this.#running.delete(running);
      this.#breaker.givenUp();
      this.#fail(batch, index, 'invalid', reasonOf(error));
      this.#pump();
    }
  }

  #failed(running: Running, fault: ServiceFault): void {
    if (!this.#running.has(running)) return;
    const { kind, message, afterMs } = fault;
    const now = performance.now();
    const waitMs = Math.max(this.code.retryMs, afterMs);
    const helps = kind === 'unreachable' || kind === 'busy';
    if (helps && running.triesLeft > 0 && now + waitMs < running.until && !running.batch.signal.aborted) {
      running.triesLeft--;
      const timer = setTimeout(() => this.#send(running), waitMs);
      running.giveUp = () => clearTimeout(timer);
      return;
    }
    this.#running.delete(running);
    if (kind === 'unreachable' || kind === 'late') this.#breaker.failed(shortReason(message), now);
    else this.#breaker.answered();
    this.#fail(running.batch, running.index, kind, message);
    this.#pump();
  }

  /** Ends calls whose time is over. */
  #expire(): void {
    this.#timer = undefined;
    const now = performance.now();
    const reason = `no answer within ${this.code.timeoutMs} ms`;
    for (const running of this.#running) {
      if (running.until > now) {
        this.#timer = setTimeout(() => this.#expire(), Math.ceil(running.until - now));
        break;
      }
      running.giveUp(true);
      this.#failed(running, new ServiceFault('late', reason));
    }
  }

  /** Ends the calls that have no end yet: their rule has ended, or their time is over. */
  #drop(batch: Batch, kind: FailureKind, reason: string): void {
    const at = this.#batches.indexOf(batch);
    if (at >= 0) this.#batches.splice(at, 1);
    while (batch.next < batch.calls.length) this.#fail(batch, batch.next++, kind, reason);
    for (const running of this.#running) {
      if (running.batch !== batch) continue;
      running.giveUp(false);
      this.#running.delete(running);
      this.#breaker.givenUp();
      this.#fail(batch, running.index, kind, reason);
    }
    this.#pump();
  }

  #fail(batch: Batch, index: number, kind: FailureKind, reason: string): void {
    this.counts.failed(kind, reason);
    batch.failed.set(index, `function ${batch.entry}: ${reason}`);
    if (--batch.left === 0) batch.end(batch);
  }

  #ended(batch: Batch): void {
    if (--batch.left === 0) batch.end(batch);
    this.#pump();
  }
}
