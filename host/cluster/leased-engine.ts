/**
 * The engine of a node of a cluster: it knows all rules, and runs those whose lease the node has. What is asked of a
 * rule that runs elsewhere, the node that has it is asked.
 */
import { reasonOf } from '../base/errors.js';
import type { Logger } from '../base/log/log.js';
import type { Engine, RuleDefinition, RuleState, RuleStatus, RuleSummary } from '../model/engine.js';
import type { FailedRow, TableRow } from '../model/figures.js';
import { overlaid } from '../model/overlaid.js';
import type { Asks } from './asks.js';
import { isAway } from './away.js';
import { clusterErrors } from './errors.js';
import type { Placing } from './placing.js';
import type { RuleStates } from './state/rule-states.js';

export interface LeasedOptions {
  /** The engine that runs the rules of this node. */
  readonly engine: Engine;
  readonly node: string;
  readonly placing: Placing;
  readonly states: RuleStates;
  /** Type of a stream or table. */
  readonly typeOf: (source: string) => string | undefined;
  readonly drain: (isDraining: boolean) => Promise<void>;
  readonly asks: Asks;
  /** Other nodes that are there. */
  readonly others: () => string[];
  readonly log: Logger;
}

const memoryTypes: ReadonlySet<string> = new Set(['memory', 'logtomemory']);
/** Longest wait for what another node knows at once, and for what takes a stop of a rule, ms. */
const lookTimeoutMs = 2000;
const workTimeoutMs = 15_000;
/** Time between two questions to NATS about the state of a rule that is to begin here, ms. */
const beginPauseMs = 250;
/** News of states gather for so long, ms. */
const tellMs = 100;
/** News in a message: NATS takes 1 MiB, and ids of some KB. */
const toldAtOnce = 200;

interface States {
  readonly node: string;
  readonly states: Readonly<Record<string, RuleState>>;
}

export class Leased {
  /** Rules of this node alone: trial runs, and those that are kept in memory. */
  readonly #own = new Set<string>();
  /** Rules that this node has started, and may run. */
  readonly #begun = new Set<string>();
  /** Rules that this node has got and not started yet: to all who look they are starting. */
  readonly #beginning = new Set<string>();
  /** Rules whose definition came since their last start. */
  readonly #changed = new Set<string>();
  /** States of rules as nodes have told them, by node: what one says late about a rule it had does not count. */
  readonly #told = new Map<string, Map<string, RuleState>>();
  readonly #news = new Map<string, Set<() => void>>();
  readonly #untold = new Map<string, RuleState>();
  readonly #watched = new Set<string>();
  readonly #before = new Map<string, string>();
  /** Rules that keep their state. */
  readonly #stateful = new Set<string>();
  /** Rules that exchange rows in the memory of a node. */
  readonly #inMemory = new Set<string>();
  readonly engine: Engine;

