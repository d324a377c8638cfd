/**
 * An engine in front of that of a node of a cluster, which divides rules by the partitions of their stream. Each
 * partition is a rule of its own for all that is behind: with its lease, its checkpoints and its restarts. So
 * partitions are spread over nodes, and those of a node that dies go on elsewhere from their last checkpoints. The rule
 * as the user wrote it is never started there.
 */
import { connectorOf } from '../../../connectors/index.js';
import { partitionIn, partitionsOf, rangeReason, shareIn, sharesOf } from '../../../connectors/partitions.js';
import type { Engine, RuleDefinition, RuleNumbers, RuleState, RuleStatus, RuleSummary } from '../../../model/engine.js';
import { overlaid } from '../../../model/overlaid.js';
import type { StreamDefinition } from '../../../sql/source-def.js';
import { parallelErrors } from '../errors.js';
import { partitionedStream } from '../shape.js';
import { addedLatencies, summed } from '../summed.js';
import { stateOf, statusOf, summedNumbers } from './summary.js';

type SourceOf = (name: string) => StreamDefinition | undefined;

/** Ids of users' rules have no colons. */
const separator = ':';

/** The rule that a user knows. */
function ownerOf(id: string): string {
  const end = id.indexOf(separator);
  return end < 0 ? id : id.slice(0, end);
}

/** A stream, with the DATASOURCE of each part. */
interface Division {
  readonly stream: StreamDefinition;
  readonly partitions: readonly string[];
  /** Why each row is in one part, a clause each. */
  readonly because: readonly string[];
}

const idsOf = (parts: readonly RuleDefinition[] | undefined): string => (parts ?? []).map(({ id }) => id).join(' ');

class PartitionedRules {
  /** Divided rules as they were defined. */
  readonly #wholes = new Map<string, RuleDefinition>();
  /** Rules of each partition, by the id that users know. */
  readonly #parts = new Map<string, readonly RuleDefinition[]>();
  readonly engine: Engine;

