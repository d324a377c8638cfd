/** Plans large rules in a thread of their own, one after the other, so that REST answers meanwhile. */
import type { Worker } from 'node:worker_threads';
import type { RulePlan, Tap } from '../../../kernels/plan/ir.js';
import { type HaumeaError, ofOtherThread } from '../../base/errors.js';
import { threadEntry } from '../../base/program/bundle.js';
import { startThread } from '../../base/program/heap.js';
import type { Catalog, Preparing, RuleDefinition } from '../../model/engine.js';
import { planningErrors } from './errors.js';
import { sizeOf } from './large.js';
import type { FromPlanning, PlanningSettings, ToPlanning, Wanted } from './messages.js';

/** The thread ends when nothing was to be planned for so long: it holds a kernel and the code of the planner. */
const idleMs = 10_000;

export interface PlanningBounds {
  /** Rules that wait, and their length together. */
  readonly maxWaiting: number;
  readonly maxWaitingBytes: number;
  /** Heap of the thread. */
  readonly maxHeapMb: number;
}

const usualBounds: PlanningBounds = {
  // A rule takes a second at most: whoever comes later would not wait for it.
  maxWaiting: 100,
  maxWaitingBytes: 64 * 1024 * 1024,
  // Far more than the largest rule within the limits needs.
  maxHeapMb: 1024,
};

type Asking = Extract<FromPlanning, { kind: 'ask' }>;
type Answer = Exclude<FromPlanning, { kind: 'ask' | 'refused' }>;

interface Order {
  readonly id: number;
  readonly rule: RuleDefinition;
  readonly wants: Wanted;
  readonly catalog: Catalog;
  readonly bytes: number;
  done(answer: Answer): void;
  failed(error: Error): void;
}

export class PlanningThread {
  readonly #bounds: PlanningBounds;
  /** In the order in which they came. */
  readonly #waiting = new Set<Order>();
  #waitingBytes = 0;
  /** The thread has one order at a time: it takes no other with it when it dies. */
  #atWork: Order | undefined;
  #worker: Worker | undefined;
  #idle: NodeJS.Timeout | undefined;
  #count = 0;

  constructor(
    private readonly settings: PlanningSettings,
    bounds: Partial<PlanningBounds> = {},
  ) {
    this.#bounds = { ...usualBounds, ...bounds };
  }

  /** Plans a rule; that of a traced one comes with its taps. */
  async plan(rule: RuleDefinition, catalog: Catalog, how: Preparing = {}): Promise<{ plan: RulePlan; taps?: Tap[] }> {
    const answer = await this.#order(rule, catalog, how.isTraced === true ? 'traced' : 'plan', how);
    if (answer.kind !== 'planned') throw new Error('the planning thread gave no plan');
    return answer;
  }

  async explain(rule: RuleDefinition, catalog: Catalog, how: Preparing = {}): Promise<string> {
    const answer = await this.#order(rule, catalog, 'text', how);
    if (answer.kind !== 'explained') throw new Error('the planning thread gave no text');
    return answer.text;
  }

