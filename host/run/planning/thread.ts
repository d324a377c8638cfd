/** Plans large rules in a thread of their own, so that REST answers meanwhile. */
import type { Worker } from 'node:worker_threads';
import type { RulePlan } from '../../../kernels/ir.js';
import { HaumeaError } from '../../base/errors.js';
import { threadEntry } from '../../base/program/bundle.js';
import { startThread } from '../../base/program/heap.js';
import type { Catalog, RuleDefinition } from '../../model/engine.js';
import type { FromPlanning, PlanningSettings, ToPlanning } from './messages.js';

/** The thread ends when nothing was to be planned for so long: it holds a kernel and the code of the planner. */
const idleMs = 10_000;
/** Far more than the largest rule within the limits needs. */
const maxHeapMb = 1024;

type Asking = Extract<FromPlanning, { kind: 'ask' }>;

interface Order {
  readonly catalog: Catalog;
  done(answer: Exclude<FromPlanning, { kind: 'ask' }>): void;
  failed(error: Error): void;
}

export class PlanningThread {
  readonly #orders = new Map<number, Order>();
  #worker: Worker | undefined;
  #idle: NodeJS.Timeout | undefined;
  #count = 0;

  constructor(private readonly settings: PlanningSettings) {}

  async plan(rule: RuleDefinition, catalog: Catalog): Promise<RulePlan> {
    const answer = await this.#order(rule, catalog, 'plan');
    if (answer.kind !== 'planned') throw new Error('the planning thread gave no plan');
    return answer.plan;
  }

  async explain(rule: RuleDefinition, catalog: Catalog): Promise<string> {
    const answer = await this.#order(rule, catalog, 'text');
    if (answer.kind !== 'explained') throw new Error('the planning thread gave no text');
    return answer.text;
  }

  close(): void {
    clearTimeout(this.#idle);
    const worker = this.#worker;
    this.#worker = undefined;
    void worker?.terminate();
    this.#fail(new HaumeaError('stopping', 'the server is stopping'));
  }

  #order(rule: RuleDefinition, catalog: Catalog, wants: 'plan' | 'text') {
    clearTimeout(this.#idle);
    this.#worker ??= this.#start();
    const worker = this.#worker;
    worker.ref();
    const id = ++this.#count;
    return new Promise<Exclude<FromPlanning, { kind: 'ask' }>>((resolve, reject) => {
      this.#orders.set(id, { catalog, done: resolve, failed: reject });
      this.#send(worker, { kind: 'plan', id, rule, wants });
    }).finally(() => {
      this.#orders.delete(id);
      if (this.#orders.size === 0 && this.#worker === worker) {
        worker.unref();
        this.#idle = setTimeout(() => this.close(), idleMs).unref();
      }
    });
  }

  #start(): Worker {
    const worker = startThread(threadEntry('planning-worker.mjs', 'host/run/planning/worker.ts'), {
      workerData: this.settings,
      resourceLimits: { maxOldGenerationSizeMb: maxHeapMb },
    });
    worker.on('message', (message: FromPlanning) => this.#take(worker, message));
    worker.once('error', (error) => {
      this.#gone(worker, new HaumeaError('general', `the rule can't be planned: ${error.message}`, { cause: error }));
    });
    worker.once('exit', () => this.#gone(worker, new Error('the thread that plans rules ended')));
    return worker;
  }

  #take(worker: Worker, message: FromPlanning): void {
    const order = this.#orders.get(message.id);
    if (order === undefined) return;
    if (message.kind === 'refused') {
      const { error, message: text } = message;
      order.failed(error === undefined ? new Error(text) : new HaumeaError(error, text));
    } else if (message.kind === 'ask') this.#tell(worker, message, order);
    else order.done(message);
  }

  /** Answers what the thread asks; when that can't be told the rule is refused with the reason. */
  #tell(worker: Worker, { id, sources, brought: functions }: Asking, { catalog, failed }: Order): void {
    const { source, sourceNames, brought } = catalog;
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
      // The thread waits for the answer, and others wait behind it.
      this.#send(worker, { kind: 'unknown', id });
      failed(error as Error);
    }
  }

  #send(worker: Worker, message: ToPlanning): void {
    worker.postMessage(message);
  }

  /** The thread has ended by itself: what it was to plan fails, the next rule gets another. */
  #gone(worker: Worker, reason: Error): void {
    if (this.#worker !== worker) return;
    this.#worker = undefined;
    this.#fail(reason);
  }

  #fail(reason: Error): void {
    for (const order of this.#orders.values()) order.failed(reason);
  }
}