  constructor(
    private readonly inner: Engine,
    private readonly source: SourceOf,
  ) {
    this.engine = overlaid(inner, {
      partsOf: (id) => this.partsOf(id),
      check: (rule) => this.#check(rule),
      checkThere: (rule) => {
        this.#dividedAsBefore(rule);
        inner.checkThere?.(rule);
      },
      define: (rule) => this.#define(rule),
      explain: (rule, how) => this.#explain(rule, how),
      start: (id) => {
        this.#renew(id);
        for (const part of this.partsOf(id)) inner.start(part);
      },
      stop: (id) => this.#each(id, (part) => inner.stop(part)),
      restart: async (id) => {
        this.#renew(id);
        return this.#each(id, (part) => inner.restart(part));
      },
      remove: (id) => this.#remove(id),
      state: (id) => this.#stateOf(id),
      opening: (id) => this.#openingOf(id),
      onNews: (id, call) => this.#onNews(id, call),
      status: (id) => this.#statusOf(id),
      summaries: () => this.#summaries(),
      sweep: async (stored) => inner.sweep?.(new Set([...stored, ...this.#all()])),
      usersOf: (stream, also) => {
        const parts = new Set([...(also ?? [])].flatMap((id) => this.partsOf(id)));
        return [...new Set(inner.usersOf(stream, parts).map(ownerOf))];
      },
      figures: (ids) => this.#figuresOf(ids),
      cpuTimes: async () => summed(await inner.cpuTimes(), ownerOf, (a, b) => ({ ...a, cpuUs: a.cpuUs + b.cpuUs })),
      memory: async () =>
        summed((await inner.memory?.()) ?? [], ownerOf, (a, b) => ({ ...a, bytes: a.bytes + b.bytes })),
      ...(inner.latencies && {
        latencies: async () => summed((await inner.latencies?.()) ?? [], ownerOf, addedLatencies),
      }),
      traffic: async () =>
        summed((await inner.traffic?.()) ?? [], ownerOf, (a, b) => {
          const [taken, sent, failed] = a.traffic.map((count, i) => count + b.traffic[i]!) as [number, number, number];
          return { ...a, traffic: [taken, sent, failed] };
        }),
      connectionUses: () => inner.connectionUses().map((use) => ({ ...use, rule: ownerOf(use.rule) })),
      scanTables: async (id) => (await Promise.all(this.partsOf(id).map((part) => inner.scanTables(part)))).flat(),
      failedRows: async (id) => {
        const rows = await Promise.all(this.partsOf(id).map((part) => inner.failedRows?.(part) ?? []));
        return rows.flat().sort((one, other) => other.at - one.at);
      },
      resetSource: async (id, ...rest) => {
        if (this.#parts.has(id)) throw parallelErrors.divided(id, "its source can't be reset");
        return inner.resetSource(id, ...rest);
      },
      setTrace: async (id, ...rest) => {
        if (this.#parts.has(id)) throw parallelErrors.divided(id, "it can't be traced");
        await inner.setTrace(id, ...rest);
      },
    });
  }

  /** Rules that a rule consists of: of one that is not divided itself. */
  partsOf(id: string): readonly string[] {
    return this.#parts.get(id)?.map((part) => part.id) ?? [id];
  }

  /** How the rule is divided by partitions; undefined when it is not to be. */
  #partitions(rule: RuleDefinition): Division | undefined {
    const { parallelism } = rule.options;
    if (parallelism <= 1 || rule.test !== undefined || rule.temp === true) return undefined;
    const [name] = this.inner.check(this.#whole(rule, true)).sources;
    const definition = name === undefined ? undefined : this.source(name);
    switch (connectorOf(definition?.options.type ?? '')?.source?.partitions) {
      case 'named':
        return this.#named(rule, definition?.options.datasource ?? '');
      case 'counted':
        // Parts on one machine read a shared stream once, and divide its rows by their keys.
        return definition?.options.shared === true ? undefined : this.#counted(rule);
      default:
        return undefined;
    }
  }

  #named(rule: RuleDefinition, datasource: string): Division | undefined {
    const partitions = partitionsOf(datasource);
    if (partitions === undefined) return undefined;
    const reason = rangeReason(datasource);
    if (reason !== undefined) throw parallelErrors.refused(reason);
    const stream = partitionedStream(rule, this.source);
    const { length } = partitions;
    if (length !== rule.options.parallelism) throw parallelErrors.partitions(stream.name, length);
    return { stream, partitions, because: [`stream ${stream.name} has ${length} partitions`] };
  }

  #counted(rule: RuleDefinition): Division {
    const { parallelism: count } = rule.options;
    const stream = partitionedStream(rule, this.source);
    const { datasource, type } = stream.options;
    if (shareIn(datasource).share !== undefined) {
      throw parallelErrors.refused(`stream ${stream.name} is a share of the partitions of ${datasource} already`);
    }
    const because = [
      `${type} counts the partitions: part n of ${count} reads those of number n, n + ${count} and so on`,
    ];
    return { stream, partitions: sharesOf(datasource, count), because };
  }

  /** The rule as it is planned in one piece. */
  #whole(rule: RuleDefinition, isDivided = this.#partitions(rule) !== undefined): RuleDefinition {
    return isDivided ? { ...rule, options: { ...rule.options, parallelism: 1 } } : rule;
  }

  #check(rule: RuleDefinition): ReturnType<Engine['check']> {
    const divided = this.#dividedAsBefore(rule);
    return this.inner.check(this.#whole(rule, divided !== undefined));
  }

  /** Refuses a definition that divides a rule otherwise than the one before: places of partitions would be lost. */
  #dividedAsBefore(rule: RuleDefinition): readonly RuleDefinition[] | undefined {
    const divided = this.#divided(rule);
    const isKnown = this.#parts.has(rule.id) || this.inner.state(rule.id) !== undefined;
    if (isKnown && idsOf(divided) !== idsOf(this.#parts.get(rule.id))) throw parallelErrors.division(rule.id);
    return divided;
  }

  /** A rule for each partition; undefined when the rule is not divided by them. */
  #divided(rule: RuleDefinition): readonly RuleDefinition[] | undefined {
    const found = this.#partitions(rule);
    return found?.partitions.map((datasource): RuleDefinition => {
      const { stream } = found;
      const options = { ...stream.options, datasource, shared: false };
      const id = `${rule.id}${separator}${partitionIn(datasource)}`;
      return { ...this.#whole(rule, true), id, streams: [{ ...stream, options }] };
    });
  }

  /** Gives the parts the stream as it is defined now; the same partitions as before, or those before stay. */
  #renew(id: string): void {
    const whole = this.#wholes.get(id);
    if (whole === undefined) return;
    const divided = this.#divided(whole);
    if (idsOf(divided) !== idsOf(this.#parts.get(id))) throw parallelErrors.division(id);
    this.#define(whole);
  }

  #define(rule: RuleDefinition): readonly string[] {
    const { inner } = this;
    const parts = this.#divided(rule);
    const former = this.partsOf(rule.id);
    const warnings = inner.define(this.#whole(rule, parts !== undefined));
    if (parts === undefined) {
      this.#parts.delete(rule.id);
      this.#wholes.delete(rule.id);
    } else {
      this.#parts.set(rule.id, parts);
      this.#wholes.set(rule.id, rule);
    }
    for (const part of parts ?? []) inner.define(part);
    // What the rule consisted of before it was changed ends.
    const now = new Set(this.partsOf(rule.id));
    for (const id of former) {
      if (now.has(id)) continue;
      void (id === rule.id ? inner.stop(id) : inner.remove(id)).catch(() => {});
    }
    return warnings;
  }

  async #each(id: string, step: (part: string) => Promise<readonly string[]>): Promise<readonly string[]> {
    return (await Promise.all(this.partsOf(id).map(step))).flat();
  }

  async #remove(id: string): Promise<readonly string[]> {
    const losses = this.#parts.has(id) ? await this.#each(id, (part) => this.inner.remove(part)) : [];
    this.#parts.delete(id);
    this.#wholes.delete(id);
    return [...losses, ...(await this.inner.remove(id))];
  }

  #stateOf(id: string): RuleState | undefined {
    if (!this.#parts.has(id)) return this.inner.state(id);
    return stateOf(this.partsOf(id).map((part) => this.inner.state(part) ?? 'stopped'));
  }

  #openingOf(id: string): readonly string[] | undefined {
    const all = this.partsOf(id).map((part) => this.inner.opening(part));
    return all.includes(undefined) ? undefined : all.flatMap((errors) => errors ?? []);
  }

  #onNews(id: string, call: () => void): () => void {
    const { inner } = this;
    const all: (() => void)[] = [];
    const takeBack = () => {
      for (const one of all.splice(0)) one();
    };
    const once = () => {
      takeBack();
      call();
    };
    for (const part of this.partsOf(id)) all.push(inner.onNews?.(part, once) ?? (() => {}));
    return takeBack;
  }

