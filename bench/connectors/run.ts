/** Runs a line: the engine and the plain program in turns, on the same core, with the same messages. */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { EngineUnderTest } from '../engine.js';
import { endProcess, pause, startNode } from '../process.js';
import { fileOfRows, type Line, type Side, statement } from './line.js';

/** A turn: rows a second of wall time, and processor time of a row. */
export interface Turn {
  readonly perSecond: number;
  readonly cpuNs: number;
}

export interface LineResult {
  readonly name: string;
  readonly connector: string;
  readonly rows: number;
  readonly engine: Turn;
  readonly plain: Turn;
}

/** Longest turn, ms. */
const longestMs = 120_000;
const plainProgram = fileURLToPath(new URL('plain.ts', import.meta.url));

/** The best of some turns of both. */
export async function runLine(line: Line, folder: string, turns: number): Promise<LineResult> {
  const file = fileOfRows(folder, line.rows);
  const side = await line.open(folder, file);
  const command = [fileURLToPath(new URL('../../dist/main.mjs', import.meta.url))];
  const engine = await EngineUnderTest.open({ url: '', pid: 0, command, env: {}, sourceProps: {}, folder });
  try {
    const ofEngine: Turn[] = [];
    const ofPlain: Turn[] = [];
    for (let turn = 0; turn < turns; turn++) {
      await side.begin?.();
      ofEngine.push(await engineTurn(line, side, engine, file));
      await side.begin?.();
      ofPlain.push(await plainTurn(line, side, file));
    }
    const { name, connector, rows } = line;
    return { name, connector, rows, engine: best(ofEngine), plain: best(ofPlain) };
  } finally {
    await engine.close();
    await side.close();
  }
}

function best(turns: readonly Turn[]): Turn {
  return {
    perSecond: Math.max(...turns.map(({ perSecond }) => perSecond)),
    cpuNs: Math.min(...turns.map(({ cpuNs }) => cpuNs)),
  };
}

let number = 0;

async function engineTurn(line: Line, side: Side, engine: EngineUnderTest, file: string): Promise<Turn> {
  const id = `line${++number}`;
  const lines = { type: 'file', dataSource: file, props: { fileType: 'lines' } };
  const sink = side.sink ?? { type: 'nop', props: {} };
  await streamOf(engine, id, side.source ?? lines);
  if (side.feeder !== undefined) await streamOf(engine, `${id}f`, lines);
  let cpu = engine.cpuMs();
  let at = performance.now();
  await engine.createRule(id, `${statement} ${id}`, { [sink.type]: { sendSingle: true, ...sink.props } });
  const status = () => engine.status(id);
  if (side.feed !== undefined || side.feeder !== undefined) {
    await until('a connection', async () => (await status())[`source_${id}_0_connection_status`] === 1);
    [cpu, at] = [engine.cpuMs(), performance.now()];
    if (side.feeder !== undefined) {
      await engine.createRule(`${id}f`, `SELECT * FROM ${id}f`, { [side.feeder.type]: side.feeder.props });
    }
    await side.feed?.();
  }
  const out = async () => Number((await status())[`sink_${sink.type}_0_0_records_out_total`] ?? 0);
  const arrived = side.arrived?.bind(side) ?? out;
  await until(`${line.rows} rows`, async () => (await arrived()) >= line.rows);
  const ms = performance.now() - at;
  const cpuMs = engine.cpuMs() - cpu;
  for (const name of side.feeder === undefined ? [id] : [`${id}f`, id]) {
    await engine.call('DELETE', `/rules/${name}`);
    await engine.call('DELETE', `/streams/${name}`);
  }
  return { perSecond: (line.rows / ms) * 1000, cpuNs: (cpuMs * 1e6) / line.rows };
}

async function streamOf(engine: EngineUnderTest, id: string, source: NonNullable<Side['source']>): Promise<void> {
  await engine.call('PUT', `/metadata/sources/${source.type}/confKeys/${id}`, source.props);
  const options = `DATASOURCE="${source.dataSource}", TYPE="${source.type}", FORMAT="json", CONF_KEY="${id}"`;
  await engine.call('POST', '/streams', { sql: `CREATE STREAM ${id} () WITH (${options})` });
}

async function plainTurn(line: Line, side: Side, file: string): Promise<Turn> {
  const args = ['--import', 'tsx', plainProgram, line.name, side.address, String(line.rows), file];
  const child = startNode(args, 'engine', {}, true);
  let output = '';
  child.stderr?.on('data', (text: Buffer) => {
    output = (output + text.toString()).slice(-2000);
  });
  try {
    const done = told(child, 'done', () => output);
    await told(child, 'ready', () => output);
    await side.feed?.();
    const { cpuUs, ms } = await done;
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
  const heard = new Promise<Told>((resolve) => {
    child.on('message', (message: Told) => {
      if (message.kind === kind) resolve(message);
    });
  });
  return Promise.race([heard, ended]);
}

async function until(what: string, look: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + longestMs;
  while (!(await look())) {
    if (performance.now() > end) throw new Error(`${what}: not within ${longestMs / 1000} s`);
    await pause(10);
  }
}
