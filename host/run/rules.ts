/** The rules of the engine: definitions with their plans, and what is known of those that run. */
import { existsSync } from 'node:fs';
import { isLater } from '../base/errors.js';
import type { Logger } from '../base/log/log.js';
import type { LogTree } from '../base/log/log-tree.js';
import { redactedTexts } from '../base/secrets/redact.js';
import { connectorOf } from '../connectors/index.js';
import type {
  Catalog,
  ConnectionUse,
  Engine,
  Preparing,
  RuleDefinition,
  RuleOptions,
  RulePlacement,
  RuleState,
  RuleStatus,
  RuleSummary,
  SourceWarnings,
} from '../model/engine.js';
import { type FailedRow, failureIn, type TableRow } from '../model/figures.js';
import type { KeptChanges } from '../model/kept.js';
import type { TraceStrategy } from '../model/traces.js';
import type { UserFunction } from '../plugins/define.js';
import type { PortableCode } from '../plugins/portable/code.js';
import type { OptionName, StreamDefinition } from '../sql/source-def.js';
import type { AtWork } from './link/heartbeat.js';
import type { Notice } from './link/protocol.js';
import type { RuleStates } from './link/shared-states.js';
import { DividedRules } from './lives/divided-rules.js';
import { lifeErrors } from './lives/errors.js';
import { type Entry, entryOf, failedRowsOf, tableRowsOf, unitOf } from './lives/rule-entry.js';
import { RuleFigures } from './lives/rule-figures.js';
import { endOf, RuleLives } from './lives/rule-lives.js';
import { RuleLogs } from './lives/rule-logs.js';
import { Schedule } from './lives/schedule.js';
import { updateOf } from './lives/update.js';
import { LookupTables } from './planes/lookup-tables.js';
import type { Division } from './planes/placement/division.js';
import { Planes } from './planes/planes.js';
import type { PlaneListener, Supervisor } from './planes/supervisor.js';
import type { Transactions } from './planes/transactions.js';
import { keptOf, type Planner, RulePlans, streamsOf } from './planning/rule-plans.js';
import { sinkNotes, sourceWarnings } from './planning/warnings.js';
import { WrittenFiles } from './planning/written-files.js';
import { CheckpointFolders } from './props/checkpoint-folders.js';
import { usesOf } from './props/connection-uses.js';
import { removeCaches } from './props/sink-caches.js';
import { TraceStore } from './traces/trace-store.js';

export interface RulesOptions {
  catalog: Catalog;
  planner: Planner;
  log: Logger;
  /** Logs of single rules; without it all lines go to `log`. */
  logs: LogTree | undefined;
  /** Folder for the state of rules; without it none is kept. */
  checkpoints: string | undefined;
  /** Keeps it for other nodes of a cluster. */
  states?: RuleStates | undefined;
  /** Folder for the transactions that rules leave in sinks. */
  transactions: string | undefined;
  /** Makes a data plane that tells its news to the rules. */
  makePlane: (listener: PlaneListener, number: number) => Supervisor;
  /** Divides the rules among several data planes; left out for one. */
  division: Division | undefined;
  /** Time zone of schedules and of windows of days, as configured now. */
  zone: (options: RuleOptions) => string;
  /** Traces kept. */
  traceCapacity: number;
  /** Longest time between two looks at a schedule, ms: changes of the clock are noticed within it. */
  patrolMs: number;
}

const none: readonly string[] = [];
/** Rules summed up between two turns of the event loop. */
const summarySlice = 500;

/** The client of a request may go away later than the request is asked for it. */
const tracedBy = ({ signal, isOwn }: Preparing): Preparing => ({ signal, isOwn, isTraced: true });

export class Rules implements Engine, PlaneListener {
  readonly #entries = new Map<string, Entry>();
  readonly #files = new WrittenFiles();
  readonly #checkpoints: CheckpointFolders;
  readonly #plans: RulePlans;
  readonly #logs: RuleLogs;
  readonly #lives: RuleLives;
  readonly #options: RulesOptions;
  readonly #growth = new WeakMap<RuleDefinition, readonly string[]>();
  readonly #tables: LookupTables;
  /** Loaded when a rule has left some, or an earlier run of the server has. */
  #transactions: Transactions | undefined;
  readonly planes: Planes;
  readonly #figures: RuleFigures;
  readonly traces: TraceStore;
  onLoss: Engine['onLoss'];
  readonly common: DividedRules;
  readonly forgetState = (id: string): Promise<void> => this.#checkpoints.clear(id);

