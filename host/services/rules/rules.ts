/** Rules as clients know them: defining, starting, stopping, looking at them. */
import { HaumeaError, inContext, isLater } from '../../base/errors.js';
import { placeOf } from '../../base/structures/ordered.js';
import { type RuleJson, unknownMembers } from '../../meta/definitions/rule-definition.js';
import type { RuleRepository } from '../../meta/definitions/rules.js';
import { nothingToUndo } from '../../meta/store.js';
import type { Engine, Preparing, RuleNumbers, RuleState, RuleSummary } from '../../model/engine.js';
import { numbersIn } from '../../model/figures.js';
import type { KeptChanges } from '../../model/kept.js';
import { type LongJson, longList, longObject } from '../body/long-json.js';
import { Outcome } from '../body/outcome.js';
import { ruleErrors } from '../errors/rules.js';
import { maskRule, unmaskRule } from '../secrets/rule.js';
import type { LossService } from '../server/losses.js';
import { asRuleError, type RuleRegistry } from './registry.js';
import { startedNotes } from './start.js';

interface RuleListItem {
  readonly id: string;
  readonly name: string;
  readonly status: string;
  readonly version: string;
  readonly trace: boolean;
  readonly tags: readonly string[] | null;
  /** Current troubles, a sentence each; only when asked for. */
  readonly trouble?: readonly string[];
  /** How the rule has ended by itself; only given when asked for. */
  readonly ended?: string;
}

/** States as clients read them; user interfaces capitalise them and put the reason after a colon. */
const stateTexts: Readonly<Record<RuleState, string>> = {
  starting: 'Starting',
  running: 'Running',
  stopping: 'Stopping',
  stopped: 'Stopped',
  'stopped by error': 'Stopped: canceled by error.',
  'stopped: waiting for next schedule.': 'Stopped: waiting for next schedule.',
};

/** Part of a list that is ordered by id. */
export interface Page {
  /** Most items; undefined: all. */
  readonly limit?: number | undefined;
  /** Only items behind this id. */
  readonly after?: string | undefined;
}

/** Result of the check of a definition. */
export type Validity =
  | { readonly valid: true; readonly sources: readonly string[]; readonly warnings?: readonly string[] }
  | { readonly valid: false; readonly reason: string };

/** Effects that an update of a rule would have. */
export interface UpdatePreview {
  /** True when no rule has the id yet. */
  readonly isNew: boolean;
  readonly sources: readonly string[];
  readonly warnings?: readonly string[];
  readonly state: KeptChanges;
}

/** Kind of reset: the offset of a source. */
const resetOffset = 1;

export class RuleService {
  readonly #registry: RuleRegistry;
  readonly #rules: RuleRepository;
  readonly #engine: Engine;

  constructor(
    registry: RuleRegistry,
    private readonly losses: LossService,
  ) {
    this.#registry = registry;
    this.#rules = registry.rules;
    this.#engine = registry.engine;
  }

