/**
 * Cost of the control plane: rules created, listed, looked at, exported and started again after a restart, with few
 * and with many present. A time per operation that grows with the number present shows here.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type EngineOptions, EngineUnderTest } from './engine.js';
import { pause } from './process.js';

export interface ControlFigures {
  rules: number;
  /** Rules made in a second by one client, the first and the last `SAMPLE` of them, and server CPU of one, ms. */
  firstRate: number;
  lastRate: number;
  firstCpuMs: number;
  lastCpuMs: number;
  /** Memory that a rule takes, all rules made and the server quiet, bytes. */
  bytesPerRule: number;
  /** Median and 99th percentile of one request, ms. */
  create: Times;
  remove: Times;
  status: Times;
  page: Times;
  get: Times;
  update: Times;
  /** Time of one request for all rules, ms, and for each rule, µs. */
  listMs: number;
  statusAllMs: number;
  exportMs: number;
  metricsMs: number;
  /** Longest time that another request took while each of these was answered, ms. */
  longest: Record<'list' | 'statusAll' | 'export' | 'metrics', number>;
  /** Process start to the first answer with all rules stored, and until all rules run, ms. */
  restartAnswerMs: number;
  restartRunningMs: number;
  /** Rules that run after the restart. */
  running: number;
  rssBytes: number;
}

/** Times of requests of one kind, ms. */
export interface Times {
  readonly p50: number;
  readonly p99: number;
}

/** Operations of a kind that are measured. */
export const SAMPLE = 500;
const LANES = 4;
/** A server that was busy gives memory back after a second. */
const QUIET_MS = 3000;
const LONGEST_START_MS = 300_000;

