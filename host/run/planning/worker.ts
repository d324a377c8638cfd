/** Thread entry: plans large rules away from the main thread, one after the other. */
import { parentPort, workerData } from 'node:worker_threads';
import { createKernel } from '../../../kernels/index.js';
import { HaumeaError, reasonOf } from '../../base/errors.js';
import { type Brought, callHost } from '../../functions/registry.js';
import type { Catalog, RuleDefinition } from '../../model/engine.js';
import { explainRule } from '../../plan/explain-rule.js';
import { type Fold, planRule, ruleTaps, sourcesOf } from '../../plan/index.js';
import '../../plan/statement/pattern-ready.js';
import { nameUserNumber } from '../../plugins/numbers.js';
import type { StreamDefinition } from '../../sql/source-def.js';
import type { FromPlanning, PlanningSettings, ToPlanning, Wanted } from './messages.js';

const port = parentPort;
if (port === null) throw new Error('large rules are planned in a worker thread');
const { maxValueBytes } = workerData as PlanningSettings;
const noCalls = { onOutput: () => {}, onPacket: () => {}, onAcknowledge: () => {}, call: callHost };
const kernel = createKernel(noCalls, undefined, { maxValueBytes });
const fold: Fold = (program, result) => kernel.evaluate(program, result);

function send(message: FromPlanning): void {
  port?.postMessage(message);
}

/** Thrown by the catalog for a name of which nothing is known here yet. */
class Unasked extends Error {}

/** The part of the catalog that one rule needs: names are asked for when the planner meets them. */
class Asked {
  readonly #sources = new Map<string, StreamDefinition | undefined>();
  readonly #brought = new Map<string, Brought | undefined>();
  #wantedSources: readonly string[] = [];
  #wantedBrought: readonly string[] = [];
  readonly catalog: Catalog;

  constructor(
    private readonly id: number,
    private readonly rule: RuleDefinition,
  ) {
    this.catalog = this.#catalog([], []);
  }

  async planned(wants: Wanted): Promise<FromPlanning> {
    const { id, rule } = this;
    this.#wantedSources = rule.graph === undefined ? sourcesOf(rule.sql) : [];
    let { catalog } = this;
    for (;;) {
      if (this.#wantedSources.length > 0 || this.#wantedBrought.length > 0) catalog = await this.#ask();
      try {
        if (wants === 'text') return { kind: 'explained', id, text: explainRule(rule, catalog, fold) };
        const plan = planRule(rule, catalog, fold);
        return { kind: 'planned', id, plan, ...(wants === 'traced' && { taps: ruleTaps(rule, catalog, fold) }) };
      } catch (error) {
        if (!(error instanceof Unasked)) throw error;
      }
    }
  }

  async #ask(): Promise<Catalog> {
    const { id } = this;
    const answer = await new Promise<Known>((resolve, reject) => {
      answers.set(id, { resolve, reject });
      send({ kind: 'ask', id, sources: this.#wantedSources, brought: this.#wantedBrought });
    });
    this.#wantedSources = [];
    this.#wantedBrought = [];
    for (const [name, definition] of answer.sources) this.#sources.set(name, definition);
    for (const [name, found] of answer.brought) {
      this.#brought.set(name, found);
      if (found?.run !== undefined) nameUserNumber(found.run.number, found.run.name);
    }
    return this.#catalog(answer.sourceNames, answer.broughtNames);
  }

  #catalog(sourceNames: readonly string[], broughtNames: readonly string[]): Catalog {
    const brought = (name: string): Brought | undefined => {
      if (!this.#brought.has(name)) {
        this.#wantedBrought = [name];
        throw new Unasked();
      }
      return this.#brought.get(name);
    };
    return {
      source: (name) => {
        if (!this.#sources.has(name)) {
          this.#wantedSources = [name];
          throw new Unasked();
        }
        return this.#sources.get(name);
      },
      sourceNames: () => sourceNames,
      confKey: () => undefined,
      connection: () => undefined,
      brought: Object.assign(brought, { names: () => broughtNames }),
    };
  }
}

type Known = Extract<ToPlanning, { kind: 'known' }>;

const answers = new Map<number, { resolve(answer: Known): void; reject(error: Error): void }>();
/** Ends when all rules so far are planned. */
let last: Promise<void> = Promise.resolve();

port.on('message', (message: ToPlanning) => {
  if (message.kind !== 'plan') {
    const asked = answers.get(message.id);
    answers.delete(message.id);
    if (message.kind === 'known') asked?.resolve(message);
    else asked?.reject(new Error('the answer can not be told'));
    return;
  }
  const { id, rule, wants } = message;
  last = last.then(async () => {
    try {
      send(await new Asked(id, rule).planned(wants));
    } catch (error) {
      const kind = error instanceof HaumeaError ? error.kind : undefined;
      send({ kind: 'refused', id, error: kind, message: reasonOf(error) });
    }
  });
});
