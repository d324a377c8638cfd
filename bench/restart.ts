/**
 * How long many rules with state need until they are back: rules with a window each over one shared stream, checkpoints
 * with `qos` 1, an end in order or by kill -9, a start, and the rows that complete each window. A rule that does not
 * send it has lost its state.
 */
import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type EngineOptions, EngineUnderTest } from './engine.js';
import { pause } from './process.js';

export interface RestartFigures {
  readonly rules: number;
  /** How the server ended. */
  readonly end: 'in order' | 'kill -9';
  /** Process start to the first answer of REST, and until all rules run with their state, ms. */
  readonly answerMs: number;
  readonly runningMs: number;
  /** Processor time until then, all threads, ms. */
  readonly cpuMs: number;
  readonly rssBytes: number;
  /** Rules that went on with their state and sent one window with the right rows. */
  readonly whole: number;
}

const lanes = 4;
/** Rows of a window, those before each end and the rest after it. */
const windowRows = 30;
const before = 20;
const longestMs = 300_000;
/** Longest wait for one rule, ms. */
const patienceMs = 60_000;

type Status = Readonly<Record<string, unknown>>;

/** Ends a server with so many rules in both ways; `say` tells how far it is. */
export async function restartFigures(
  command: string[],
  rules: number,
  say: (line: string) => void,
): Promise<RestartFigures[]> {
  const folder = mkdtempSync(join(tmpdir(), 'haumea-restart-'));
  const input = join(folder, 'in');
  const options: EngineOptions = {
    url: '',
    pid: 0,
    command,
    env: {},
    sourceProps: {},
    folder,
    hasAllCores: true,
  };
  let row = 0;
  const append = (count: number) =>
    appendFileSync(input, Array.from({ length: count }, () => `{"id":${row++},"temp":${row % 50}}\n`).join(''));
  writeFileSync(input, '');
  let engine = await EngineUnderTest.open(options);
  try {
    say(`${rules} rules are made …`);
    await engine.call('PUT', '/metadata/sources/file/confKeys/bench', {
      path: folder,
      fileType: 'lines',
      follow: true,
    });
    await engine.call('POST', '/streams', {
      sql:
        'CREATE STREAM s (id BIGINT, temp FLOAT) WITH (TYPE="file", DATASOURCE="in", CONF_KEY="bench", ' +
        'SHARED="true")',
    });
    const create = (i: number) =>
      engine.call('POST', '/rules', {
        id: `r${i}`,
        sql:
          `SELECT min(id) AS first, count(*) AS rows, avg(temp + ${i}) AS mean FROM s GROUP BY ` +
          `COUNTWINDOW(${windowRows})`,
        actions: [{ nop: {} }],
        options: { qos: 1, checkpointInterval: '5s' },
      });
    await Promise.all(
      Array.from({ length: lanes }, async (_, lane) => {
        for (let i = lane; i < rules; i += lanes) await create(i);
      }),
    );
    const results: RestartFigures[] = [];
    for (const end of ['in order', 'kill -9'] as const) {
      append(before);
      say(`all rules have a checkpoint with their part of a window …`);
      const isKept = ({ source_s_0_records_in_total: rows, checkpointsTotal: count }: Status) =>
        Number(rows) === (end === 'in order' ? before : windowRows) && Number(count) > 0;
      if ((await all(engine, rules, isKept)) < rules) throw new Error('not all rules have a checkpoint');
      await engine.end(end === 'kill -9' ? 'SIGKILL' : 'SIGTERM');
      say(`the server has ended (${end}) and starts again …`);
      const began = performance.now();
      engine = await EngineUnderTest.open(options);
      const answerMs = engine.startMs;
      for (;;) {
        const list = JSON.parse(await engine.call('GET', '/rules')) as { status: string }[];
        if (list.length === rules && list.every(({ status }) => /^running/i.test(status))) break;
        if (performance.now() - began > longestMs) throw new Error('the rules do not run');
        // The list of thousands of rules costs time of its own.
        await pause(1000);
      }
      const runningMs = performance.now() - began;
      const cpuMs = engine.cpuMs();
      append(windowRows - before);
      const whole = await all(engine, rules, (status) => Number(status.sink_nop_0_0_records_in_total) === 1);
      results.push({ rules, end, answerMs, runningMs, cpuMs, rssBytes: engine.memory().now, whole });
    }
    return results;
  } finally {
    await engine.end('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Waits until the rules are as they should be, for each as long as it changes; returns how many are. */
async function all(engine: EngineUnderTest, rules: number, isDone: (status: Status) => boolean): Promise<number> {
  let next = 0;
  let done = 0;
  const lane = async () => {
    while (next < rules) {
      const id = `r${next++}`;
      const began = performance.now();
      let isOne = false;
      for (;;) {
        isOne = isDone(await engine.status(id));
        if (isOne || performance.now() - began > patienceMs) break;
        await pause(100);
      }
      if (isOne) done++;
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  return done;
}

/** The figures side by side, a column for each end. */
export function restartTable(all: readonly RestartFigures[]): string {
  const seconds = (ms: number) => (ms / 1000).toFixed(1);
  const rows: [string, (f: RestartFigures) => string][] = [
    ['rules with state', (f) => String(f.rules)],
    ['end of the server', (f) => f.end],
    ['start until REST answers, s', (f) => seconds(f.answerMs)],
    ['start until all run, s', (f) => seconds(f.runningMs)],
    ['processor time until then, s', (f) => seconds(f.cpuMs)],
    ['resident memory, MB', (f) => (f.rssBytes / 1e6).toFixed(0)],
    ['rules that had their state', (f) => String(f.whole)],
  ];
  const width = Math.max(...rows.map(([name]) => name.length));
  const lines = rows.map(([name, of]) => `${name.padEnd(width)}${all.map((f) => of(f).padStart(12)).join('')}\n`);
  return lines.join('');
}