  constructor(options: RulesOptions) {
    const { catalog, planner, log, logs, zone, patrolMs } = options;
    this.#options = options;
    this.#checkpoints = new CheckpointFolders(options.checkpoints, options.states);
    this.#plans = new RulePlans(
      catalog,
      planner,
      this.#checkpoints,
      () => [...this.#entries.values()].map(({ definition }) => definition),
      (id) => this.#transactions?.endsOf(id),
      options.division !== undefined,
    );
    this.#logs = new RuleLogs(log, logs);
    this.planes = new Planes((number) => options.makePlane(this, number), options.division);
    this.#lives = new RuleLives({
      plans: this.#plans,
      planes: this.planes,
      ruleOf: (id) => this.#entries.get(id),
      logs: this.#logs,
      zone,
      patrolMs,
    });
    this.#tables = new LookupTables({
      catalog,
      planes: this.planes,
      plan: planner.table,
      nextRun: () => this.#lives.nextRun(),
      moved: (units) => this.#lives.moves.all(units),
      log,
    });
    this.#figures = new RuleFigures(this.planes, this.#lives, this.#entries);
    this.common = new DividedRules((id) => this.#entries.get(id), this.#lives, this.planes, this.#checkpoints);
    this.traces = new TraceStore(options.traceCapacity);
  }

  // Engine

  async prepare(rule: RuleDefinition, how: Preparing = {}): Promise<void> {
    const entry = this.#entries.get(rule.id);
    await this.#plans.prepare(rule, entry?.trace === undefined ? how : tracedBy(how));
    const former = entry?.definition;
    if (former === undefined || former === rule) return;
    // Both definitions are needed to tell the state that an update keeps.
    await this.#plans.prepare(former, how).catch((error: unknown) => {
      if (isLater(error)) throw error;
    });
  }

  async prepareStart(id: string, how: Preparing = {}): Promise<void> {
    const entry = this.#entries.get(id);
    if (entry !== undefined)
      await this.#plans.prepare(entry.definition, entry.trace === undefined ? how : tracedBy(how));
  }

  isLarge = (rule: RuleDefinition): boolean => this.#plans.isLarge(rule);
  startsAhead = ({ options }: RuleDefinition): boolean => options.qos === 0 && options.parallelism === 1;

  check(rule: RuleDefinition): { sources: string[]; warnings: readonly string[] } {
    const { plan, warnings } = this.#plans.make(rule);
    return { sources: streamsOf(plan), warnings };
  }

  checkThere(rule: RuleDefinition): void {
    this.#plans.checkThere(rule);
  }

  warningsOf(source: StreamDefinition, given: ReadonlySet<OptionName>): SourceWarnings {
    return sourceWarnings(source, given, this.#options.catalog);
  }

  async explain(rule: RuleDefinition, how: Preparing = {}): Promise<string> {
    const lines = await this.#plans.explain(rule, how);
    const division = rule.options.parallelism > 1 ? undefined : this.planes.division;
    const parts = division && this.#plans.placedPartsOf(rule);
    const placement = parts && division.foreseen(unitOf(rule.id), parts);
    if (placement === undefined) return lines;
    const { plane: dataPlane, because } = placement;
    return [lines, JSON.stringify({ op: 'Note', of: 'rule', dataPlane, because })].join('\n');
  }

  outputFields(rule: RuleDefinition): string[] {
    return this.#plans.make(rule).plan.outputFields;
  }

  define(rule: RuleDefinition): readonly string[] {
    const { plan, warnings } = this.#plans.make(rule);
    const schedule = Schedule.of(rule.options, this.#options.zone(rule.options));
    const entry = this.#entries.get(rule.id);
    const change = {
      definition: rule,
      sources: this.#plans.shared(streamsOf(plan)),
      topology: this.#plans.shared(plan.topology),
      schedule,
    };
    if (entry !== undefined) this.#files.remove(entry.definition);
    if (rule.partOf === undefined) this.#files.add(rule);
    if (entry !== undefined) {
      entry.hadCheckpoints ||= this.#checkpoints.orderOf(entry.definition) !== undefined;
      Object.assign(entry, change);
    } else this.#entries.set(rule.id, entryOf(change));
    // Later rules are placed when they start, since that may move others; a rule in parts never starts itself.
    if (this.#lives.isGathering && rule.options.parallelism === 1) this.#expect(rule);
    if (plan.growth !== undefined) this.#growth.set(rule, plan.growth);
    return warnings.filter((text) => plan.growth?.includes(text) !== true);
  }

  #expect(rule: RuleDefinition): void {
    const parts = this.#plans.placedPartsOf(rule);
    if (parts !== undefined) this.planes.division?.expect(unitOf(rule.id), parts);
  }

  keptBy(rule: RuleDefinition): KeptChanges | undefined {
    const entry = this.#entries.get(rule.id);
    if (entry === undefined) return undefined;
    return updateOf(entry, rule, {
      planned: (one) => keptOf(this.#plans.make(one).plan, one).values(),
      isKept: (one) => this.#checkpoints.orderOf(one) !== undefined,
    });
  }

  remarks(rule: RuleDefinition): readonly string[] {
    return [...this.#files.warningsOf(rule), ...sinkNotes(rule), ...(this.#growth.get(rule) ?? none)];
  }

  start(id: string): void {
    const entry = this.#known(id);
    // State from before an update must not come back after a further one.
    if (this.#checkpoints.orderOf(entry.definition) === undefined && entry.hadCheckpoints) {
      entry.hadCheckpoints = false;
      void this.#checkpoints.clear(id);
    }
    this.#lives.start(entry);
  }

  startsAll(isMoreComing: boolean): void {
    const { transactions } = this.#options;
    if (isMoreComing && transactions !== undefined && existsSync(transactions)) void this.#settler();
    this.#lives.startsAll(isMoreComing);
  }

  /** Removes the state of rules that are not among the stored ones, or keep none. */
  sweep(stored: ReadonlySet<string>): Promise<void> {
    const kept = [...stored].filter((id) => {
      const entry = this.#entries.get(id);
      return entry === undefined || this.#checkpoints.orderOf(entry.definition) !== undefined;
    });
    for (const [id, { definition }] of this.#entries)
      if (definition.common !== undefined && stored.has(definition.partOf ?? '')) kept.push(id);
    const names = new Set(kept.map((id) => this.#checkpoints.nameOf(id)));
    return this.#checkpoints.sweep((name) => names.has(name));
  }

  async stop(id: string): Promise<readonly string[]> {
    const entry = this.#known(id);
    return [...(await this.#lives.stop(entry)), ...(await this.#settleFormer(entry))];
  }

  async restart(id: string): Promise<readonly string[]> {
    const entry = this.#known(id);
    const losses = [...(await this.#lives.stop(entry, true)), ...(await this.#settleFormer(entry))];
    if (entry.comesBack) this.start(id);
    return losses;
  }

  async remove(id: string): Promise<readonly string[]> {
    const entry = this.#known(id);
    this.#entries.delete(id);
    this.#files.remove(entry.definition);
    const losses = await this.#lives.remove(entry);
    if (!this.#entries.has(id)) this.planes.division?.forget(unitOf(id));
    return [...losses, ...(await this.discard(id, entry.ran))];
  }

  /** Removes all that a rule which does not run has left. */
  async discard(id: string, rule: RuleDefinition | undefined): Promise<readonly string[]> {
    const left = rule === undefined ? none : await this.#settle(rule);
    await this.#checkpoints.clear(id);
    await removeCaches(id, this.#options.catalog.sinkCaches);
    return left;
  }

  /** Ends what the rule has in sinks that an update has taken from it. */
  async #settleFormer(entry: Entry): Promise<readonly string[]> {
    const { ran, definition } = entry;
    if (ran === definition) return none;
    entry.ran = definition;
    return this.#settle(ran, definition);
  }

  async #settle(rule: RuleDefinition, next?: RuleDefinition): Promise<readonly string[]> {
    const { transactions } = this.#options;
    const isHeld = rule.actions.some(({ type }) => connectorOf(type)?.sink?.hasTransactions);
    return isHeld && transactions !== undefined ? (await this.#settler()).settle(rule, next) : none;
  }

  async #settler(): Promise<Transactions> {
    const { log, transactions = '' } = this.#options;
    const { Transactions } = await import('./planes/transactions.js');
    this.#transactions ??= new Transactions({
      folder: transactions,
      checkpoints: this.#checkpoints,
      planes: this.planes,
      specsOf: (rule) => this.#plans.sinksOf(rule),
      log,
    });
    return this.#transactions;
  }

  state(id: string): RuleState | undefined {
    return this.#entries.get(id)?.state;
  }

  opening = (id: string): readonly string[] | undefined => this.#entries.get(id)?.opening;

  onNews(id: string, call: () => void): () => void {
    return this.#lives.onNews(this.#known(id), call);
  }

  restored = (id: string): string => this.#entries.get(id)?.restored ?? '';

  resetSource(id: string, stream: string, position: unknown): Promise<string | undefined> {
    const { run, plane } = this.#known(id);
    return plane === undefined
      ? Promise.resolve('it has no data plane now')
      : plane.ask('resetSource', run, stream, position);
  }

  async status(id: string): Promise<RuleStatus> {
    const entry = this.#known(id);
    const { run, plane } = entry;
    const isLive = entry.state === 'running' || entry.state === 'starting';
    const live = isLive ? await plane?.ask('status', run) : undefined;
    const isCurrent = live !== undefined && entry.run === run && entry.state === 'running';
    if (isCurrent) entry.metrics = redactedTexts(live.metrics, entry.redact);
    return {
      status: entry.state,
      message: isCurrent && live.message !== '' ? live.message : entry.message,
      lastStartTimestamp: entry.startedAt,
      lastStopTimestamp: entry.stoppedAt,
      nextStartTimestamp: this.#lives.nextStartOf(entry),
      ...endOf(entry),
      ...this.#figures.placeOf(id),
      metrics: entry.metrics,
      troubles: isCurrent ? live.troubles : none,
    };
  }

  scanTables = async (id: string): Promise<TableRow[]> => tableRowsOf(this.#known(id));
  failedRows = async (id: string): Promise<FailedRow[]> => failedRowsOf(this.#known(id));

  /** Asks each data plane once for all rules. */
  async summaries(): Promise<RuleSummary[]> {
    const answers = await this.planes.ask('troubles');
    const found = new Map(answers.map(([plane, troubles]) => [plane, troubles && new Map(troubles)]));
    const summaryOf = (id: string, entry: Entry): RuleSummary => {
      const { state, run, plane, metrics, redact, message } = entry;
      const known = plane === undefined || state !== 'running' ? undefined : found.get(plane);
      // A run that ended has left its figures here.
      const live = known?.get(run);
      const failure = known === undefined ? failureIn(metrics) : live?.failure;
      const { reason, total } = failure ?? { reason: '', total: 0 };
      const troubles = state === 'stopped by error' ? [message] : (live?.troubles ?? none);
      return { id, status: state, lastException: redact(reason), exceptionsTotal: total, troubles, ...endOf(entry) };
    };
    const summaries: RuleSummary[] = [];
    for (const [id, entry] of [...this.#entries]) {
      summaries.push(summaryOf(id, entry));
      if (summaries.length % summarySlice === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    return summaries;
  }

  figures = (ids: readonly string[]) => this.#figures.ofRules(ids);
  cpuTimes = () => this.#figures.cpuTimes();
  traffic = () => this.#figures.traffic();
  memory = () => this.#figures.memory();
  threadMemory = () => this.#figures.threadMemory();
  userCodeBytes = (owner: string) => this.#figures.userCodeBytes(owner);
  latencies = () => this.#figures.latencies();
  planeFigures = () => this.#figures.planes();
  portableStates = () => this.#figures.portableStates();
  serviceFigures = () => this.#figures.serviceFigures();

  placement(id: string): RulePlacement | undefined {
    return this.planes.division?.shown(unitOf(id));
  }

  topology(id: string): { sources: string[]; edges: Record<string, string[]> } | undefined {
    return this.#entries.get(id)?.topology;
  }

  usersOf(stream: string, alsoStopped?: ReadonlySet<string>): string[] {
    const users: string[] = [];
    for (const [id, { sources, state }] of this.#entries) {
      const counts = !state.startsWith('stopped') || alsoStopped?.has(id) === true;
      if (counts && sources.includes(stream)) users.push(id);
    }
    return users;
  }

  fieldsRead(id: string, stream: string): string[] | undefined {
    const entry = this.#entries.get(id);
    if (entry === undefined) return [];
    const { sources } = this.#plans.make(entry.definition).plan;
    const columns = sources.filter((source) => source.stream === stream).flatMap((source) => source.columns);
    if (columns.some(({ kind }) => kind === 'row')) return undefined;
    return columns.flatMap((column) => (column.kind === 'field' ? [column.name] : []));
  }

  sourceChanged = (name: string): Promise<void> => this.#tables.follow(name);

  functionsChanged(owner: string, functions: readonly UserFunction[] | null): void {
    for (const plane of this.planes.all) {
      plane.command({ kind: 'replace', owner, functions: functions === null ? null : [...functions] });
    }
  }

  async portableAggregates(code: PortableCode): Promise<string[]> {
    const found = await this.planes.first.askAnyway('portableAggregates', code);
    if (!Array.isArray(found)) throw lifeErrors.portable(found.reason);
    return found;
  }

  portableChanged(name: string, code: PortableCode | null): void {
    for (const plane of this.planes.all) plane.command({ kind: 'portable', name, code });
  }

  /** Configuration keys that these streams use have changed. */
  renew(streams: readonly string[]): void {
    const changed = new Set(streams);
    for (const entry of this.#entries.values()) this.#lives.renew(entry, changed);
  }

  renewConnection(id: string): void {
    for (const entry of this.#entries.values()) this.#lives.renewConnection(entry, id);
  }

  async setTrace(id: string, strategy: TraceStrategy | null, how: Preparing = {}): Promise<void> {
    if (strategy !== null) await this.#plans.prepare(this.#known(id).definition, tracedBy(how));
    const entry = this.#known(id);
    const isLive = entry.state === 'running' || entry.state === 'starting';
    if (!isLive && strategy !== null) throw lifeErrors.notRunning(id);
    entry.trace = strategy ?? undefined;
    if (isLive) await this.#lives.trace(entry);
  }

  isTraced = (id: string): boolean => this.#entries.get(id)?.trace !== undefined;

  connectionUses(): ConnectionUse[] {
    return [...this.#entries].flatMap(([id, { state, connections, redact }]) =>
      usesOf(id, state, connections, redact, () => this.status(id)),
    );
  }

  async close(timeoutMs: number): Promise<void> {
    for (const entry of this.#entries.values()) this.#lives.rest(entry);
    this.#tables.close();
    this.#figures.close();
    this.#transactions?.close();
    this.#options.planner.elsewhere.close();
    await this.planes.close(timeoutMs);
  }

  // Methods for data planes

  noticed(notice: Notice): void {
    switch (notice.kind) {
      case 'log':
        this.#logs.take(this.#lives.ofRun(notice.run), notice);
        return;
      case 'trace':
        this.traces.add(notice.trace);
        return;
      case 'loss':
        this.onLoss?.(notice.loss);
        return;
      case 'settled':
        this.#transactions?.noticed(notice);
        return;
      case 'common':
        this.common.noticed(notice);
        return;
      default:
        if (!this.#tables.noticed(notice)) this.#lives.noticed(notice);
    }
  }

  lost(plane: Supervisor, reason: string, atWork: AtWork | undefined): void {
    this.planes.lost(plane);
    this.#tables.lost(plane, reason, atWork);
    this.#lives.lost(plane, reason, atWork);
  }

  #known(id: string): Entry {
    const entry = this.#entries.get(id);
    if (entry === undefined) throw lifeErrors.missing(id);
    return entry;
  }
}