/** Measures with so many rules present. */
export async function controlFigures(command: string[], rules: number): Promise<ControlFigures> {
  const folder = mkdtempSync(join(tmpdir(), 'haumea-control-'));
  const options: EngineOptions = { url: '', pid: 0, command, env: {}, sourceProps: {}, folder };
  let engine = await EngineUnderTest.open(options);
  try {
    await engine.call('POST', '/streams', {
      sql:
        'CREATE STREAM s (device STRING, id BIGINT, temp FLOAT) WITH (TYPE="memory", DATASOURCE="bench", ' +
        'FORMAT="json", SHARED="true")',
    });
    const create = (i: number): Promise<string> =>
      engine.call('POST', '/rules', {
        id: `r${i}`,
        sql: `SELECT id, temp FROM s WHERE device = "d${i}"`,
        actions: [{ nop: {} }],
      });
    const sample = Math.min(SAMPLE, Math.ceil(rules / 2));
    const made = await makeAll(engine, rules, sample, create);
    const some = (i: number): string => `/rules/r${(i * 7919) % rules}`;
    const status = await times(sample, (i) => engine.call('GET', `${some(i)}/status`));
    const page = await times(sample, (i) => engine.call('GET', `/rules?limit=100&after=r${(i * 7919) % rules}`));
    const get = await times(sample, (i) => engine.call('GET', some(i)));
    const update = await times(sample, (i) =>
      engine.call('PUT', some(i), {
        id: some(i).slice('/rules/'.length),
        sql: `SELECT id FROM s WHERE temp > ${i}`,
        actions: [{ nop: {} }],
      }),
    );
    const remove = await times(sample, async (i) => {
      await engine.call('DELETE', some(i));
    });
    for (let i = 0; i < sample; i++) await create((i * 7919) % rules);
    const whole = (path: string) => beside(engine, () => each(3, () => engine.call('GET', path)));
    const list = await whole('/rules');
    const statusAll = await whole('/rules/status/all');
    const exported = await whole('/data/export');
    const metrics = await whole('/metrics');
    const rssBytes = engine.memory().now;
    await engine.close();
    const started = performance.now();
    engine = await EngineUnderTest.open(options);
    const restartAnswerMs = engine.startMs;
    let running = 0;
    while (running < rules && performance.now() - started < LONGEST_START_MS) {
      const list = JSON.parse(await engine.call('GET', '/rules')) as { status: string }[];
      running = list.filter((rule) => /^running/i.test(rule.status)).length;
      if (running < rules) await pause(50);
    }
    const restartRunningMs = performance.now() - started;
    return {
      rules,
      ...made,
      remove,
      status,
      page,
      get,
      update,
      listMs: list.ms,
      statusAllMs: statusAll.ms,
      exportMs: exported.ms,
      metricsMs: metrics.ms,
      longest: {
        list: list.longest,
        statusAll: statusAll.longest,
        export: exported.longest,
        metrics: metrics.longest,
      },
      restartAnswerMs,
      restartRunningMs,
      running,
      rssBytes,
    };
  } finally {
    await engine.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Result of the work, and the longest time that a request took which was sent again and again meanwhile, ms. */
async function beside(engine: EngineUnderTest, work: () => Promise<number>): Promise<{ ms: number; longest: number }> {
  let isDone = false;
  let longest = 0;
  const asking = (async () => {
    while (!isDone) {
      const began = performance.now();
      await engine.call('GET', '/ping');
      longest = Math.max(longest, performance.now() - began);
      await pause(5);
    }
  })();
  const ms = await work().finally(() => {
    isDone = true;
  });
  await asking;
  return { ms, longest };
}

/** Mean time of one call, ms. */
async function each(times: number, call: (i: number) => Promise<unknown>): Promise<number> {
  const started = performance.now();
  for (let i = 0; i < times; i++) await call(i);
  return (performance.now() - started) / times;
}

/** Makes the rules: the first and the last of them by one client, which are measured, the others by several. */
export async function makeAll(
  engine: EngineUnderTest,
  rules: number,
  sample: number,
  create: (i: number) => Promise<unknown>,
  lanes = LANES,
): Promise<Pick<ControlFigures, 'firstRate' | 'lastRate' | 'firstCpuMs' | 'lastCpuMs' | 'bytesPerRule' | 'create'>> {
  const measured = async (from: number) => {
    const [began, cpu] = [performance.now(), engine.cpuMs()];
    const each = await times(sample, (i) => create(from + i));
    const [ended, cpuEnd] = [performance.now(), engine.cpuMs()];
    return { each, rate: (sample / (ended - began)) * 1000, cpuMs: (cpuEnd - cpu) / sample };
  };
  // Starts the data plane, which is no part of what a rule takes.
  await create(rules);
  await pause(QUIET_MS);
  const emptyBytes = engine.memory().now;
  const first = await measured(0);
  const before = Math.max(sample, rules - sample);
  await Promise.all(
    Array.from({ length: lanes }, async (_, lane) => {
      for (let i = sample + lane; i < before; i += lanes) await create(i);
    }),
  );
  const last = await measured(before);
  await pause(QUIET_MS);
  return {
    firstRate: first.rate,
    lastRate: last.rate,
    firstCpuMs: first.cpuMs,
    lastCpuMs: last.cpuMs,
    bytesPerRule: (engine.memory().now - emptyBytes) / rules,
    create: last.each,
  };
}

/** Times of calls one after the other. */
export async function times(count: number, call: (i: number) => Promise<unknown>): Promise<Times> {
  const all: number[] = [];
  for (let i = 0; i < count; i++) {
    const began = performance.now();
    await call(i);
    all.push(performance.now() - began);
  }
  all.sort((a, b) => a - b);
  const at = (part: number) => all[Math.min(count - 1, Math.floor(count * part))] ?? Number.NaN;
  return { p50: at(0.5), p99: at(0.99) };
}

export const shown = ({ p50, p99 }: Times): string => `${p50.toFixed(2)} / ${p99.toFixed(1)}`;

/** The figures side by side, one column for each number of rules. */
export function controlTable(all: ControlFigures[]): string {
  const rows: [string, (f: ControlFigures) => string][] = [
    ['rules present', (f) => String(f.rules)],
    ['created a second, the first', (f) => f.firstRate.toFixed(0)],
    ['created a second, the last', (f) => f.lastRate.toFixed(0)],
    ['CPU of one creation, the first, ms', (f) => f.firstCpuMs.toFixed(2)],
    ['CPU of one creation, the last, ms', (f) => f.lastCpuMs.toFixed(2)],
    ['memory of a rule, bytes', (f) => f.bytesPerRule.toFixed(0)],
    ['create one, ms, median / p99', (f) => shown(f.create)],
    ['delete one', (f) => shown(f.remove)],
    ['status of one', (f) => shown(f.status)],
    ['page of 100', (f) => shown(f.page)],
    ['definition of one', (f) => shown(f.get)],
    ['update one', (f) => shown(f.update)],
    ['longest answer beside list, ms', ({ longest }) => longest.list.toFixed(0)],
    ['longest beside status of all', ({ longest }) => longest.statusAll.toFixed(0)],
    ['longest beside export', ({ longest }) => longest.export.toFixed(0)],
    ['longest beside metrics', ({ longest }) => longest.metrics.toFixed(0)],
    ['list, µs a rule', (f) => ((f.listMs * 1000) / f.rules).toFixed(1)],
    ['status of all, µs a rule', (f) => ((f.statusAllMs * 1000) / f.rules).toFixed(1)],
    ['export, µs a rule', (f) => ((f.exportMs * 1000) / f.rules).toFixed(1)],
    ['metrics, µs a rule', (f) => ((f.metricsMs * 1000) / f.rules).toFixed(1)],
    ['restart until REST answers, ms', (f) => f.restartAnswerMs.toFixed(0)],
    ['restart until all run, ms', (f) => f.restartRunningMs.toFixed(0)],
    ['running after restart', (f) => String(f.running)],
    ['resident memory, MB', (f) => (f.rssBytes / 1e6).toFixed(0)],
  ];
  const width = Math.max(...rows.map(([name]) => name.length));
  const lines = rows.map(([name, of]) => `${name.padEnd(width)}${all.map((f) => of(f).padStart(16)).join('')}\n`);
  return lines.join('');
}
