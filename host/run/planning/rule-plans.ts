/** Plans of rules: made and checked at definition, used at the next start while the streams stay as they were. */
import type { RulePlan, Tap } from '../../../kernels/plan/ir.js';
import type { Redact } from '../../base/secrets/redact.js';
import { connectorOf } from '../../connectors/index.js';
import type { Catalog, Preparing, RuleDefinition } from '../../model/engine.js';
import { hasMovingState, type KeptByNode } from '../../model/kept.js';
import type { TraceStrategy } from '../../model/traces.js';
import { keptBy } from '../../plan/kept/index.js';
import { readyFor } from '../../plan/ready.js';
import { isWaiting, type UserFunction } from '../../plugins/define.js';
import type { PortableCode } from '../../plugins/portable/code.js';
import type { StreamDefinition } from '../../sql/source-def.js';
import type {
  CheckpointOrder,
  PlacedParts,
  RenewedParts,
  RuleStart,
  SinkSpec,
  SourceSpec,
  TraceOrder,
} from '../link/protocol.js';
import { checkLogFile, freeAccess } from '../props/access.js';
import type { CheckpointFolders } from '../props/checkpoint-folders.js';
import { withMessages } from '../props/messages.js';
import {
  canBeAbsent,
  catalogFor,
  catalogWithin,
  checkSource,
  checkThere,
  connectorSpecs,
  isAsked,
  lookupSpec,
  MissingPart,
  MissingSecret,
  sinkSpecs,
  sourceSpec,
  specsOf,
} from '../props/resolve.js';
import { dropsOldest, withRetryQueues } from '../props/retry-queues.js';
import { cacheWarnings, formerCaches } from '../props/sink-caches.js';
import type { SinkProfiles } from '../props/sink-profiles.js';
import { planningErrors } from './errors.js';
import type { RuleParts } from './guarantee-note.js';
import { KnownParts, noteSpecs } from './known-parts.js';
import { isLarge } from './large.js';
import { sinkWarnings } from './warnings.js';

export interface Planner {
  plan(rule: RuleDefinition, catalog: Catalog): RulePlan;
  /** Returns an object that all plans of one form have; undefined for other plans. */
  formOf(plan: RulePlan): object | undefined;
  explain(rule: RuleDefinition, catalog: Catalog): Promise<string>;
  /** Returns the plan that keeps the rows of a lookup table. */
  table(definition: StreamDefinition): RulePlan;
  /** Returns taps that show the rows between the operators. */
  taps(rule: RuleDefinition, catalog: Catalog): Tap[];
  /** Plans and explains away from this thread. */
  readonly elsewhere: {
    plan(rule: RuleDefinition, catalog: Catalog, how: Preparing): Promise<{ plan: RulePlan; taps?: Tap[] }>;
    explain(rule: RuleDefinition, catalog: Catalog, how: Preparing): Promise<string>;
    close(): void;
  };
}

/** A plan with the streams it was made for. */
interface PlanOfNow {
  plan: RulePlan;
  streams: (StreamDefinition | undefined)[];
  /** Taps of a plan that was made elsewhere for a traced rule. */
  taps?: Tap[];
  /** The plan was made away from this thread, since planning takes long. */
  isLarge: boolean;
}

interface CheckedPlan {
  plan: RulePlan;
  /** Warnings to the user about a rule that is accepted, a sentence each. */
  warnings: readonly string[];
}

const none: readonly string[] = [];
const nothingKept: KeptByNode = new Map();
/** Most parts that are kept to be shared; more are not worth the memory. */
const maxShared = 100;
const bytesPerMessage = 1024;
const minSinkLimitBytes = 64 * 1024;
/** Most bytes that may wait for a sink: one rule must not take the memory of all. */
const maxSinkLimitBytes = 256 * 1024 * 1024;

/** Operators with state that a rule with this plan keeps from one run to the next, by node. */
export function keptOf(plan: RulePlan, { actions }: RuleDefinition): KeptByNode {
  return keptBy(
    plan,
    actions.map(({ type }) => type),
  );
}

