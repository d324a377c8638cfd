/** Rules: stored definitions and their life in the engine, kept in step. */
import { HaumeaError, reasonOf } from '../../base/errors.js';
import type { Logger } from '../../base/log.js';
import { Serial } from '../../base/serial.js';
import { checkId } from '../../meta/ids.js';
import {
  defineRule,
  idleOptions,
  type OptionReading,
  type RuleDefaults,
  type RuleJson,
  readRuleJson,
  unknownMembers,
} from '../../meta/rule-definition.js';
import type { RuleRepository } from '../../meta/rules.js';
import { nothingToUndo } from '../../meta/store.js';
import type { Engine, RuleDefinition, RuleState, RuleStatus } from '../../run/api.js';
import { Schedule } from '../../run/schedule.js';
import { inContext, Reply } from '../route.js';
import { maskRule, unmaskRule } from './rule-secrets.js';
import { startedNotes } from './rule-start.js';
import { withWarnings } from './warnings.js';

export interface RuleListItem {
  readonly id: string;
  readonly name: string;
  readonly status: string;
  readonly version: string;
  readonly trace: boolean;
  readonly tags: readonly string[] | null;
  /** What is wrong with it now, where it was asked for: a sentence each. */
  readonly trouble?: readonly string[];
}

/** States as clients read them; the interface writes them with a capital and the reason behind a colon. */
const stateTexts: Readonly<Record<RuleState, string>> = {
  starting: 'Starting',
  running: 'Running',
  stopping: 'Stopping',
  stopped: 'Stopped',
  'stopped by error': 'Stopped: canceled by error.',
  'stopped: waiting for next schedule.': 'Stopped: waiting for next schedule.',
};

/** What the answer to a change says besides. */
interface Remarks {
  readonly warnings: readonly string[];
  readonly notes: readonly string[];
}

/** Kind of reset: the offset of a source. */
const resetOffset = 1;

/** Rules brought up between two turns of the event loop at start. */
const startSlice = 20;

export class RuleService {
  readonly #rules: RuleRepository;
  readonly #engine: Engine;
  readonly #defaults: RuleDefaults;
  readonly #log: Logger;
  /** One change of a rule at a time. */
  readonly #serial = new Serial();
  /** Stored rules the engine refused at start, with the reason. */
  readonly #refused = new Map<string, string>();
  /** Rules that are being stored and started next: their streams are held already. */
  readonly #installing = new Set<string>();
  /** Stored rules that the engine has not been given yet. */
  readonly #waiting = new Set<string>();

  constructor(rules: RuleRepository, engine: Engine, defaults: RuleDefaults, log: Logger) {
    this.#rules = rules;
    this.#engine = engine;
    this.#defaults = defaults;
    this.#log = log;
    for (const id of rules.ids()) this.#waiting.add(id);
  }

  /** Gives all stored rules to the engine, a few at a time, so that requests are answered meanwhile. */
  async startStored(): Promise<void> {
    let count = 0;
    for (const id of [...this.#waiting]) {
      await this.#bringUp(id);
      if (++count % startSlice === 0) await new Promise((resolve) => setImmediate(resolve));
    }
  }

  create(body: unknown): Promise<string | Reply> {
    return inContext('create rule error', async () => {
      const { json, rule } = this.#read(body);
      const { warnings, notes } = await this.#serial.run(rule.id, () => {
        if (this.#rules.has(rule.id)) throw new HaumeaError('general', `rule ${rule.id} already exists`);
        return this.#install(json, rule);
      });
      return withWarnings(`Rule ${rule.id} was created successfully.`, warnings, notes);
    });
  }

