/**
 * Rules by device: one rule for each device on one shared stream, which is what many rules usually are. How fast they
 * are made, one request each by one client, how long they take to start and to stop, what requests take while they are
 * there, what memory a rule has, and what messages cost. And the same for rules that most messages pass: each with a
 * threshold of its own.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readOptions } from '../host/base/program/options.js';
import { makeAll, SAMPLE, shown, type Times, times } from './control.js';
import { type EngineOptions, EngineUnderTest } from './engine.js';
import { Generator } from './generator.js';
import { mainThreadMs, pause } from './process.js';
import { runWorkload } from './run.js';

const HELP = `usage: haumea bench devices [options]

Measures a server with one rule for each device on one shared stream of MQTT, and one with rules that have thresholds.

  --rules N          rules by device (default 100000)
  --rate N           messages a second while they are there, each of one device (default 10000)
  --thresholds N     rules with a threshold each, at 500 messages a second; 0: none (default 10000)
  --seconds N        how long messages are sent and measured (default 10), after as many that are not measured
  --all-cores        the server has all cores; by default it is pinned to one, where the system allows
  --json             print JSON instead of the table

Times by the clock say little on a machine that does other things too; processor times say more.
`;

export interface DeviceFigures {
  readonly rules: number;
  /** Rules made in a second, and processor time of the main thread for one, ms: all of them, then the last. */
  readonly createRate: number;
  readonly createMainMs: number;
  readonly lastRate: number;
  /** Rules made in a second with `inFlight` requests on their way at a time. */
  readonly parallelRate: number;
  readonly bytesPerRule: number;
  readonly create: Times;
  readonly remove: Times;
  readonly status: Times;
  readonly page: Times;
  /** Messages taken of those sent, and the part of a core that they took. */
  readonly taken: number;
  readonly sent: number;
  readonly messagesShare: number;
  /** By the clock, and processor time of all threads, ms. */
  readonly stopMs: number;
  readonly stopCpuMs: number;
  readonly startMs: number;
  readonly startCpuMs: number;
  readonly rssBytes: number;
  readonly thresholds: number;
  /** Part of a core that messages to rules with thresholds took; undefined where none were asked for. */
  readonly thresholdsShare: number | undefined;
}

interface Asked {
  readonly rules: number;
  readonly rate: number;
  readonly seconds: number;
  readonly thresholds: number;
  readonly hasAllCores: boolean;
}

/** Requests on their way at a time, of a client that does not wait for each. */
const inFlight = 16;
const parallelRules = 2000;
const thresholdRate = 500;
const longestStartMs = 600_000;
/** Different messages that are sent in turn. */
const payloadCount = 10_000;

/** Runs the command; returns the exit code (1: messages were lost, or rules did not start). */
export async function main(argv: string[], program: string[]): Promise<number> {
  const text = (value: string) => ({ type: 'string', default: value }) as const;
  const flag = { type: 'boolean', default: false } as const;
  const options = {
    rules: text('100000'),
    rate: text('10000'),
    thresholds: text('10000'),
    seconds: text('10'),
    'all-cores': flag,
    json: flag,
    help: flag,
  };
  let asked: Asked;
  let isJson = false;
  try {
    const { values } = readOptions({ args: argv, options });
    if (values.help) {
      process.stdout.write(HELP);
      return 0;
    }
    isJson = values.json;
    const number = (name: 'rules' | 'rate' | 'seconds' | 'thresholds', least: number) => {
      const value = Number(values[name]);
      if (!Number.isInteger(value) || value < least) throw new Error(`--${name}: a whole number from ${least} on`);
      return value;
    };
    asked = {
      rules: number('rules', 2),
      rate: number('rate', 1),
      seconds: number('seconds', 1),
      thresholds: number('thresholds', 0),
      hasAllCores: values['all-cores'],
    };
  } catch (error) {
    process.stderr.write(`haumea bench devices: ${(error as Error).message}\n\n${HELP}`);
    return 2;
  }
  const figures = await deviceFigures(program, asked, (line) => void process.stderr.write(`${line}\n`));
  process.stdout.write(isJson ? `${JSON.stringify(figures)}\n` : deviceTable(figures, asked));
  return figures.taken < figures.sent ? 1 : 0;
}

