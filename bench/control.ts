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
  /** Time and server CPU of one creation, ms, over the last `SAMPLE` of them. */
  createMs: number;
  createCpuMs: number;
  /** Time of one request, ms. */
  statusMs: number;
  getMs: number;
  updateMs: number;
  /** Time of one request for all rules, ms, and for each rule, µs. */
  listMs: number;
  statusAllMs: number;
  exportMs: number;
  /** Process start to the first answer with all rules stored, and until all rules run, ms. */
  restartAnswerMs: number;
  restartRunningMs: number;
  /** Rules that run after the restart. */
  running: number;
  rssBytes: number;
}

const SAMPLE = 100;
const LANES = 4;

/** Measures with so many rules present. */
export async function controlFigures(command: string[], rules: number): Promise<ControlFigures> {
  const folder = mkdtempSync(join(tmpdir(), 'haumea-control-'));
  const options: EngineOptions = { url: '', pid: 0, command, env: {}, sourceProps: {}, folder };
  let engine = await EngineUnderTest.open(options);
  try {
    await engine.call('POST', '/streams', {
      sql:
        'CREATE STREAM s (id BIGINT, temp FLOAT) WITH (TYPE="memory", DATASOURCE="bench", FORMAT="json", ' +
        'SHARED="true")',
    });
    const create = (i: number): Promise<string> =>
      engine.call('POST', '/rules', {
        id: `r${i}`,
        sql: `SELECT id, temp FROM s WHERE temp > ${i % 977}`,
        actions: [{ nop: {} }],
      });
    const before = Math.max(0, rules - SAMPLE);
    await Promise.all(
      Array.from({ length: LANES }, async (_, lane) => {
        for (let i = lane; i < before; i += LANES) await create(i);
      }),
    );
    const cpuBefore = engine.cpuMs();
    const createMs = await each(rules - before, (i) => create(before + i));
    const createCpuMs = (engine.cpuMs() - cpuBefore) / (rules - before);
    const some = (i: number): number => (i * 7919) % rules;
    const statusMs = await each(SAMPLE, (i) => engine.call('GET', `/rules/r${some(i)}/status`));
    const getMs = await each(SAMPLE, (i) => engine.call('GET', `/rules/r${some(i)}`));
    const updateMs = await each(SAMPLE, (i) =>
      engine.call('PUT', `/rules/r${some(i)}`, {
        id: `r${some(i)}`,
        sql: `SELECT id FROM s WHERE temp > ${i}`,
        actions: [{ nop: {} }],
      }),
    );
    const listMs = await each(3, () => engine.call('GET', '/rules'));
    const statusAllMs = await each(3, () => engine.call('GET', '/rules/status/all'));
    const exportMs = await each(3, () => engine.call('GET', '/data/export'));
    const rssBytes = engine.memory().now;
    await engine.close();
    const started = performance.now();
    engine = await EngineUnderTest.open(options);
    const restartAnswerMs = engine.startMs;
    let running = 0;
    while (running < rules && performance.now() - started < 60_000) {
      const list = JSON.parse(await engine.call('GET', '/rules')) as { status: string }[];
      running = list.filter((rule) => /^running/i.test(rule.status)).length;
      if (running < rules) await pause(50);
    }
    const restartRunningMs = performance.now() - started;
    return {
      rules,
      createMs,
      createCpuMs,
      statusMs,
      getMs,
      updateMs,
      listMs,
      statusAllMs,
      exportMs,
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

/** Mean time of one call, ms. */
async function each(times: number, call: (i: number) => Promise<unknown>): Promise<number> {
  const started = performance.now();
  for (let i = 0; i < times; i++) await call(i);
  return (performance.now() - started) / times;
}

/** The figures side by side, one column for each number of rules. */
export function controlTable(all: ControlFigures[]): string {
  const rows: [string, (f: ControlFigures) => string][] = [
    ['rules present', (f) => String(f.rules)],
    ['create one, ms', (f) => f.createMs.toFixed(2)],
    ['create one, CPU ms', (f) => f.createCpuMs.toFixed(2)],
    ['status of one, ms', (f) => f.statusMs.toFixed(2)],
    ['definition of one, ms', (f) => f.getMs.toFixed(2)],
    ['update one, ms', (f) => f.updateMs.toFixed(2)],
    ['list, µs a rule', (f) => ((f.listMs * 1000) / f.rules).toFixed(1)],
    ['status of all, µs a rule', (f) => ((f.statusAllMs * 1000) / f.rules).toFixed(1)],
    ['export, µs a rule', (f) => ((f.exportMs * 1000) / f.rules).toFixed(1)],
    ['restart until REST answers, ms', (f) => f.restartAnswerMs.toFixed(0)],
    ['restart until all run, ms', (f) => f.restartRunningMs.toFixed(0)],
    ['running after restart', (f) => String(f.running)],
    ['resident memory, MB', (f) => (f.rssBytes / 1e6).toFixed(0)],
  ];
  const width = Math.max(...rows.map(([name]) => name.length));
  const lines = rows.map(([name, of]) => `${name.padEnd(width)}${all.map((f) => of(f).padStart(12)).join('')}\n`);
  return lines.join('');
}
