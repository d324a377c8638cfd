/** Runs a line: the engine and the plain program in turns, on the same core, with the same messages. */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { linkSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { EngineUnderTest } from '../engine.js';
import { endProcess, pause, startNode } from '../process.js';
import { Arrivals, readJson } from './arrivals.js';
import { type Input, isWorked, type Line, type Side, statement } from './line.js';
import { eachLine } from './lines-of-file.js';

/** A turn: rows a second of wall time, and processor time of a row. */
export interface Turn {
  readonly perSecond: number;
  readonly cpuNs: number;
}

export interface LineResult {
  readonly name: string;
  readonly connectors: readonly string[];
  readonly format?: string;
  readonly rows: number;
  readonly engine: Turn;
  readonly plain: Turn;
}

/** Longest turn, ms. */
const longestMs = 60_000;
const plainProgram = fileURLToPath(new URL('plain.ts', import.meta.url));

/** The best of some turns of both, after one of the engine in which each row is looked at. */
export async function runLine(line: Line, home: string, side: Side, folder: string, file: string, turns: number) {
  const command = [fileURLToPath(new URL('../../dist/main.mjs', import.meta.url))];
  // The lines of the log are counted once all are written.
  const env = { KUIPER__BASIC__ROTATECOUNT: '0' };
  const engine = await EngineUnderTest.open({ url: '', pid: 0, command, env, sourceProps: {}, folder });
  try {
    await side.prepare?.(engine);
    const { name, connectors, format, rows } = line;
    const run: Run = { line, home, side, engine, folder, file };
    await side.begin?.(true);
    await checkedTurn(run);
    const ofEngine: Turn[] = [];
    const ofPlain: Turn[] = [];
    for (let turn = 0; turn < turns; turn++) {
      await side.begin?.(false);
      ofEngine.push(await engineTurn(run, side.sink));
      await side.begin?.(false);
      ofPlain.push(await plainTurn(run));
    }
    const result: LineResult = {
      name,
      connectors,
      ...(format && { format }),
      rows,
      engine: best(ofEngine),
      plain: best(ofPlain),
    };
    return result;
  } finally {
    await engine.close();
  }
}

interface Run {
  readonly line: Line;
  /** File that has the line. */
  readonly home: string;
  readonly side: Side;
  readonly engine: EngineUnderTest;
  readonly folder: string;
  readonly file: string;
}

function best(turns: readonly Turn[]): Turn {
  return {
    perSecond: Math.max(...turns.map(({ perSecond }) => perSecond)),
    cpuNs: Math.min(...turns.map(({ cpuNs }) => cpuNs)),
  };
}

/** A turn that is not measured: what the rule of a source makes goes into a file, and is read there. */
async function checkedTurn(run: Run): Promise<void> {
  const { line, side, folder } = run;
  if (side.sink !== undefined) {
    if (side.check === undefined) throw new Error('nobody looks at what arrives');
    await engineTurn(run, side.sink);
    await side.check();
    return;
  }
  const path = join(folder, 'checked.out');
  const arrivals = new Arrivals(line.rows, readJson, line.isRight?.bind(line) ?? isWorked, line.isEndless);
  arrivals.begin(true);
  await engineTurn(run, { type: 'file', props: { path, fileType: 'lines' } });
  await eachLine(path, (text) => arrivals.take(text));
  arrivals.check();
  rmSync(path);
}

let number = 0;

async function engineTurn(run: Run, given: Side['sink']): Promise<Turn> {
  const { line, side, engine, folder, file } = run;
  const id = `line${++number}`;
  const inbox = join(folder, id);
  const lines: Input = { type: 'file', dataSource: file, props: { fileType: 'lines' } };
  // Rows come into a folder when everybody has connected who wants them.
  const later: Input = { type: 'file', dataSource: inbox, props: { fileType: 'lines' } };
  if (side.listen !== undefined) mkdirSync(inbox);
  const sink = given ?? { type: 'nop', props: {} };
  await streamOf(engine, id, side.source ?? (side.listen === undefined ? lines : later));
  if (side.feeder !== undefined) await streamOf(engine, `${id}f`, lines);
  let cpu = engine.cpuMs();
  let at = performance.now();
  const sql = line.select?.(id) ?? `${statement} ${id}`;
  await engine.createRule(id, sql, { [sink.type]: { sendSingle: true, ...sink.props } });
  const status = () => engine.status(id);
  if (side.feed !== undefined || side.feeder !== undefined || side.listen !== undefined) {
    await until('a connection', async () => (await status())[`source_${id}_0_connection_status`] === 1);
    await side.listen?.(engine.dataUrl);
    [cpu, at] = [engine.cpuMs(), performance.now()];
    if (side.feeder !== undefined) {
      await engine.createRule(`${id}f`, `SELECT * FROM ${id}f`, { [side.feeder.type]: side.feeder.props });
    }
    if (side.listen !== undefined) linkSync(file, join(inbox, 'rows'));
    await side.feed?.(engine.dataUrl);
  }
  const out = async () => Number((await status())[`sink_${sink.type}_0_0_records_out_total`] ?? 0);
  const arrived = given === side.sink ? (side.arrived?.bind(side) ?? out) : out;
  await until(`${line.rows} rows`, async () => (await arrived()) >= line.rows).catch(async (error) => {
    throw new Error(`${(error as Error).message}, ${await arrived()} are there: ${await troubleOf(engine, id)}`);
  });
  const ms = performance.now() - at;
  const cpuMs = engine.cpuMs() - cpu;
  const rows = line.isEndless === true ? await arrived() : line.rows;
  for (const name of side.feeder === undefined ? [id] : [`${id}f`, id]) {
    await engine.call('DELETE', `/rules/${name}`);
    await engine.call('DELETE', `/streams/${name}`);
  }
  if (given === side.sink) await countWritten(run);
  return { perSecond: (rows / ms) * 1000, cpuNs: (cpuMs * 1e6) / rows };
}

async function countWritten({ line, side }: Run): Promise<void> {
  const written = await side.written?.();
  if (written !== undefined && written !== line.rows) throw new Error(`${written} rows are written of ${line.rows}`);
}

/** What the status says of failures. */
async function troubleOf(engine: EngineUnderTest, id: string): Promise<string> {
  const found = Object.entries(await engine.status(id)).filter(
    ([name, value]) => /exception|last_error|message|failed/.test(name) && value !== '' && value !== 0,
  );
  return found.map(([name, value]) => `${name} ${value}`).join('; ') || 'the rule names no failure';
}

async function streamOf(engine: EngineUnderTest, id: string, source: Input): Promise<void> {
  const { type, dataSource, props, format = 'json', columns = '', options } = source;
  await engine.call('PUT', `/metadata/sources/${type}/confKeys/${id}`, props);
  const usual = `DATASOURCE="${dataSource}", TYPE="${type}", FORMAT="${format}", CONF_KEY="${id}"`;
  const all = options === undefined ? usual : `${usual}, ${options}`;
  await engine.call('POST', '/streams', { sql: `CREATE STREAM ${id} (${columns}) WITH (${all})` });
}

async function plainTurn(run: Run): Promise<Turn> {
  const { line, home, side, file } = run;
  const args = ['--import', 'tsx', plainProgram, home, line.name, side.address, String(line.rows), file];
  const child = startNode(args, 'engine', {}, true);
  let output = '';
  child.stderr?.on('data', (text: Buffer) => {
    output = (output + text.toString()).slice(-2000);
  });
  try {
    const done = told(child, 'done', () => output);
    // Its failure is that of the wait for `ready`, too.
    done.catch(() => {});
    await told(child, 'ready', () => output);
    if (side.listen !== undefined) {
      await side.listen(side.address);
      child.send('go');
    }
    await side.feed?.(side.address);
    const { cpuUs, ms } = await done;
    if (side.arrived !== undefined) {
      const arrived = side.arrived.bind(side);
      await until(`${line.rows} rows of the plain program`, async () => (await arrived()) >= line.rows);
    }
    await countWritten(run);
    return { perSecond: (line.rows / ms) * 1000, cpuNs: (cpuUs * 1000) / line.rows };
  } finally {
    await endProcess(child);
  }
}

interface Told {
  readonly kind: string;
  readonly cpuUs: number;
  readonly ms: number;
}

async function told(child: ChildProcess, kind: string, output: () => string): Promise<Told> {
  const ended = once(child, 'exit').then(() => {
    throw new Error(`the plain program has ended: ${output()}`);
  });
  let timer: NodeJS.Timeout | undefined;
  const heard = new Promise<Told>((resolve, reject) => {
    timer = setTimeout(
      () => reject(new Error(`the plain program is not ${kind} within ${longestMs / 1000} s`)),
      longestMs,
    );
    child.on('message', (message: Told) => {
      if (message.kind === kind) resolve(message);
    });
  });
  return Promise.race([heard, ended]).finally(() => clearTimeout(timer));
}

async function until(what: string, look: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + longestMs;
  while (!(await look())) {
    if (performance.now() > end) throw new Error(`${what}: not within ${longestMs / 1000} s`);
    await pause(10);
  }
}