/** Measures; `say` tells how far it is. */
export async function deviceFigures(
  program: string[],
  asked: Asked,
  say: (line: string) => void,
): Promise<DeviceFigures> {
  const { rules, thresholds, hasAllCores } = asked;
  const folder = mkdtempSync(join(tmpdir(), 'haumea-devices-'));
  const options: EngineOptions = { url: '', pid: 0, command: program, env: {}, sourceProps: {}, folder, hasAllCores };
  const role = [...program, 'bench', '--role'];
  const payloads = Array.from(
    { length: payloadCount },
    (_, i) => `{"device":"d${(i * 7919) % rules}","id":${i},"temp":${20 + (i % 50) / 10}}`,
  );
  const generator = await Generator.open(role, 'custom', 'plain', payloads);
  let engine = await EngineUnderTest.open(options);
  try {
    const ddl =
      'CREATE STREAM s (device STRING, id BIGINT, temp FLOAT) WITH (TYPE="mqtt", DATASOURCE="bench/telem", ' +
      'CONF_KEY="bench", SHARED="true")';
    await engine.createStream('s', ddl, generator.port);
    say(`${rules} rules by device are made …`);
    const made = await create(engine, rules);
    const parallelRate = await parallelCreation(engine, rules);
    const requests = await requestTimes(engine, rules);
    say(`messages, ${asked.rate} a second …`);
    const messages = await sendMessages(engine, generator, asked);
    const rssBytes = engine.memory().now;
    say('the server ends and starts again …');
    const stopped = await stop(engine);
    const started = performance.now();
    engine = await EngineUnderTest.open(options);
    await allRun(engine, rules, started);
    const [startMs, startCpuMs] = [performance.now() - started, engine.cpuMs()];
    const figures = {
      rules,
      ...made,
      parallelRate,
      ...requests,
      ...messages,
      ...stopped,
      startMs,
      startCpuMs,
      rssBytes,
      thresholds,
    };
    await engine.end('SIGKILL');
    if (thresholds === 0) return { ...figures, thresholdsShare: undefined };
    say(`${thresholds} rules with thresholds …`);
    return { ...figures, thresholdsShare: await thresholdShare(role, program, asked) };
  } finally {
    await engine.end('SIGKILL');
    await generator.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

function createRule(engine: EngineUnderTest, i: number): Promise<string> {
  const sql = `SELECT id, temp FROM s WHERE device = "d${i}"`;
  return engine.call('POST', '/rules', { id: `r${i}`, sql, actions: [{ nop: {} }] });
}

async function create(engine: EngineUnderTest, rules: number) {
  const mainBefore = mainThreadMs(engine.pid);
  const sample = Math.min(SAMPLE, rules >> 1);
  let measuredMs = 0;
  const one = async (i: number) => {
    const since = performance.now();
    await createRule(engine, i);
    measuredMs += performance.now() - since;
  };
  const { lastRate, bytesPerRule, create } = await makeAll(engine, rules, sample, one, 1);
  const createMainMs = (mainThreadMs(engine.pid) - mainBefore) / rules;
  return { createRate: (rules * 1000) / measuredMs, createMainMs, lastRate, bytesPerRule, create };
}

/** Rules made in a second by a client with many requests on their way; they are removed again. */
async function parallelCreation(engine: EngineUnderTest, rules: number): Promise<number> {
  const numbers = Array.from({ length: parallelRules }, (_, i) => rules + 1 + i);
  const inLanes = (call: (i: number) => Promise<unknown>) => {
    const waiting = [...numbers];
    return Promise.all(
      Array.from({ length: inFlight }, async () => {
        for (let i = waiting.shift(); i !== undefined; i = waiting.shift()) await call(i);
      }),
    );
  };
  const began = performance.now();
  await inLanes((i) => createRule(engine, i));
  const ms = performance.now() - began;
  await inLanes((i) => engine.call('DELETE', `/rules/r${i}`));
  return (parallelRules * 1000) / ms;
}

async function requestTimes(engine: EngineUnderTest, rules: number) {
  const sample = Math.min(SAMPLE, rules >> 1);
  // A step that visits all rules, far apart.
  const some = (i: number) => (i * 7919) % rules;
  const status = await times(sample, (i) => engine.call('GET', `/rules/r${some(i)}/status`));
  const page = await times(sample, (i) => engine.call('GET', `/rules?limit=100&after=r${some(i)}`));
  const gone = [...new Set(Array.from({ length: sample }, (_, i) => some(i)))];
  const remove = await times(gone.length, (i) => engine.call('DELETE', `/rules/r${gone[i]}`));
  for (const i of gone) await createRule(engine, i);
  return { status, page, remove };
}

async function sendMessages(engine: EngineUnderTest, generator: Generator, { rate, seconds }: Asked) {
  const takenOf = async () => Number((await engine.status('r0')).source_s_0_records_in_total ?? 0);
  const before = await takenOf();
  const count = rate * seconds;
  const send = async (firstIndex: number) => {
    const [began, cpu] = [performance.now(), engine.cpuMs()];
    await generator.send({ count, rate, perMessage: false, firstIndex });
    await engine.consumed('r0', 's', before + firstIndex + count, 2000);
    return (engine.cpuMs() - cpu) / (performance.now() - began);
  };
  // After the first messages code is compiled, and what the creations left is freed.
  await send(0);
  const messagesShare = await send(count);
  return { sent: 2 * count, taken: (await takenOf()) - before, messagesShare };
}

/** Ends the server in order; its processor time is looked at until it is gone. */
async function stop(engine: EngineUnderTest): Promise<{ stopMs: number; stopCpuMs: number }> {
  const [began, cpu] = [performance.now(), engine.cpuMs()];
  let last = cpu;
  const timer = setInterval(() => {
    const now = engine.cpuMs();
    if (!Number.isNaN(now)) last = now;
  }, 20);
  await engine.end('SIGTERM');
  clearInterval(timer);
  return { stopMs: performance.now() - began, stopCpuMs: last - cpu };
}

/** Waits for the rule that starts last, as they start in the order of their ids, and then for all. */
async function allRun(engine: EngineUnderTest, rules: number, began: number): Promise<void> {
  const last = Array.from({ length: rules }, (_, i) => `r${i}`)
    .sort()
    .at(-1)!;
  const isLate = () => performance.now() - began > longestStartMs;
  while ((await engine.status(last)).status !== 'Running') {
    if (isLate()) throw new Error('the rules do not start');
    await pause(50);
  }
  for (;;) {
    const list = JSON.parse(await engine.call('GET', '/rules')) as { status: string }[];
    if (list.length >= rules && list.every(({ status }) => status === 'Running')) return;
    if (isLate()) throw new Error('not all rules start');
    await pause(500);
  }
}

async function thresholdShare(role: string[], command: string[], { thresholds, seconds }: Asked): Promise<number> {
  const { cpuShare, findings } = await runWorkload({
    workload: 'rules',
    role,
    command,
    engineUrl: '',
    enginePid: 0,
    dataSet: 'plain',
    perMessage: true,
    rate: thresholdRate,
    seconds,
    rules: thresholds,
    distinct: true,
    schemaless: false,
    sinkProps: {},
    sourceProps: {},
    env: {},
    sql: '',
    payloads: undefined,
  });
  if (findings.length > 0) throw new Error(findings[0]);
  return cpuShare;
}

function deviceTable(figures: DeviceFigures, { rate }: Asked): string {
  const seconds = (ms: number) => (ms / 1000).toFixed(1);
  const percent = (share: number) => (share * 100).toFixed(1);
  const rows: [string, string][] = [
    ['rules by device', String(figures.rules)],
    ['created a second by one client, all', figures.createRate.toFixed(0)],
    ['created a second, the last', figures.lastRate.toFixed(0)],
    [`created a second, ${inFlight} requests at a time`, figures.parallelRate.toFixed(0)],
    ['main thread for one creation, ms', figures.createMainMs.toFixed(2)],
    ['memory of a rule, bytes', figures.bytesPerRule.toFixed(0)],
    ['create one, ms, median / p99', shown(figures.create)],
    ['delete one', shown(figures.remove)],
    ['status of one', shown(figures.status)],
    ['page of 100', shown(figures.page)],
    [`% of a core at ${rate} messages a second`, percent(figures.messagesShare)],
    ['messages taken of those sent', `${figures.taken} of ${figures.sent}`],
    ['stop, s, by the clock / processor time', `${seconds(figures.stopMs)} / ${seconds(figures.stopCpuMs)}`],
    ['start until all run, s', `${seconds(figures.startMs)} / ${seconds(figures.startCpuMs)}`],
    ['resident memory, MB', (figures.rssBytes / 1e6).toFixed(0)],
  ];
  const { thresholds, thresholdsShare } = figures;
  if (thresholdsShare !== undefined)
    rows.push([`% of a core, ${thresholds} thresholds at ${thresholdRate} a second`, percent(thresholdsShare)]);
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, value]) => `${name.padEnd(width)}  ${value}\n`).join('');
}