  /** Replaces a rule, or creates it. When the new one is refused the old one goes on as it was. */
  replace(id: string, body: unknown): Promise<string | Reply> {
    return inContext('update rule error', async () => {
      return this.#serial.run(id, async () => {
        const old = this.#rules.get(id);
        const { json, rule } = this.#read(unmaskRule(body, old), id);
        if (old?.version && !((json.version ?? '') > old.version)) {
          throw new HaumeaError('general', `the version ${json.version ?? ''} must be greater than ${old.version}`);
        }
        const { warnings, notes } = await this.#install(json, rule);
        return withWarnings(`Rule ${id} was updated successfully.`, warnings, notes);
      });
    });
  }

  list(): RuleListItem[] {
    return this.#rules.ids().map((id) => {
      const json = this.#tolerantGet(id);
      return {
        id,
        name: json.name || id,
        status: this.#stateText(id),
        version: json.version ?? '',
        trace: this.#engine.isTraced(id),
        tags: json.tags ?? null,
      };
    });
  }

  /** The list with what is wrong with each rule. */
  async listWithTrouble(): Promise<RuleListItem[]> {
    const troubles = new Map((await this.#engine.summaries()).map((summary) => [summary.id, summary.troubles]));
    return this.list().map((item) => {
      const refused = this.#refused.get(item.id);
      return { ...item, trouble: refused === undefined ? (troubles.get(item.id) ?? []) : [refused] };
    });
  }

  get(id: string): RuleJson {
    return inContext('describe rule error', () => maskRule(this.#stored(id)));
  }

  ids(): string[] {
    return this.#rules.ids();
  }

  /** Rules that hold a stream: those that are not stopped, and those that are about to start. */
  usersOf(stream: string): string[] {
    return this.#engine.usersOf(stream, this.#installing);
  }

  /** All rules with their tags. */
  tags(): [id: string, tags: readonly string[]][] {
    return this.#rules.ids().map((id) => [id, this.#tolerantGet(id).tags ?? []]);
  }

  /** Changes the tags of a rule, which goes on as it is. */
  retag(id: string, change: (tags: readonly string[]) => readonly string[]): Promise<void> {
    return this.#serial.run(id, async () => {
      const json = this.#stored(id);
      await this.#rules.put(id, { ...json, tags: change(json.tags ?? []) }, nothingToUndo);
    });
  }

  /** Reads and plans a definition as creating it would, without keeping anything; returns what is to be stored. */
  checkDefinition(id: string, body: unknown): RuleJson {
    const { json, rule } = this.#read(body, id);
    asRuleError(() => this.#check(rule));
    return { ...json, id };
  }

  /** Gives the engine a rule whose stored definition is new or another, and starts it if it is to run. */
  adopt(id: string): Promise<void> {
    return this.#serial.run(id, async () => {
      this.#waiting.delete(id);
      this.#refused.delete(id);
      const wasKnown = this.#engine.state(id) !== undefined;
      try {
        const rule = this.#define(this.#stored(id), id);
        asRuleError(() => this.#engine.define(rule));
        if (!rule.triggered) await this.#engine.stop(id);
        else if (wasKnown) await this.#engine.restart(id);
        else this.#engine.start(id);
      } catch (error) {
        this.#refused.set(id, reasonOf(error));
        throw error;
      }
    });
  }

  /** Takes a rule out of the engine whose stored definition is gone. */
  release(id: string): Promise<void> {
    return this.#serial.run(id, async () => {
      this.#refused.delete(id);
      if (!this.#waiting.delete(id) && this.#engine.state(id) !== undefined) await this.#engine.remove(id);
    });
  }

  drop(id: string): Promise<string | Reply> {
    return inContext('delete rule error', () =>
      this.#serial.run(id, async () => {
        if (!this.#rules.has(id)) throw new HaumeaError('general', `rule ${id} is not found`);
        await this.#rules.delete(id, () => this.#follow(id));
        this.#refused.delete(id);
        const isKnown = !this.#waiting.delete(id) && this.#engine.state(id) !== undefined;
        const losses = isKnown ? await this.#engine.remove(id) : [];
        return withWarnings(`Rule ${id} is dropped.`, [], losses);
      }),
    );
  }

  start(id: string): Promise<string | Reply> {
    return inContext('start rule error', () =>
      this.#serial.run(id, async () => {
        await this.#known(id);
        await this.#rules.setTriggered(id, true, () => this.#follow(id));
        asRuleError(() => this.#engine.start(id));
        return withWarnings(`Rule ${id} was started`, [], await startedNotes(this.#engine, id));
      }),
    );
  }

  stop(id: string): Promise<string | Reply> {
    return inContext('stop rule error', () =>
      this.#serial.run(id, async () => {
        await this.#known(id);
        await this.#rules.setTriggered(id, false, () => this.#follow(id));
        const losses = await this.#engine.stop(id);
        return withWarnings(`Rule ${id} was stopped.`, [], losses);
      }),
    );
  }

  restart(id: string): Promise<string | Reply> {
    return inContext('restart rule error', () =>
      this.#serial.run(id, async () => {
        await this.#known(id);
        await this.#rules.setTriggered(id, true, () => this.#follow(id));
        const losses = await asRuleError(() => this.#engine.restart(id));
        return withWarnings(`Rule ${id} was restarted`, [], [...losses, ...(await startedNotes(this.#engine, id))]);
      }),
    );
  }

  status(id: string): Promise<Record<string, string | number>> {
    return inContext('get rule status error', async () => {
      if (!this.#rules.has(id)) throw notFound(id);
      const { metrics, status, troubles: _shownInList, ...head } = await this.#status(id);
      return { status: stateTexts[status], ...head, ...metrics };
    });
  }

  /** State and figures of a rule; undefined when it is gone. */
  async figures(id: string): Promise<{ id: string; state: RuleState; metrics: RuleStatus['metrics'] } | undefined> {
    if (!this.#rules.has(id)) return undefined;
    const { status, metrics } = await this.#status(id);
    return { id, state: status, metrics };
  }

  /** State and latest failure of every rule. */
  statusOfAll(): Promise<Record<string, { status: string; last_exception: string; exceptions_total: number }>> {
    return inContext('get rules status error', async () => {
      const found = new Map((await this.#engine.summaries()).map((summary) => [summary.id, summary]));
      return Object.fromEntries(
        this.#rules.ids().map((id) => {
          const { lastException = '', exceptionsTotal = 0 } = found.get(id) ?? {};
          return [
            id,
            { status: this.#stateText(id), last_exception: lastException, exceptions_total: exceptionsTotal },
          ];
        }),
      );
    });
  }

  topology(id: string): Promise<{ sources: string[]; edges: Record<string, string[]> }> {
    return inContext('get rule topo error', async () => {
      if (!this.#rules.has(id)) throw notFound(id);
      const { lastStartTimestamp } = await this.#status(id);
      const topology = lastStartTimestamp === 0 ? undefined : this.#engine.topology(id);
      if (topology === undefined) throw new HaumeaError('state', `rule ${id} was never started`);
      return topology;
    });
  }

  /** Moves a source of a running rule to another place of its input; only sources that keep one can. */
  resetState(id: string, body: Record<string, unknown>): string {
    return inContext('reset rule state error', () => {
      if (!this.#rules.has(id)) throw notFound(id);
      if (body.type !== resetOffset) {
        throw new HaumeaError('general', `unknown type ${JSON.stringify(body.type)}, expected ${resetOffset}`);
      }
      const { params } = body;
      const stream =
        typeof params === 'object' && params !== null ? (params as { streamName?: unknown }).streamName : '';
      const state = this.#engine.state(id);
      if (state !== 'running' && state !== 'starting') throw new HaumeaError('state', `rule ${id} is not running`);
      if (!this.#engine.topology(id)?.sources.includes(`source_${String(stream)}`)) {
        throw new HaumeaError('general', `rule ${id} has no stream ${JSON.stringify(stream)}`);
      }
      throw new HaumeaError('general', `the source of stream ${String(stream)} keeps no place that could be reset`);
    });
  }

  explain(id: string): string {
    return inContext('explain rules error', () => {
      const rule = this.#define(this.#stored(id), id);
      return asRuleError(() => this.#engine.explain(rule));
    });
  }

  /** Output columns with their positions; only running rules have them. */
  outputSchema(id: string): Record<string, { hasIndex: boolean; index: number }> {
    return inContext('get rule schema error', () => {
      const rule = this.#define(this.#stored(id), id);
      const state = this.#engine.state(id);
      if (state !== 'running' && state !== 'starting') throw new HaumeaError('state', `rule ${id} is not running`);
      const fields = asRuleError(() => this.#engine.outputFields(rule));
      return Object.fromEntries(fields.map((name, index) => [name, { hasIndex: true, index }]));
    });
  }

  /** Checks a definition: 422 with the reason as plain text when it is refused. */
  validate(body: unknown): Reply {
    try {
      const { json, rule } = this.#read(body);
      const { sources, warnings: found } = asRuleError(() => this.#check(rule));
      const warnings = [...unknownMembers(json), ...found];
      return new Reply({ valid: true, sources, ...(warnings.length === 0 ? {} : { warnings }) }, 200);
    } catch (error) {
      if (error instanceof HaumeaError) return new Reply(error.message, 422);
      throw error;
    }
  }

  /** Checks query, connectors and schedule as creating the rule would. */
  #check(rule: RuleDefinition): { sources: string[]; warnings: readonly string[] } {
    // Whether the times can be read is the same in all zones.
    Schedule.of(rule.options, undefined);
    return this.#engine.check(rule);
  }

  /**
   * Gives the definition to the engine, stores it, starts it; undoes the first when it can't be stored. Returns what the
   * user should know of it.
   */
  async #install(json: RuleJson, rule: RuleDefinition): Promise<Remarks> {
    const { id } = rule;
    const old = this.#engine.state(id) === undefined ? undefined : this.#rules.get(id);
    const warnings = [...unknownMembers(json), ...asRuleError(() => this.#engine.define(rule))];
    this.#tellIdle(id, json);
    for (const warning of warnings) this.#log.warn(`rule ${id}: ${warning}`);
    if (rule.triggered) this.#installing.add(id);
    try {
      await this.#rules.put(id, { ...json, id }, () => this.#follow(id));
    } catch (error) {
      if (old === undefined) await this.#engine.remove(id);
      else this.#engine.define(this.#define(old, id));
      throw error;
    } finally {
      // No turn of the event loop between this and the start.
      this.#installing.delete(id);
    }
    this.#waiting.delete(id);
    this.#refused.delete(id);
    let losses: readonly string[] = [];
    if (!rule.triggered) losses = await this.#engine.stop(id);
    else if (old === undefined) this.#engine.start(id);
    else losses = await this.#engine.restart(id);
    const idle = idleOptions(json).map((name) => `the option ${name} has no effect`);
    return {
      warnings,
      notes: [...this.#engine.remarks(rule), ...losses, ...idle, ...(await startedNotes(this.#engine, id))],
    };
  }

  /** Brings the engine in line with the store after a change that was lost. */
  #follow(id: string): void {
    const followed = this.#rules.has(id) ? this.adopt(id) : this.release(id);
    followed.catch((error: unknown) => this.#log.error(`rule ${id} after a change that was lost: ${reasonOf(error)}`));
  }

  #bringUp(id: string): Promise<void> {
    return this.#serial.run(id, () => {
      if (!this.#waiting.delete(id)) return;
      try {
        const json = this.#stored(id);
        const rule = this.#define(json, id);
        asRuleError(() => this.#engine.define(rule));
        this.#tellIdle(id, json);
        if (rule.triggered) this.#engine.start(id);
      } catch (error) {
        this.#refused.set(id, reasonOf(error));
        this.#log.error(`rule ${id} could not be started: ${reasonOf(error)}`);
      }
    });
  }

  #tellIdle(id: string, json: RuleJson): void {
    const idle = idleOptions(json);
    if (idle.length > 0) this.#log.warn(`rule ${id}: options without effect: ${idle.join(', ')}`);
  }

  /** Makes sure that the engine has the rule; one refused at start gets another chance, its stream may be back. */
  async #known(id: string): Promise<void> {
    const json = this.#stored(id);
    this.#waiting.delete(id);
    if (this.#engine.state(id) !== undefined) return;
    asRuleError(() => this.#engine.define(this.#define(json, id)));
    this.#refused.delete(id);
  }

  #stored(id: string): RuleJson {
    const json = this.#rules.get(id);
    if (json === undefined) throw notFound(id);
    return json;
  }

  /** A record that can't be read must not hide the others from a list. */
  #tolerantGet(id: string): RuleJson {
    try {
      return this.#rules.get(id) ?? {};
    } catch {
      return {};
    }
  }

  #read(body: unknown, id?: string): { json: RuleJson; rule: RuleDefinition } {
    if (id !== undefined) checkId(id);
    const json = readRuleJson(body);
    return { json, rule: this.#define(json, id, 'sent') };
  }

  #define(json: RuleJson, id?: string, reading: OptionReading = 'stored'): RuleDefinition {
    return defineRule(json, this.#defaults, id, reading);
  }

  #stateText(id: string): string {
    if (this.#refused.has(id)) return stateTexts['stopped by error'];
    return stateTexts[this.#engine.state(id) ?? 'starting'];
  }

  async #status(id: string): Promise<RuleStatus> {
    if (this.#engine.state(id) !== undefined) return this.#engine.status(id);
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
}

/** Whatever is wrong with the query of a rule is answered as a failure of the rule, only what its connectors refuse apart. */
function asRuleError<T>(step: () => T): T {
  const rethrow = (error: unknown): never => {
    if (!(error instanceof HaumeaError) || error.kind === 'unknownConnector' || error.kind === 'sink') throw error;
    throw new HaumeaError('general', error.message, { cause: error });
  };
  try {
    const result = step();
    return result instanceof Promise ? (result.catch(rethrow) as T) : result;
  } catch (error) {
    return rethrow(error);
  }
}

function notFound(id: string): HaumeaError {
  return new HaumeaError('notFound', `rule ${id} is not found`);
}