  create(body: unknown, how?: Preparing): Promise<string | Outcome> {
    return inContext('create rule error', async () => {
      const { json, rule } = this.#registry.read(body);
      const { warnings, notes } = await this.#registry.change(rule.id, () => {
        if (this.#rules.has(rule.id)) throw ruleErrors.exists(rule.id);
        return this.#registry.install(json, rule, how);
      });
      return new Outcome(`Rule ${rule.id} was created successfully.`, warnings, notes);
    });
  }

  /** Replaces a rule, or creates it. When the new one is refused the old one runs on. */
  replace(id: string, body: unknown, how?: Preparing): Promise<string | Outcome> {
    return inContext('update rule error', async () => {
      return this.#registry.change(id, async () => {
        const { json, rule } = this.#readUpdate(id, body);
        const { warnings, notes } = await this.#registry.install(json, rule, how);
        return new Outcome(`Rule ${id} was updated successfully.`, warnings, notes);
      });
    });
  }

  /** Effects of replacing a rule, without doing it; throws the errors that replacing it would throw. */
  preview(id: string, body: unknown, how?: Preparing): Promise<UpdatePreview> {
    return inContext('update rule error', () =>
      this.#registry.change(id, async () => {
        const { json, rule } = this.#readUpdate(id, body);
        await this.#registry.prepare(rule, how);
        const { sources, warnings: found } = asRuleError(() => this.#registry.check(rule));
        this.#registry.checkThere(rule);
        const warnings = [...unknownMembers(json), ...found];
        const state = this.#registry.keptBy(rule);
        return { isNew: !this.#rules.has(id), sources, ...(warnings.length === 0 ? {} : { warnings }), state };
      }),
    );
  }

  /** The new definition of a rule, whose secrets may be masked as they were read. */
  #readUpdate(id: string, body: unknown): ReturnType<RuleRegistry['read']> {
    const old = this.#rules.get(id);
    const read = this.#registry.read(unmaskRule(body, old), id);
    const { version = '' } = read.json;
    if (old?.version && !(version > old.version)) {
      throw ruleErrors.oldVersion(version, old.version);
    }
    return read;
  }

  /** The list of rules, of `RuleListItem`s. */
  list(page: Page = {}): Promise<LongJson> {
    return longList(this.#page(page), (id) => this.#itemOf(id));
  }

  /** The list with what is wrong with each rule. */
  async listWithTrouble(page: Page = {}): Promise<LongJson> {
    const found = await this.#summaries();
    const ids = this.#page(page);
    // Lost rules end the list.
    const isFull = page.limit !== undefined && ids.length === page.limit;
    return longList<string | RuleListItem>(isFull ? ids : [...ids, ...this.#lost()], (one) => {
      const item = typeof one === 'string' ? this.#itemOf(one) : undefined;
      if (item === undefined) return typeof one === 'string' ? undefined : one;
      const refused = this.#registry.refusalOf(item.id);
      const { troubles = [], ended } = found.get(item.id) ?? {};
      const trouble = refused === undefined ? troubles : [refused];
      return {
        ...item,
        trouble: [...trouble, ...this.losses.textsOf('rule', item.id)],
        ...(ended === undefined ? {} : { ended }),
      };
    });
  }

  /** The ids of a page. */
  #page({ after = '', limit }: Page): string[] {
    const ids = this.#rules.ids();
    const place = placeOf(after, ids);
    const from = ids[place] === after ? place + 1 : place;
    return ids.slice(from, limit === undefined ? undefined : from + limit);
  }

  /** A rule in a list; undefined when it has gone since the list was begun. */
  #itemOf(id: string): RuleListItem | undefined {
    if (!this.#rules.has(id)) return undefined;
    const { name, version = '', tags = null } = this.#rules.head(id);
    return { id, name: name || id, status: this.#stateText(id), version, trace: this.#engine.isTraced(id), tags };
  }

  async #summaries(): Promise<ReadonlyMap<string, RuleSummary>> {
    return new Map((await this.#engine.summaries()).map((summary) => [summary.id, summary]));
  }

  /** Lost rules whose loss is not acknowledged. */
  #lost(): RuleListItem[] {
    const names = new Set(this.losses.namesOf('rule'));
    return [...names].flatMap((id): RuleListItem[] =>
      this.#rules.has(id)
        ? []
        : [
            {
              id,
              name: id,
              status: 'Lost',
              version: '',
              trace: false,
              tags: null,
              trouble: this.losses.textsOf('rule', id),
            },
          ],
    );
  }

  get(id: string): RuleJson {
    return inContext('describe rule error', () => maskRule(this.#registry.stored(id)));
  }

  ids(): string[] {
    return this.#rules.ids();
  }

  /** All rules with their tags. */
  tags(): [id: string, tags: readonly string[]][] {
    return this.#rules.ids().map((id) => [id, this.#rules.head(id).tags ?? []]);
  }

  /** Changes the tags of a rule, which runs on. */
  retag(id: string, change: (tags: readonly string[]) => readonly string[]): Promise<void> {
    return this.#registry.change(id, async () => {
      const json = this.#registry.stored(id);
      await this.#rules.put(id, { ...json, tags: change(json.tags ?? []) }, nothingToUndo);
    });
  }

  drop(id: string): Promise<string | Outcome> {
    return inContext('delete rule error', () =>
      this.#registry.change(id, async () => {
        if (!this.#rules.has(id)) throw ruleErrors.notThere(id);
        const json = this.#registry.getOrEmpty(id);
        await this.#rules.delete(id, () => this.#registry.follow(id));
        const losses = await this.#registry.discard(id, json);
        return new Outcome(`Rule ${id} is dropped.`, [], losses);
      }),
    );
  }

  start(id: string, how?: Preparing): Promise<string | Outcome> {
    return inContext('start rule error', () =>
      this.#registry.change(id, async () => {
        await this.#registry.startable(id, how);
        await this.#rules.setTriggered(id, true, () => this.#registry.follow(id));
        asRuleError(() => this.#engine.start(id));
        return new Outcome(`Rule ${id} was started`, [], await startedNotes(this.#engine, id));
      }),
    );
  }

  stop(id: string): Promise<string | Outcome> {
    return inContext('stop rule error', () =>
      this.#registry.change(id, async () => {
        await this.#registry.known(id);
        await this.#rules.setTriggered(id, false, () => this.#registry.follow(id));
        const losses = await this.#engine.stop(id);
        return new Outcome(`Rule ${id} was stopped.`, [], losses);
      }),
    );
  }

  restart(id: string, how?: Preparing): Promise<string | Outcome> {
    return inContext('restart rule error', () =>
      this.#registry.change(id, async () => {
        await this.#registry.startable(id, how);
        await this.#rules.setTriggered(id, true, () => this.#registry.follow(id));
        const losses = await asRuleError(() => this.#engine.restart(id));
        return new Outcome(`Rule ${id} was restarted`, [], [...losses, ...(await startedNotes(this.#engine, id))]);
      }),
    );
  }

  status(id: string): Promise<Record<string, string | number>> {
    return inContext('get rule status error', async () => {
      if (!this.#rules.has(id)) throw this.#registry.notFound(id);
      const { metrics, status, troubles: _shownInList, ...head } = await this.#registry.status(id);
      const losses = this.losses.textsOf('rule', id);
      return {
        status: stateTexts[status],
        ...head,
        ...metrics,
        ...(losses.length > 0 && { losses: losses.join('; ') }),
      };
    });
  }

  /** State and numbers of rules, in their order; those that are gone are left out. */
  async figures(ids: readonly string[]): Promise<RuleNumbers[]> {
    const known = ids.filter((id) => this.#rules.has(id) && this.#engine.state(id) !== undefined);
    const found = new Map((await this.#engine.figures?.(known))?.map((one) => [one.id, one]));
    const others = ids.map(async (id) => {
      const numbers = found.get(id);
      if (numbers !== undefined || !this.#rules.has(id)) return numbers;
      const { status, metrics } = await this.#registry.status(id);
      return { id, state: status, ...numbersIn(metrics) };
    });
    return (await Promise.all(others)).filter((one) => one !== undefined);
  }

  /** State and latest failure of every rule, by id. */
  statusOfAll(): Promise<LongJson> {
    return inContext('get rules status error', async () => {
      const found = await this.#summaries();
      return longObject(this.#page({}), (id) => {
        if (!this.#rules.has(id)) return undefined;
        const { lastException = '', exceptionsTotal = 0 } = found.get(id) ?? {};
        return { status: this.#stateText(id), last_exception: lastException, exceptions_total: exceptionsTotal };
      });
    });
  }

  topology(id: string): Promise<{ sources: string[]; edges: Record<string, string[]> }> {
    return inContext('get rule topo error', async () => {
      if (!this.#rules.has(id)) throw this.#registry.notFound(id);
      const { lastStartTimestamp } = await this.#registry.status(id);
      const topology = lastStartTimestamp === 0 ? undefined : this.#engine.topology(id);
      if (topology === undefined) throw ruleErrors.neverStarted(id);
      return topology;
    });
  }

  /** Moves a source of a running rule to another position; only sources with positions can. */
  resetState(id: string, body: Record<string, unknown>): Promise<string> {
    return inContext('reset rule state error', async () => {
      if (!this.#rules.has(id)) throw this.#registry.notFound(id);
      if (body.type !== resetOffset) {
        throw ruleErrors.resetType(JSON.stringify(body.type), resetOffset);
      }
      const { params } = body;
      const given = (typeof params === 'object' && params !== null ? params : {}) as Record<string, unknown>;
      const stream = String(given.streamName ?? '');
      const state = this.#engine.state(id);
      if (state !== 'running' && state !== 'starting') throw ruleErrors.notRunning(id);
      if (!this.#engine.topology(id)?.sources.includes(`source_${stream}`)) {
        throw ruleErrors.noStream(id, JSON.stringify(stream));
      }
      const reason = await this.#engine.resetSource(id, stream, given.input ?? {});
      if (reason !== undefined) throw ruleErrors.streamRefuses(stream, reason);
      return `Rule ${id} reads stream ${stream} from the position given.`;
    });
  }

  explain(id: string, how?: Preparing): Promise<string> {
    return inContext('explain rules error', async () => {
      const rule = this.#registry.define(this.#registry.stored(id), id);
      return asRuleError(() => this.#engine.explain(rule, how));
    });
  }

  /** Output columns with their positions; only running rules have them. */
  outputSchema(id: string, how?: Preparing): Promise<Record<string, { hasIndex: boolean; index: number }>> {
    return inContext('get rule schema error', async () => {
      const rule = this.#registry.define(this.#registry.stored(id), id);
      const state = this.#engine.state(id);
      if (state !== 'running' && state !== 'starting') throw ruleErrors.notRunning(id);
      await this.#registry.prepare(rule, how);
      const fields = asRuleError(() => this.#engine.outputFields(rule));
      return Object.fromEntries(fields.map((name, index) => [name, { hasIndex: true, index }]));
    });
  }

  /** Checks a definition; the result has the reason of a refusal. */
  async validate(body: unknown, how?: Preparing): Promise<Validity> {
    try {
      const { json, rule } = this.#registry.read(body);
      await this.#registry.prepare(rule, how);
      const { sources, warnings: found } = asRuleError(() => this.#registry.check(rule));
      this.#registry.checkThere(rule);
      const warnings = [...unknownMembers(json), ...found];
      return { valid: true, sources, ...(warnings.length === 0 ? {} : { warnings }) };
    } catch (error) {
      if (error instanceof HaumeaError && !isLater(error)) return { valid: false, reason: error.message };
      throw error;
    }
  }

  #stateText(id: string): string {
    if (this.#registry.refusalOf(id) !== undefined) return stateTexts['stopped by error'];
    return stateTexts[this.#engine.state(id) ?? 'starting'];
  }
}