export class RulePlans {
  /** Plans of large rules, and of rules that have not started yet, so that each is planned once. */
  readonly #plans = new WeakMap<RuleDefinition, PlanOfNow>();
  readonly #started = new WeakSet<RuleDefinition>();
  /** Parts that rules of one form have in common, by their JSON. */
  readonly #shared = new Map<string, object>();
  /** The equal part that was there first. */
  readonly #first = new WeakMap<object, object>();
  readonly #parts = new KnownParts();
  /** Loaded when a rule names one. */
  #profiles: SinkProfiles | undefined;
  /** A rule that was checked in this turn: nothing that it uses has changed since. */
  #checked: { readonly rule: RuleDefinition; readonly made: CheckedPlan } | undefined;

  constructor(
    private readonly catalog: Catalog,
    private readonly planner: Planner,
    private readonly checkpoints: CheckpointFolders,
    /** Returns all rules. */
    private readonly all: () => Iterable<RuleDefinition> = () => [],
    /** See `CheckpointOrder.ends`. */
    private readonly endsOf: (id: string) => CheckpointOrder['ends'] = () => undefined,
    /** Rules may move from one data plane to another. */
    private readonly mayMove = false,
  ) {}

  /** Folder for the state of a rule on its way to another data plane; undefined where no state can be kept. */
  stateFolderOf({ id }: RuleDefinition): string | undefined {
    return this.checkpoints.of(id);
  }

  /** Whether what the sources of a rule have read since its last checkpoint comes again. */
  comesAgain(rule: RuleDefinition): boolean {
    const parts = this.placedPartsOf(rule);
    if (parts === undefined) return false;
    return parts.sources.every(({ type, props }) => {
      const back = connectorOf(type)?.source?.rewinds(props);
      return typeof back === 'string' || (back !== undefined && 'provided' in back);
    });
  }

  /** Parts of a rule that decide in which data plane it runs; undefined while it can't run. */
  placedPartsOf(defined: RuleDefinition): PlacedParts | undefined {
    try {
      const rule = this.#applied(defined);
      const catalog = catalogFor(rule, this.catalog);
      const { plan } = this.#planned(rule, catalog);
      const brought = (plan.brought ?? []).flatMap(([, name]) => catalog.brought?.(name)?.run ?? []);
      const { sources, lookups, sinks } = connectorSpecs(rule, plan, catalog);
      const checkpoint = this.checkpoints.orderOf(rule);
      return {
        plan,
        sources,
        lookups,
        sinks,
        portables: portablesOf(brought, sources, sinks),
        ...(checkpoint && { checkpoint }),
      };
    } catch {
      // Its start tells what is wrong.
      return undefined;
    }
  }

  /**
   * Reads the code that few statements need. Plans a large rule away from this thread: `make` finds its plan then.
   * Throws as that does.
   */
  async prepare(defined: RuleDefinition, how: Preparing): Promise<void> {
    if (defined.actions.some(({ props }) => props.resourceId !== undefined)) {
      const { SinkProfiles } = await import('../props/sink-profiles.js');
      this.#profiles ??= new SinkProfiles(this.catalog);
    }
    const rule = this.#applied(defined);
    await readyFor(rule);
    const { within, isOwn, isTraced = rule.options.enableRuleTracer } = how;
    const catalog = catalogFor(rule, within === undefined ? this.catalog : catalogWithin(within, this.catalog));
    if (!isLarge(rule, catalog)) return;
    const known = this.#known(rule, catalog);
    if (known !== undefined && (!isTraced || known.taps !== undefined)) return;
    // A stream may be replaced during planning: the plan belongs to the definitions that were asked for.
    const given = new Map<string, StreamDefinition | undefined>();
    const source = (name: string) => {
      const definition = catalog.source(name);
      given.set(name, definition);
      return definition;
    };
    // Asking for the signal begins to listen to the client.
    const { plan, taps } = await this.planner.elsewhere.plan(
      rule,
      { ...catalog, source },
      { signal: how.signal, isOwn, isTraced },
    );
    const streams = streamsOf(plan).map((name) => given.get(name));
    this.#plans.set(rule, { plan, streams, isLarge: true, ...(taps && { taps }) });
  }

