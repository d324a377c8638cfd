/** The stored rules and the engine in step: each change is made in both, one at a time for each rule. */
import { asKind, HaumeaError, isLater, reasonOf } from '../../base/errors.js';
import type { Logger } from '../../base/log/log.js';
import { Serial } from '../../base/structures/serial.js';
import {
  defineRule,
  idleOptions,
  type OptionReading,
  type RuleDefaults,
  type RuleJson,
  readRuleJson,
  unknownMembers,
} from '../../meta/definitions/rule-definition.js';
import type { RuleRepository } from '../../meta/definitions/rules.js';
import { checkId } from '../../meta/ids.js';
import type { Engine, Preparing, RuleDefinition, RuleStatus } from '../../model/engine.js';
import type { KeptChanges } from '../../model/kept.js';
import { Schedule } from '../../run/lives/schedule.js';
import { ruleErrors } from '../errors/rules.js';
import { startedNotes } from './start.js';

/** Sentences of the answer to a change. */
interface Remarks {
  readonly warnings: readonly string[];
  readonly notes: readonly string[];
}

/** Rules brought up between two turns of the event loop at start, and how long that may take. */
const startSlice = 20;
const startSliceMs = 20;

export class RuleRegistry {
  readonly #log: Logger;
  readonly #defaults: RuleDefaults;
  /** Serialises the changes of one rule. */
  readonly #serial = new Serial();
  /** Stored rules the engine refused at start, with the reason. */
  readonly #refused = new Map<string, string>();
  /** Rules that are being stored and started next: their streams are in use already. */
  readonly #installing = new Set<string>();
  /** Stored rules that the engine does not have yet. */
  readonly #waiting = new Set<string>();

  constructor(
    readonly rules: RuleRepository,
    readonly engine: Engine,
    defaults: RuleDefaults,
    log: Logger,
    /** Losses of a rule, a sentence each. */
    private readonly lossesOf: (id: string) => readonly string[] = () => [],
  ) {
    this.#defaults = defaults;
    this.#log = log;
    for (const id of rules.ids()) this.#waiting.add(id);
  }

  /** Runs a change of a rule when those before it are done. */
  change<T>(id: string, step: () => T | Promise<T>): Promise<T> {
    return this.#serial.run(id, step);
  }