  constructor(private readonly options: LeasedOptions) {
    const { engine, asks, node } = options;
    const failedRows = async (id: string) => (await engine.failedRows?.(id)) ?? [];
    const overrides: Partial<Engine> = {
      define: (rule) => this.#define(rule),
      start: (id) => this.#start(id),
      // Another node may have made a rule of this id.
      startsAhead: () => false,
      stop: (id) => this.#stop(id),
      restart: (id) => this.#restart(id),
      remove: (id) => this.#remove(id),
      state: (id) => this.#state(id),
      opening: (id) => this.#opening(id),
      onNews: (id, call) => this.#onNews(id, call),
      status: (id) => this.#status(id),
      summaries: () => this.#summaries(),
      // What a rule has done here before it moved is no figure of it any more: its node tells all.
      figures: async (ids) => (await engine.figures?.(ids.filter((id) => this.#elsewhere(id) === undefined))) ?? [],
      usersOf: (stream, also = new Set()) => engine.usersOf(stream, new Set([...also, ...options.placing.wanted()])),
      resetSource: (id, ...rest) =>
        this.#there(id, 'resetSource', [id, ...rest], () => engine.resetSource(id, ...rest)),
      scanTables: (id) => this.#there<TableRow[]>(id, 'scanTables', [id], () => engine.scanTables(id)),
      failedRows: (id) => this.#there<FailedRow[]>(id, 'failedRows', [id], () => failedRows(id)),
      setTrace: async (id, strategy, how) => {
        const owner = this.#elsewhere(id);
        if (owner !== undefined) throw clusterErrors.elsewhere(id, owner, 'it can be traced');
        await engine.setTrace(id, strategy, how);
      },
    };
    this.engine = overlaid(engine, overrides);
    asks.answer(node, {
      ...options.placing.answers,
      status: (id: string) => this.engine.status(id),
      stop: (id: string) => this.#stop(id),
      restart: (id: string) => this.#restart(id),
      resetSource: (id: string, stream: string, position: unknown) => engine.resetSource(id, stream, position),
      scanTables: (id: string) => engine.scanTables(id),
      failedRows,
      drain: options.drain,
      summaries: () => this.#mine(),
      states: () => Object.fromEntries(options.placing.held().map((id) => [id, this.#state(id)])),
    });
    asks.hear<States>('states', ({ node: other, states }) => {
      if (other !== node) this.#hear(other, states);
    });
  }

  /** This node has got the lease of the rule, which another one may have had before. */
  async taken(id: string, former: string | undefined): Promise<void> {
    const { engine, log, node, placing } = this.options;
    this.#changed.delete(id);
    this.#beginning.add(id);
    try {
      if (former !== undefined && former !== node && this.#stateful.has(id)) await this.#begin(id, former);
      if (engine.state(id) === undefined || !placing.holds(id)) return;
      log.info(`rule ${id} runs here`);
      this.#begun.add(id);
      engine.start(id);
    } catch (error) {
      log.error(`rule ${id} could not be started: ${reasonOf(error)}`);
    } finally {
      this.#beginning.delete(id);
    }
    this.#watch(id);
    this.#call(id);
  }

  /** Begins a rule without the state that it had at a node of an earlier release, which keeps it on its disk. */
  async #begin(id: string, former: string): Promise<void> {
    const { engine, placing } = this.options;
    while (placing.holds(id)) {
      const isThere = await this.#hasState(id);
      if (isThere === true) return;
      if (isThere === false) break;
      await new Promise((resolve) => setTimeout(resolve, beginPauseMs));
    }
    if (!placing.holds(id)) return;
    await engine.forgetState?.(id);
    const reason = `it ran on node ${former} before, and its state stays there`;
    engine.onLoss?.({ resource: 'rule', name: id, what: 'state', reason });
  }

  /** Whether NATS has a state of the rule; undefined while it does not answer. */
  async #hasState(id: string): Promise<boolean | undefined> {
    try {
      return await this.options.states.isThere(id);
    } catch (error) {
      if (!isAway(error)) throw error;
      return undefined;
    }
  }

  /** Stops a rule that is to run elsewhere. */
  async given(id: string): Promise<void> {
    const { engine, log } = this.options;
    if (engine.state(id) === undefined) return;
    log.info(`rule ${id} moves to another node`);
    try {
      for (const loss of await engine.stop(id)) log.warn(`rule ${id}: ${loss}`);
    } catch (error) {
      log.error(`rule ${id} could not be stopped in order: ${reasonOf(error)}`);
    }
  }

  /** Rules over memory topics meet on one node. */
  groupOf(id: string): string | undefined {
    return this.#inMemory.has(id) ? 'memory' : undefined;
  }

  #usesMemory(rule: RuleDefinition): boolean {
    const { engine, typeOf } = this.options;
    const types = [...rule.actions.map(({ type }) => type), ...engine.check(rule).sources.map(typeOf)];
    return types.some((type) => type !== undefined && memoryTypes.has(type.toLowerCase()));
  }

  /** Looks at who has which rule: what this node runs without a lease ends, whatever order has started it. */
  look(): void {
    const { engine, placing } = this.options;
    for (const id of this.#begun) {
      if (this.#isHere(id) || placing.isGiven(id)) continue;
      const state = engine.state(id);
      if (state === 'stopping') continue;
      this.#begun.delete(id);
      if (state !== undefined && state !== 'stopped') void this.given(id);
    }
    for (const id of this.#news.keys()) {
      const owner = this.options.placing.ownerOf(id) ?? '';
      if (this.#before.get(id) === owner) continue;
      this.#before.set(id, owner);
      this.#call(id);
    }
  }

  /** Learns the states of the rules of a node. */
  async learn(node: string): Promise<void> {
    const states = await this.options.asks
      .ask<States['states']>(node, 'states', [], lookTimeoutMs)
      .catch(() => undefined);
    if (states !== undefined) this.#hear(node, states);
  }

  #define(rule: RuleDefinition): readonly string[] {
    const warnings = this.options.engine.define(rule);
    if (rule.temp === true || rule.test !== undefined) this.#own.add(rule.id);
    else {
      this.#own.delete(rule.id);
      this.#changed.add(rule.id);
    }
    const { qos, enableSaveStateBeforeStop } = rule.options;
    if (qos > 0 || enableSaveStateBeforeStop) this.#stateful.add(rule.id);
    else this.#stateful.delete(rule.id);
    if (this.#usesMemory(rule)) this.#inMemory.add(rule.id);
    else this.#inMemory.delete(rule.id);
    return warnings;
  }

  #start(id: string): void {
    const { engine, placing } = this.options;
    if (this.#mayRun(id)) {
      this.#begun.add(id);
      engine.start(id);
    } else placing.want(id);
    if (placing.holds(id)) this.#watch(id);
  }

  async #stop(id: string): Promise<readonly string[]> {
    const { engine, placing } = this.options;
    if (this.#isHere(id)) {
      const losses = await engine.stop(id);
      if (!this.#own.has(id)) await placing.unwant(id);
      return losses;
    }
    const owner = this.#elsewhere(id);
    await placing.unwant(id);
    return owner === undefined ? [] : this.#asked(owner, 'stop', id);
  }

  async #restart(id: string): Promise<readonly string[]> {
    const { engine, placing } = this.options;
    const isChanged = this.#changed.delete(id);
    if (this.#mayRun(id)) {
      if (!this.#own.has(id)) placing.want(id);
      this.#begun.add(id);
      const losses = await engine.restart(id);
      this.#watch(id);
      return losses;
    }
    const owner = this.#elsewhere(id);
    placing.want(id);
    // The node that has the rule hears of its new definition, and restarts it.
    return owner === undefined || isChanged ? [] : this.#asked(owner, 'restart', id);
  }

  async #remove(id: string): Promise<readonly string[]> {
    const { engine, placing, states } = this.options;
    const owner = this.#elsewhere(id);
    const isStateful = this.#stateful.has(id);
    const losses = await engine.remove(id);
    await placing.unwant(id);
    await placing.forget(id);
    this.#own.delete(id);
    this.#stateful.delete(id);
    this.#inMemory.delete(id);
    for (const states of this.#told.values()) states.delete(id);
    this.#changed.delete(id);
    const others = owner === undefined ? [] : await this.#asked(owner, 'stop', id);
    // What its last checkpoint has left.
    if (isStateful) await states.remove(id);
    return [...losses, ...others];
  }

  /** What another node does on request, it does as well when it sees the definition: that it is silent does no harm. */
  async #asked(owner: string, what: string, id: string): Promise<readonly string[]> {
    try {
      return await this.options.asks.ask<readonly string[]>(owner, what, [id], workTimeoutMs);
    } catch (error) {
      return [`${reasonOf(error)}; it follows as soon as it can`];
    }
  }

  #isHere(id: string): boolean {
    return this.#own.has(id) || this.options.placing.holds(id);
  }

  /** Whether the rule is to run here; one on its way to another node is started there. */
  #mayRun(id: string): boolean {
    return this.#isHere(id) && !this.options.placing.isGiven(id);
  }

  /** Another node that has the rule. */
  #elsewhere(id: string): string | undefined {
    const owner = this.options.placing.ownerOf(id);
    return this.#own.has(id) || owner === this.options.node ? undefined : owner;
  }

  #state(id: string): RuleState | undefined {
    const { engine, placing } = this.options;
    const state = engine.state(id);
    if (state === undefined) return undefined;
    if (this.#isHere(id)) return this.#beginning.has(id) ? 'starting' : state;
    if (!placing.isWanted(id)) return state;
    return this.#told.get(this.#elsewhere(id) ?? '')?.get(id) ?? 'starting';
  }

  #opening(id: string): readonly string[] | undefined {
    if (this.#isHere(id) || !this.options.placing.isWanted(id)) return this.options.engine.opening(id);
    return this.#state(id) === 'running' ? [] : undefined;
  }

  #onNews(id: string, call: () => void): () => void {
    const calls = this.#news.get(id) ?? new Set();
    this.#news.set(id, calls);
    const takeBack = this.options.engine.onNews?.(id, call);
    calls.add(call);
    return () => {
      takeBack?.();
      calls.delete(call);
      if (calls.size === 0) this.#news.delete(id);
    };
  }