  /** The rule with what its sinks take over from configuration keys. */
  #applied(rule: RuleDefinition): RuleDefinition {
    return this.#profiles?.applied(rule) ?? rule;
  }

  isLarge(rule: RuleDefinition): boolean {
    return isLarge(rule, catalogFor(rule, this.catalog));
  }

  /** The plan that was made before if it still holds. */
  #known(rule: RuleDefinition, catalog: Catalog): PlanOfNow | undefined {
    const known = this.#plans.get(rule);
    return known !== undefined && isCurrent(known, catalog) ? known : undefined;
  }

  #plan(rule: RuleDefinition, catalog: Catalog): PlanOfNow {
    const plan = this.planner.plan(rule, catalog);
    const made = { plan, streams: streamsOf(plan).map((name) => catalog.source(name)), isLarge: false };
    if (!this.#started.has(rule)) this.#plans.set(rule, made);
    return made;
  }

  #planned(rule: RuleDefinition, catalog: Catalog): PlanOfNow {
    checkLogFile(rule.id, rule.options.logFilename, catalog.access ?? freeAccess);
    return this.#known(rule, catalog) ?? this.#plan(rule, catalog);
  }

  /** Plans a rule unless there is a plan, and checks its sources and sinks. */
  make(defined: RuleDefinition): CheckedPlan {
    if (this.#checked?.rule === defined) return this.#checked.made;
    const rule = this.#applied(defined);
    const catalog = catalogFor(rule, this.catalog);
    const { plan, streams } = this.#planned(rule, catalog);
    for (const definition of streams) {
      if (definition?.options.temp !== true || rule.temp || rule.test !== undefined) continue;
      throw planningErrors.temporary(definition.name);
    }
    const known = this.#parts.of(rule, this.planner.formOf(plan), catalog);
    if (known?.warnings !== undefined) return { plan, warnings: known.warnings };
    const missing: string[] = [];
    let isMissing = false;
    try {
      for (const definition of streams) if (definition !== undefined) checkSource(definition, catalog);
      this.#profiles?.check(defined);
      sinkSpecs(rule, catalog);
      withMessages(rule, plan, catalog);
    } catch (error) {
      // The rule is accepted all the same; its start fails.
      if (!(error instanceof MissingPart)) throw error;
      if (error instanceof MissingSecret) missing.push(error.message);
      isMissing = true;
    }
    const found = [
      ...(plan.warnings ?? []),
      ...(this.#profiles?.missing(defined) ?? none),
      ...sinkWarnings(rule),
      ...cacheWarnings(rule, catalog),
      ...missing,
    ];
    const warnings = found.length === 0 ? none : found;
    if (known !== undefined && !isMissing) known.warnings = warnings;
    return { plan, warnings };
  }

  /** Throws when there is nothing that a source of the rule could read now. */
  checkThere(rule: RuleDefinition): void {
    const catalog = catalogFor(rule, this.catalog);
    const { streams } = this.#planned(this.#applied(rule), catalog);
    const mayBeAbsent = streams.filter((one) => one !== undefined && canBeAbsent(one));
    if (mayBeAbsent.length === 0) return;
    try {
      const made = this.make(rule);
      this.#checked = { rule, made };
      queueMicrotask(() => {
        this.#checked = undefined;
      });
      for (const definition of mayBeAbsent) if (definition !== undefined) checkThere(definition, catalog);
    } catch (error) {
      if (!(error instanceof MissingPart)) throw error;
    }
  }

  /** Returns the order to trace a rule. */
  trace(defined: RuleDefinition, strategy: TraceStrategy): TraceOrder {
    const rule = this.#applied(defined);
    const catalog = catalogFor(rule, this.catalog);
    return { strategy, taps: this.#known(rule, catalog)?.taps ?? this.planner.taps(rule, catalog) };
  }

  async explain(defined: RuleDefinition, how: Preparing): Promise<string> {
    const rule = this.#applied(defined);
    await readyFor(rule);
    const catalog = catalogFor(rule, this.catalog);
    const planner = isLarge(rule, catalog) ? this.planner.elsewhere : this.planner;
    const lines = await planner.explain(rule, catalog, how);
    if (rule.options.qos === 0) return lines;
    const { guaranteeNote } = await import('./guarantee-note.js');
    return [lines, ...guaranteeNote(rule, this.all(), (one) => this.#partsOf(one))].join('\n');
  }

  /** Streams and sinks of a rule; tables are read anew and don't count. */
  #partsOf(defined: RuleDefinition): RuleParts {
    const rule = this.#applied(defined);
    const catalog = catalogFor(rule, this.catalog);
    const { plan } = this.make(rule);
    const { sources, sinks } = connectorSpecs(rule, plan, catalog);
    const streams = sources.filter(({ name }) => catalog.source(name)?.kind !== 'table');
    return { sources: streams, sinks, nodes: plan.nodes, hasLogs: catalog.sinkCaches?.isOfNode !== true };
  }

  /**
   * Builds the start command for a run, with the plan made earlier if it still holds; plans of small rules are dropped
   * then. `redact` masks the secrets that the connectors get, `remarks` are for the log. A rule that `isMoved` goes on
   * with the state of its last run, even if none is kept otherwise.
   */
  startOf(
    defined: RuleDefinition,
    run: number,
    zone: string,
    isMoved = false,
  ): { start: RuleStart; redact: Redact; remarks: readonly string[] } {
    this.#profiles?.check(defined);
    const rule = this.#applied(defined);
    const catalog = catalogFor(rule, this.catalog);
    const known = this.#known(rule, catalog);
    const plan = withMessages(rule, known?.plan ?? this.make(rule).plan, catalog);
    this.#started.add(rule);
    if (known?.isLarge !== true) this.#plans.delete(rule);
    const brought = (plan.brought ?? []).flatMap(([, name]) => catalog.brought?.(name)?.run ?? []);
    const { sources, lookups, sinks, codecs, redact } = this.#specs(rule, plan, catalog);
    // Functions that are waited for are called by nodes of their own.
    const functions = [...brought.filter(({ code }) => !isWaiting(code)), ...codecs];
    const { bufferLength, bufferFullPolicy, sendError, forceExitTimeoutMs, maxStateBytes } = rule.options;
    const wantedBytes = Math.max(minSinkLimitBytes, bufferLength * bytesPerMessage);
    const sinkLimitBytes = Math.min(maxSinkLimitBytes, wantedBytes);
    const limits = {
      sinkLimitBytes,
      ...(maxStateBytes > 0 ? { maxStateBytes } : {}),
      ...(bufferFullPolicy === 'stop' ? { stopsWhenFull: true } : {}),
      ...(forceExitTimeoutMs > 0 ? { flushTimeoutMs: forceExitTimeoutMs } : {}),
    };
    const ends = this.endsOf(rule.id);
    const order = this.checkpoints.orderOf(rule);
    const isKept = order !== undefined || isMoved || this.mayMove;
    const kept = isKept ? keptOf(plan, rule) : nothingKept;
    const hasMoved = order === undefined && isMoved && hasMovingState(kept, plan.nodes);
    const folder = hasMoved ? this.stateFolderOf(rule) : undefined;
    const checkpoint =
      folder === undefined
        ? order && { ...order, kept, ...(ends && { ends }) }
        : { folder, qos: 0, intervalMs: 0, kept, isForMove: true };
    const streams = sources.filter(({ name }) => catalog.source(name)?.kind !== 'table');
    const inputLogs = this.checkpoints.inputLogsOf(rule, streams);
    const portables = portablesOf(brought, sources, sinks);
    const more = {
      ...limits,
      ...(functions.length === 0 ? {} : { functions }),
      ...(portables.length === 0 ? {} : { portables }),
      ...(checkpoint === undefined ? {} : { checkpoint }),
      ...(checkpoint === undefined && this.mayMove ? { moving: kept } : {}),
      ...(inputLogs === undefined ? {} : { inputLogs }),
      ...(dropsOldest(rule, streams) ? { dropsInput: true } : {}),
    };
    const start = { id: rule.partOf ?? rule.id, run, plan, sources, lookups, sinks, sendError, ...more, zone };
    return { start, redact, remarks: formerCaches(rule.id, sinks, catalog.sinkCaches) };
  }

  /** As `connectorSpecs`; rules of one form share what they have in common. */
  #specs(rule: RuleDefinition, plan: RulePlan, catalog: Catalog): ReturnType<typeof specsOf> {
    const known = this.#parts.of(rule, this.planner.formOf(plan), catalog);
    if (known?.specs !== undefined) {
      return withRetryQueues(rule, { ...known.specs, lookups: [], codecs: [] }, catalog);
    }
    const specs = specsOf(rule, plan, catalog);
    return withRetryQueues(rule, { ...specs, ...(known && noteSpecs(known, specs)) }, catalog);
  }

  /** Sources and lookup tables as they would be now; throws when one could not be. */
  specsOf(rule: RuleDefinition, streams: readonly string[]): Omit<RenewedParts, 'sinks'> {
    const catalog = catalogFor(rule, this.catalog);
    const definitions = streams.flatMap((name) => catalog.source(name) ?? []);
    return {
      sources: definitions.filter((one) => !isAsked(one)).map((one) => sourceSpec(one, catalog)),
      lookups: definitions.filter(isAsked).map((one) => lookupSpec(one, catalog)),
    };
  }

  /** Specs of the sinks of a rule, without their retry queues. */
  sinksOf(rule: RuleDefinition): SinkSpec[] {
    this.#profiles?.check(rule);
    return sinkSpecs(this.#applied(rule), catalogFor(rule, this.catalog));
  }

  /** Returns an equal topology or list that another rule has already, if there is one. */
  shared<T extends object>(part: T): T {
    const first = this.#first.get(part);
    if (first !== undefined) return first as T;
    const key = JSON.stringify(part);
    let known = this.#shared.get(key);
    if (known === undefined) {
      if (this.#shared.size >= maxShared) this.#shared.clear();
      this.#shared.set(key, part);
      known = part;
    }
    this.#first.set(part, known);
    return known as T;
  }
}

/** The portable plugins of a rule, each as often as it is used. */
function portablesOf(
  brought: readonly UserFunction[],
  sources: readonly SourceSpec[],
  sinks: readonly SinkSpec[],
): PortableCode[] {
  return [
    ...brought.flatMap(({ code }) => (code.kind === 'portable' ? [code] : [])),
    ...[...sources, ...sinks].flatMap(({ type }) => connectorOf(type)?.plugin ?? []),
  ];
}

/** Tells whether streams and functions are those that the plan was made for. */
function isCurrent({ plan, streams }: PlanOfNow, catalog: Catalog): boolean {
  return (
    streamsOf(plan).every((name, i) => catalog.source(name) === streams[i]) &&
    (plan.brought ?? []).every(([number, name]) => {
      const run = catalog.brought?.(name)?.run;
      const isAsked = (plan.lookups ?? []).some(({ call }) => call === number);
      return run?.number === number && isWaiting(run.code) === isAsked;
    })
  );
}

/** Names of the streams and tables a plan reads, each once. */
export function streamsOf({ sources, lookups = [] }: RulePlan): string[] {
  return [
    ...new Set([
      ...sources.map(({ stream }) => stream),
      ...lookups.flatMap(({ table, call }) => (call === undefined ? [table] : [])),
    ]),
  ];
}