  /** Gives all stored rules to the engine, a few at a time, so that requests are answered meanwhile. */
  async startStored(): Promise<void> {
    let count = 0;
    let since = performance.now();
    this.engine.startsAll?.(true);
    try {
      for (const id of [...this.#waiting]) {
        await this.#bringUp(id);
        if (++count < startSlice && performance.now() - since < startSliceMs) continue;
        await new Promise((resolve) => setImmediate(resolve));
        count = 0;
        since = performance.now();
      }
    } finally {
      this.engine.startsAll?.(false);
    }
  }

  read(body: unknown, id?: string): { json: RuleJson; rule: RuleDefinition } {
    if (id !== undefined) checkId(id);
    const json = readRuleJson(body);
    return { json, rule: this.define(json, id, 'sent') };
  }

  define(json: RuleJson, id?: string, reading: OptionReading = 'stored'): RuleDefinition {
    return defineRule(json, this.#defaults, id, reading);
  }

  stored(id: string): RuleJson {
    const json = this.rules.get(id);
    if (json === undefined) throw this.notFound(id);
    return json;
  }

  notFound(id: string): HaumeaError {
    const losses = this.lossesOf(id);
    const why = losses.length === 0 ? '' : `: ${losses.join('; ')}`;
    return ruleErrors.missing(id, why);
  }

  /** A record that can't be read must not hide the others from a list. */
  getOrEmpty(id: string): RuleJson {
    try {
      return this.rules.get(id) ?? {};
    } catch {
      return {};
    }
  }

  /** Plans a large rule while other requests are answered; what follows for the same object finds the plan. */
  async prepare(rule: RuleDefinition, how?: Preparing): Promise<void> {
    await asRuleError(() => this.engine.prepare?.(rule, how));
  }

  /** Checks query, connectors and schedule as creating the rule would. */
  check(rule: RuleDefinition): { sources: string[]; warnings: readonly string[] } {
    // Whether the times can be read is the same in all zones.
    Schedule.of(rule.options, 'UTC');
    return this.engine.check(rule);
  }

  /** Checks that sources have what they read, as creating the rule would and importing it would not. */
  checkThere(rule: RuleDefinition): void {
    asRuleError(() => this.engine.checkThere?.(rule));
  }

  /** Which state of a rule another definition keeps; none for a rule that the engine does not know. */
  keptBy(rule: RuleDefinition): KeptChanges {
    return asRuleError(() => this.engine.keptBy?.(rule)) ?? { kept: [], lost: [], empty: [] };
  }

  /** Stored rules that the engine refused, with the reason. */
  get refused(): ReadonlyMap<string, string> {
    return this.#refused;
  }

  /** Why the engine refused a stored rule; undefined for others. */
  refusalOf(id: string): string | undefined {
    return this.#refused.get(id);
  }

  /** Rules that use a stream: those that are not stopped, and those that are about to start. */
  usersOf(stream: string): string[] {
    return this.engine.usersOf(stream, this.#installing);
  }

  async status(id: string): Promise<RuleStatus> {
    if (this.engine.state(id) !== undefined) return this.engine.status(id);
    const reason = this.#refused.get(id);
    return {
      status: reason === undefined ? 'starting' : 'stopped by error',
      message: reason ?? '',
      lastStartTimestamp: 0,
      lastStopTimestamp: 0,
      nextStartTimestamp: 0,
      metrics: {},
      troubles: [],
    };
  }

  /** Makes sure that the engine has the rule; one refused at start is tried again, as its stream may be back. */
  async known(id: string, how?: Preparing): Promise<void> {
    const json = this.stored(id);
    this.#waiting.delete(id);
    if (this.engine.state(id) !== undefined) return;
    const rule = this.define(json, id);
    await this.prepare(rule, how);
    asRuleError(() => this.engine.define(rule));
    this.#refused.delete(id);
  }

  /**
   * As `known`, and plans a large rule again, as a stream may have changed since. A failure is reported by its start.
   */
  async startable(id: string, how?: Preparing): Promise<void> {
    await this.known(id, how);
    await this.engine.prepareStart?.(id, how)?.catch((error: unknown) => {
      if (isLater(error)) throw error;
    });
  }

  /** Logs members of a definition that nothing reads; they are stored as they came. */
  logUnknownMembers(id: string, json: RuleJson): void {
    this.#warn(id, unknownMembers(json));
  }

  #warn(id: string, warnings: readonly string[]): void {
    for (const warning of warnings) this.#log.warn(`rule ${id}: ${warning}`);
  }

  /**
   * Gives the definition to the engine, stores it and starts it. When it can't be stored the engine gets the old one
   * back. Returns sentences for the answer.
   */
  async install(json: RuleJson, rule: RuleDefinition, how?: Preparing): Promise<Remarks> {
    const { id } = rule;
    await this.prepare(rule, how);
    this.checkThere(rule);
    const old = this.engine.state(id) === undefined ? undefined : this.rules.get(id);
    const { lost } = this.keptBy(rule);
    const warnings = [...unknownMembers(json), ...asRuleError(() => this.engine.define(rule))];
    this.#logIdleOptions(id, json);
    this.#warn(id, warnings);
    if (rule.triggered) this.#installing.add(id);
    const stored = this.rules.put(id, { ...json, id }, () => this.follow(id));
    const isAhead = old === undefined && rule.triggered && this.engine.startsAhead?.(rule) === true;
    // Whether it can start or not: the definition is kept.
    const start = isAhead ? attempt(() => this.engine.start(id)) : () => this.engine.start(id);
    try {
      await stored;
    } catch (error) {
      if (old === undefined) await this.engine.remove(id);
      else this.engine.define(this.define(old, id));
      throw error;
    } finally {
      // No turn of the event loop between this and the start.
      this.#installing.delete(id);
    }
    this.#waiting.delete(id);
    this.#refused.delete(id);
    let losses: readonly string[] = [];
    if (!rule.triggered) losses = await this.engine.stop(id);
    else if (old === undefined) start();
    else losses = await this.engine.restart(id);
    const idle = idleOptions(json).map((name) => `the option ${name} has no effect`);
    const started = await startedNotes(this.engine, id);
    // A rule that was restored from a checkpoint reports itself what is missing.
    const isSaid = rule.triggered && (this.engine.restored?.(id) ?? '') !== '';
    const gone = lost.length === 0 || isSaid ? [] : [`the update loses state: ${lost.join('; ')}`];
    const remarks = this.engine.remarks(rule);
    this.#warn(id, remarks);
    return { warnings, notes: [...remarks, ...losses, ...gone, ...idle, ...started] };
  }

  /** Gives the engine the stored definition of a rule, and starts it if it is to run. */
  adopt(id: string): Promise<void> {
    return this.#serial.run(id, async () => {
      this.#waiting.delete(id);
      this.#refused.delete(id);
      const wasKnown = this.engine.state(id) !== undefined;
      try {
        const rule = this.define(this.stored(id), id);
        await this.prepare(rule, { isOwn: true });
        asRuleError(() => this.engine.define(rule));
        if (!rule.triggered) await this.engine.stop(id);
        else if (wasKnown) await this.engine.restart(id);
        else this.engine.start(id);
      } catch (error) {
        this.#refused.set(id, reasonOf(error));
        throw error;
      }
    });
  }