  #call(id: string): void {
    const calls = [...(this.#news.get(id) ?? [])];
    for (const call of calls) call();
  }

  async #status(id: string): Promise<RuleStatus> {
    const { engine, placing, node, asks } = this.options;
    if (this.#own.has(id)) return engine.status(id);
    if (placing.holds(id)) {
      const isBeginning = this.#beginning.has(id);
      return { ...(await engine.status(id)), ...(isBeginning && { status: 'starting', message: '' }), node };
    }
    const owner = this.#elsewhere(id);
    const known = await engine.status(id);
    if (!placing.isWanted(id)) return known;
    if (owner === undefined) return { ...known, status: 'starting', message: 'no node has taken the rule yet' };
    try {
      return await asks.ask<RuleStatus>(owner, 'status', [id], lookTimeoutMs);
    } catch (error) {
      return { ...known, status: this.#state(id) ?? 'starting', message: reasonOf(error), node: owner };
    }
  }

  async #summaries(): Promise<RuleSummary[]> {
    const { others, asks, placing, engine } = this.options;
    const answers = await Promise.all(
      others().map((name) => asks.ask<RuleSummary[]>(name, 'summaries', [], lookTimeoutMs).catch(() => [])),
    );
    const all = new Map((await engine.summaries()).map((summary) => [summary.id, summary]));
    for (const [id, summary] of all) {
      if (this.#isHere(id) || placing.isWanted(id)) all.set(id, { ...summary, status: this.#state(id) ?? 'starting' });
    }
    for (const summary of answers.flat()) if (!this.#isHere(summary.id)) all.set(summary.id, summary);
    return [...all.values()];
  }

  async #mine(): Promise<RuleSummary[]> {
    const held = (await this.options.engine.summaries()).filter(({ id }) => this.options.placing.holds(id));
    return held.map((summary) => ({ ...summary, status: this.#state(summary.id) ?? summary.status }));
  }

  #there<T>(id: string, what: string, args: readonly unknown[], here: () => Promise<T>): Promise<T> {
    const owner = this.#elsewhere(id);
    return owner === undefined ? here() : this.options.asks.ask<T>(owner, what, args, workTimeoutMs);
  }

  /** Tells the other nodes of each state of a rule that runs here. */
  #watch(id: string): void {
    const { engine, placing } = this.options;
    this.#tell(id);
    if (this.#watched.has(id) || engine.onNews === undefined) return;
    this.#watched.add(id);
    engine.onNews(id, () => {
      this.#watched.delete(id);
      if (placing.holds(id) && engine.state(id) !== undefined) this.#watch(id);
    });
  }

  #tell(id: string): void {
    const { asks, node, engine } = this.options;
    const state = engine.state(id);
    if (state === undefined) return;
    if (this.#untold.size === 0) {
      setTimeout(() => {
        const all = [...this.#untold];
        this.#untold.clear();
        for (let at = 0; at < all.length; at += toldAtOnce) {
          const states = Object.fromEntries(all.slice(at, at + toldAtOnce));
          asks.tell('states', { node, states } satisfies States);
        }
      }, tellMs).unref();
    }
    this.#untold.set(id, state);
  }

  #hear(node: string, states: States['states']): void {
    const told = this.#told.get(node) ?? new Map<string, RuleState>();
    this.#told.set(node, told);
    for (const [id, state] of Object.entries(states)) {
      told.set(id, state);
      this.#call(id);
    }
  }
}