  async #statusOf(id: string): Promise<RuleStatus> {
    if (!this.#parts.has(id)) return this.inner.status(id);
    return statusOf(await Promise.all(this.partsOf(id).map((part) => this.inner.status(part))));
  }

  async #summaries(): Promise<RuleSummary[]> {
    const found = await this.inner.summaries();
    const parts = new Map<string, RuleSummary[]>();
    for (const one of found) {
      const owner = ownerOf(one.id);
      if (owner !== one.id) parts.set(owner, [...(parts.get(owner) ?? []), one]);
    }
    return found.flatMap((one) => {
      if (ownerOf(one.id) !== one.id) return [];
      const own = parts.get(one.id);
      if (own === undefined) return [one];
      return [
        {
          ...one,
          status: stateOf(own.map(({ status }) => status)),
          lastException: own.find(({ lastException }) => lastException !== '')?.lastException ?? '',
          exceptionsTotal: own.reduce((sum, { exceptionsTotal }) => sum + exceptionsTotal, 0),
          troubles: [...new Set(own.flatMap(({ troubles }) => troubles))],
        },
      ];
    });
  }

  async #figuresOf(ids: readonly string[]): Promise<RuleNumbers[]> {
    const found = (await this.inner.figures?.(ids.flatMap((id) => this.partsOf(id)))) ?? [];
    const all = summed(found, ownerOf, summedNumbers);
    const there = new Set(all.map(({ id }) => id));
    // None of its parts is here.
    const absent = ids.filter((id) => this.#parts.has(id) && !there.has(id));
    const none = { names: [], values: [] };
    return [...all, ...absent.map((id) => ({ id, state: this.#stateOf(id) ?? ('stopped' as const), ...none }))];
  }

  async #explain(rule: RuleDefinition, how?: Parameters<Engine['explain']>[1]): Promise<string> {
    const found = this.#partitions(rule);
    const lines = await this.inner.explain(this.#whole(rule, found !== undefined), how);
    if (found === undefined) return lines;
    const because = [
      ...found.because,
      'each part has a lease and checkpoints',
      'rows of one key have to be in one partition, which is up to who publishes them',
    ];
    return [lines, JSON.stringify({ op: 'Note', of: 'rule', partitions: found.partitions.length, because })].join('\n');
  }

  #all(): string[] {
    return [...this.#parts.values()].flatMap((parts) => parts.map(({ id }) => id));
  }
}

/** The engine with rules that are divided by the partitions of their stream. */
export function withPartitions(engine: Engine, source: SourceOf): Engine {
  return new PartitionedRules(engine, source).engine;
}