  /** Removes a rule from the engine after its stored definition. */
  release(id: string): Promise<void> {
    return this.#serial.run(id, async () => void (await this.discard(id)));
  }

  /**
   * Removes a rule from the engine, within a change of it; returns what its sinks could not send any more.
   *
   * @param json its last definition
   */
  async discard(id: string, json?: RuleJson): Promise<readonly string[]> {
    this.#refused.delete(id);
    this.rules.forgetHead(id);
    const isKnown = !this.#waiting.delete(id) && this.engine.state(id) !== undefined;
    if (isKnown) return this.engine.remove(id);
    // A new rule of that id must not find files of this one.
    return (await this.engine.discard?.(id, json && this.#defineOrSkip(json, id))) ?? [];
  }

  #defineOrSkip(json: RuleJson, id: string): RuleDefinition | undefined {
    try {
      return this.define(json, id);
    } catch {
      return undefined;
    }
  }

  /** Gives the engine what the store has, after a change that was lost. */
  follow(id: string): void {
    const followed = this.rules.has(id) ? this.adopt(id) : this.release(id);
    followed.catch((error: unknown) => this.#log.error(`rule ${id} after a change that was lost: ${reasonOf(error)}`));
  }

  #bringUp(id: string): Promise<void> {
    return this.#serial.run(id, async () => {
      if (!this.#waiting.delete(id)) return;
      try {
        const json = this.stored(id);
        const rule = this.define(json, id);
        await this.prepare(rule, { isOwn: true });
        asRuleError(() => this.engine.define(rule));
        this.#logIdleOptions(id, json);
        if (rule.triggered) this.engine.start(id);
      } catch (error) {
        this.#refused.set(id, reasonOf(error));
        this.#log.error(`rule ${id} could not be started: ${reasonOf(error)}`);
      }
    });
  }

  #logIdleOptions(id: string, json: RuleJson): void {
    const idle = idleOptions(json);
    if (idle.length > 0) this.#log.warn(`rule ${id}: options without effect: ${idle.join(', ')}`);
  }
}

/** Takes a step now; what it throws is thrown by the result. */
function attempt(step: () => void): () => void {
  try {
    step();
    return () => {};
  } catch (error) {
    return () => {
      throw error;
    };
  }
}

/**
 * Makes all failures of a rule's query `general` ones; refusals of its connectors keep their kind.
 */
export function asRuleError<T>(step: () => T): T {
  const rethrow = (error: unknown): never => {
    if (!(error instanceof HaumeaError) || isLater(error)) throw error;
    if (error.kind === 'unknownConnector' || error.kind === 'sink') throw error;
    throw asKind('general', error);
  };
  try {
    const result = step();
    return result instanceof Promise ? (result.catch(rethrow) as T) : result;
  } catch (error) {
    return rethrow(error);
  }
}
