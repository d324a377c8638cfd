/**
 * Statements in a whole data plane, with a real kernel: files in, files out, and a lookup table that the test plays.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { silent } from '../../../host/base/log/log.js';
import type { AskedPart } from '../../../host/connectors/define.js';
import type { Lookup, LookupContext, LookupRequest } from '../../../host/connectors/running.js';
import { zoneOffsetMs } from '../../../host/functions/calendar/time-zone.js';
import { callHost } from '../../../host/functions/registry.js';
import type { RuleOptions } from '../../../host/model/engine.js';
import { planRule } from '../../../host/plan/index.js';
import { Heartbeat } from '../../../host/run/link/heartbeat.js';
import type { Notice, RuleStart } from '../../../host/run/link/protocol.js';
// All manifests are there, as in the control plane.
import '../../../host/connectors/index.js';
import { DataPlane } from '../../../host/run/plane/data-plane.js';
import { connectorSpecs } from '../../../host/run/props/resolve.js';
import { createKernel, type KernelOptions } from '../../../kernels/index.js';
import type { WaitingPlan } from '../../../kernels/plan/ir.js';
import { eventually, temporaryFolder } from '../harness.js';
import { kernelUnderTest } from '../kernel/drive.js';
import { catalogOf, noFold, ruleOf } from './planned-rules.js';

export type Row = Record<string, unknown>;

export interface PlaneRule {
  readonly plane: DataPlane;
  readonly start: RuleStart;
  /** What was logged as a warning. */
  readonly warnings: readonly string[];
  /** Waits for the notice of the kind. */
  notice<K extends Notice['kind']>(kind: K): Promise<Extract<Notice, { kind: K }>>;
  /** Messages of the sink so far: rows, or the text of an error. */
  written(): (Row[] | string)[];
  close(): Promise<void>;
}

export interface PlaneWishes {
  /** Streams and tables beside: each a file with these rows, read once. */
  readonly rows: Readonly<Record<string, readonly Row[]>>;
  /** Statements of the lookup tables, whose type is `simulator`. */
  readonly tables: readonly string[];
  /** Plays all tables; `table` is the DATASOURCE of the one that is asked. */
  readonly ask: (request: LookupRequest, signal: AbortSignal, table: string) => ReturnType<Lookup['ask']>;
  readonly waiting?: Partial<WaitingPlan>;
  readonly options?: Partial<RuleOptions>;
  /** Further options of the streams, behind a comma. */
  readonly streamOptions?: string;
  /** Pause between two rows of a stream, ms; 0 reads the file at once. */
  readonly pauseMs?: number;
  readonly limits?: KernelOptions;
}

const usual: WaitingPlan = { timeoutMs: 10_000, batches: 16, cache: null };

/** Starts the rule. Streams are named by `rows`, those that end with `_table` are scan tables. */
export async function startRule(sql: string, wishes: PlaneWishes): Promise<PlaneRule> {
  const { rows, tables, ask, waiting, options = {}, streamOptions = '', pauseMs = 0, limits = {} } = wishes;
  const folder = temporaryFolder();
  const out = join(folder, 'out');
  const statements = Object.entries(rows).map(([name, content]) => {
    writeFileSync(join(folder, name), content.map((row) => `${JSON.stringify(row)}\n`).join(''));
    const extra = JSON.stringify({ path: folder, fileType: 'lines', sendInterval: pauseMs }).replaceAll('"', '\\"');
    const isTable = name.endsWith('_table');
    const common = `TYPE="file", DATASOURCE="${name}", FORMAT="json", EXTRA="${extra}"`;
    return `CREATE ${isTable ? 'TABLE' : 'STREAM'} ${name} () WITH (${common}${isTable ? '' : streamOptions})`;
  });
  const catalog = catalogOf(...statements, ...tables);
  const rule = ruleOf(sql, { sendError: true, ...options }, [{ type: 'file', props: { path: out } }]);
  const plan = planRule(rule, catalog, noFold);
  const specs = connectorSpecs(rule, plan, catalog);
  const lookups = specs.lookups.map((spec) => ({ ...spec, waiting: { ...usual, ...waiting } }));
  const notices: Notice[] = [];
  const warnings: string[] = [];
  let broken: unknown;
  const log = { ...silent, warn: (text: string) => void warnings.push(text) } as typeof silent;
  const played = {
    load: async () => {},
    create: (_props: object, { dataSource }: LookupContext): Lookup => ({
      ask: (request, signal) => ask(request, signal, dataSource),
      close: async () => {},
    }),
  } as unknown as AskedPart;
  const plane = await DataPlane.open({
    kernel: (calls) => createKernel(calls, kernelUnderTest, limits),
    call: callHost,
    zoneOffset: zoneOffsetMs,
    tell: (notice) => void notices.push(notice),
    log,
    heartbeat: new Heartbeat(Heartbeat.allocate()),
    coalesceMs: 1,
    flushTimeoutMs: 5000,
    askedPart: () => played,
    broken: (error) => {
      broken = error;
    },
  });
  const start: RuleStart = {
    id: rule.id,
    run: 1,
    plan,
    sources: specs.sources,
    lookups,
    sinks: specs.sinks,
    sendError: true,
    zone: 'UTC',
    sinkLimitBytes: 1 << 20,
  };
  await plane.start(start);
  return {
    plane,
    start,
    warnings,
    notice: <K extends Notice['kind']>(kind: K) =>
      eventually(
        `notice ${kind}`,
        () => {
          if (broken !== undefined) throw broken;
          const failed = notices.find((one) => one.kind === 'failed');
          if (failed !== undefined && kind !== 'failed') throw new Error(JSON.stringify(failed));
          return notices.find((one): one is Extract<Notice, { kind: K }> => one.kind === kind);
        },
        60_000,
      ),
    written: () =>
      readFileSync(out, 'utf8')
        .split('\n')
        .slice(0, -1)
        .map((line) => (line.startsWith('[') ? (JSON.parse(line) as Row[]) : line)),
    close: () => plane.close(),
  };
}