  close(): void {
    clearTimeout(this.#idle);
    const worker = this.#worker;
    this.#worker = undefined;
    void worker?.terminate();
    const reason = planningErrors.stopping();
    const orders = [...this.#waiting];
    this.#leave(orders);
    this.#atWork?.failed(reason);
    this.#atWork = undefined;
    for (const { failed } of orders) failed(reason);
  }

  #order(rule: RuleDefinition, catalog: Catalog, wants: Wanted, { signal, isOwn }: Preparing): Promise<Answer> {
    const bytes = sizeOf(rule);
    if (isOwn !== true) this.#checkRoom(rule, bytes);
    return new Promise<Answer>((resolve, reject) => {
      const giveUp = () => {
        // An order under way is left to its end: that takes less than another thread.
        if (!this.#waiting.has(order)) return;
        this.#leave([order]);
        order.failed(unwanted(rule));
      };
      const settled = () => signal?.removeEventListener('abort', giveUp);
      const order: Order = {
        id: ++this.#count,
        rule,
        wants,
        catalog,
        bytes,
        done: (answer) => {
          settled();
          resolve(answer);
        },
        failed: (error) => {
          settled();
          reject(error);
        },
      };
      if (signal?.aborted === true) return reject(unwanted(rule));
      signal?.addEventListener('abort', giveUp, { once: true });
      this.#waiting.add(order);
      this.#waitingBytes += bytes;
      this.#next();
    });
  }

  /** Throws when the rule is not to wait behind the others. One alone may have any length. */
  #checkRoom({ id }: RuleDefinition, bytes: number): void {
    const { maxWaiting, maxWaitingBytes } = this.#bounds;
    const count = this.#waiting.size;
    const refuse = (bound: string) => planningErrors.full(id, count, bound);
    if (count >= maxWaiting) throw refuse(`${maxWaiting} are allowed`);
    const all = this.#waitingBytes + bytes;
    if (count > 0 && all > maxWaitingBytes) {
      throw refuse(`with this one they have ${all} bytes, ${maxWaitingBytes} are allowed`);
    }
  }

  #leave(orders: readonly Order[]): void {
    for (const order of orders) if (this.#waiting.delete(order)) this.#waitingBytes -= order.bytes;
  }

  /** Gives the thread its next order when it has none; lets it end when there is none for long. */
  #next(): void {
    if (this.#atWork !== undefined) return;
    clearTimeout(this.#idle);
    const [order] = this.#waiting;
    if (order === undefined) {
      this.#worker?.unref();
      this.#idle = setTimeout(() => this.close(), idleMs).unref();
      return;
    }
    this.#leave([order]);
    this.#atWork = order;
    const { id, rule, wants } = order;
    try {
      this.#worker ??= this.#start();
      this.#worker.ref();
      this.#send(this.#worker, { kind: 'plan', id, rule, wants });
    } catch (error) {
      this.#end(order, () => order.failed(error as Error));
    }
  }

  /** Settles the order at work and goes on with the next. */
  #end(order: Order, settle: () => void): void {
    if (this.#atWork !== order) return;
    this.#atWork = undefined;
    settle();
    this.#next();
  }

  #start(): Worker {
    const { maxHeapMb } = this.#bounds;
    const worker = startThread(threadEntry('planning-worker.mjs', 'host/run/planning/worker.ts'), {
      workerData: this.settings,
      resourceLimits: { maxOldGenerationSizeMb: maxHeapMb },
    });
    worker.on('message', (message: FromPlanning) => this.#take(worker, message));
    worker.once('error', (error) => {
      const isFull = 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY';
      const reason = isFull ? `planning it takes more than ${maxHeapMb} MB of memory` : error.message;
      this.#gone(worker, (id) => planningErrors.failed(id, reason, { cause: error }));
    });
    worker.once('exit', () => this.#gone(worker, (id) => new Error(`the thread that planned rule ${id} ended`)));
    return worker;
  }

  #take(worker: Worker, message: FromPlanning): void {
    const order = this.#atWork;
    if (order === undefined || order.id !== message.id || worker !== this.#worker) return;
    if (message.kind === 'refused') {
      const { error, message: text } = message;
      this.#end(order, () => order.failed(error === undefined ? new Error(text) : ofOtherThread(error, text)));
    } else if (message.kind === 'ask') this.#tell(worker, message, order);
    else this.#end(order, () => order.done(message));
  }

  /** Answers what the thread asks; when that can't be told the rule is refused with the reason. */
  #tell(worker: Worker, { id, sources, brought: functions }: Asking, order: Order): void {
    const { source, sourceNames, brought } = order.catalog;
    try {
      this.#send(worker, {
        kind: 'known',
        id,
        sources: sources.map((name) => [name, source(name)]),
        brought: functions.map((name) => [name, brought?.(name)]),
        sourceNames: sourceNames?.() ?? [],
        broughtNames: brought?.names?.() ?? [],
      });
    } catch (error) {
      // The thread waits for the answer.
      this.#send(worker, { kind: 'unknown', id });
      this.#end(order, () => order.failed(error as Error));
    }
  }

  #send(worker: Worker, message: ToPlanning): void {
    worker.postMessage(message);
  }

  /** The thread has ended by itself: what it was at fails, the next rule gets another. */
  #gone(worker: Worker, reasonOf: (id: string) => Error): void {
    if (this.#worker !== worker) return;
    this.#worker = undefined;
    const order = this.#atWork;
    if (order !== undefined) this.#end(order, () => order.failed(reasonOf(order.rule.id)));
  }
}

function unwanted({ id }: RuleDefinition): HaumeaError {
  return planningErrors.unwanted(id);
}
