/**
 * A function, a source and a sink of a portable plugin in Python, on the published SDK: the engine beside a bare
 * program in its place. All have all cores, since plugin and engine work at the same time.
 *
 *     npm run bench -- portable [--turns N] [--engine URL --engine-pid PID] [PART OF A NAME ...]
 *
 * Another engine has to find the SDK by its PYTHONPATH.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { reasonOf } from '../../host/base/errors.js';
import { readOptions } from '../../host/base/program/options.js';
import { sdkEnv } from '../../test/support/plugins/portable.js';
import { writeZip } from '../../test/support/rest/zip-writer.js';
import { EngineUnderTest } from '../engine.js';
import { argsOrUsage } from '../line-args.js';
import { cpuMs, pause } from '../process.js';
import { type Figures, type Job, jobs, names, pluginProgram, sinkRow, sourceProps } from './job.js';
import { plainTurn } from './plain.js';

const longestMs = 60_000;

const { values, positionals } = argsOrUsage('portable', '[--turns N] [--engine URL --engine-pid PID]', () =>
  readOptions({
    allowPositionals: true,
    options: {
      turns: { type: 'string', default: '3' },
      engine: { type: 'string', default: '' },
      'engine-pid': { type: 'string', default: '0' },
    },
  }),
);
const turns = Number(values.turns);
const isOther = values.engine !== '';
const isAsked = ({ name, callsAtOnce }: Job) =>
  (positionals.length === 0 || positionals.some((word) => name.includes(word))) && !(isOther && callsAtOnce);
const chosen = jobs.filter(isAsked);
if (chosen.length === 0 || !Number.isInteger(turns) || turns < 1) {
  const lines = jobs.map(({ name }) => `  ${name}\n`).join('');
  process.stderr.write(`haumea bench portable: --turns is a number from 1 on, and the lines are\n${lines}`);
  process.exit(2);
}

/** The best of some turns, after one for the compiler. */
async function best(turn: (number: number) => Promise<Figures>): Promise<Figures> {
  await turn(0);
  const all: Figures[] = [];
  for (let number = 1; number <= turns; number++) all.push(await turn(number));
  return all.reduce((one, other) => (other.perSecond > one.perSecond ? other : one));
}

async function ofEngine(job: Job, folder: string): Promise<Figures> {
  const env = {
    ...sdkEnv,
    KUIPER__PORTABLE__CALLSATONCE: String(job.callsAtOnce ?? 1),
    KUIPER__PORTABLE__PYTHONBIN: 'python3',
  };
  const command = [fileURLToPath(new URL('../../dist/main.mjs', import.meta.url))];
  const pid = Number(values['engine-pid']);
  const options = { url: values.engine, pid, command, env, sourceProps: {}, folder, hasAllCores: true };
  const engine = await EngineUnderTest.open(options);
  try {
    await engine.remove(`/plugins/portables/${names.plugin}`);
    const file = `file://${archive(folder)}`;
    await engine.call('POST', '/plugins/portables', { name: names.plugin, file });
    return await best((number) => engineTurn(engine, job, `bench${number}`, folder));
  } finally {
    await engine.remove(`/plugins/portables/${names.plugin}`);
    await engine.close();
  }
}

function archive(folder: string): string {
  const path = join(folder, 'plugin.zip');
  const { source, sink } = names;
  const brings = { sources: [source], sinks: [sink], functions: [names.function] };
  const described = { version: 'v1', language: 'python', executable: 'plugin.py', ...brings };
  const about = { description: { en_US: 'For a benchmark' } };
  writeFileSync(
    path,
    writeZip([
      { name: `${names.plugin}.json`, content: JSON.stringify(described) },
      { name: 'plugin.py', content: readFileSync(pluginProgram, 'utf8') },
      { name: `sources/${source}.yaml`, content: 'default:\n  rows: 1\n' },
      { name: `sources/${source}.json`, content: JSON.stringify({ about, properties: {} }) },
      { name: `sinks/${sink}.json`, content: JSON.stringify({ about, properties: [] }) },
    ]),
  );
  return path;
}

async function engineTurn(engine: EngineUnderTest, job: Job, id: string, folder: string): Promise<Figures> {
  const { kind, rows } = job;
  const done = join(folder, `${id}.done`);
  const isSource = kind === 'source';
  const type = isSource ? names.source : 'file';
  const props = isSource ? sourceProps(job) : { fileType: 'lines', path: folder, interval: 0 };
  writeFileSync(
    join(folder, 'rows.in'),
    Array.from({ length: isSource ? 0 : rows }, (_, n) => `${sinkRow(n)}\n`).join(''),
  );
  await engine.call('PUT', `/metadata/sources/${type}/confKeys/${id}`, props);
  await engine.remove(`/rules/${id}`);
  await engine.remove(`/streams/${id}`);
  const options = `DATASOURCE="rows.in", TYPE="${type}", FORMAT="json", CONF_KEY="${id}"`;
  await engine.call('POST', '/streams', { sql: `CREATE STREAM ${id} () WITH (${options})` });
  const plugin = Number(JSON.parse(await engine.call('GET', `/plugins/portables/${names.plugin}/status`)).pid ?? 0);
  const [cpu, pluginCpu, begin] = [engine.cpuMs(), cpuMs(plugin), performance.now()];
  const sql = kind === 'function' ? `SELECT ${names.function}(n) AS r FROM ${id}` : `SELECT * FROM ${id}`;
  const action = kind === 'sink' ? { [names.sink]: { path: done, rows, sendSingle: true } } : { nop: {} };
  // Another engine may drop what does not fit into its buffers.
  await engine.createRule(id, sql, action, isOther ? { bufferLength: rows } : {});
  let status: Record<string, unknown> = {};
  const isOver = async () => {
    if (kind === 'sink') return existsSync(done);
    status = await engine.status(id);
    return Number(status.sink_nop_0_0_records_out_total ?? 0) >= rows;
  };
  while (!(await isOver())) {
    if (performance.now() - begin > longestMs) {
      throw new Error(`not through in ${longestMs / 1000} s: ${JSON.stringify(await engine.status(id))}`);
    }
    await pause(10);
  }
  const ms = performance.now() - begin;
  const figures = {
    perSecond: (rows / ms) * 1000,
    engineUs: ((engine.cpuMs() - cpu) * 1000) / rows,
    pluginUs: ((cpuMs(plugin) - pluginCpu) * 1000) / rows,
  };
  const failures = Object.entries(status).filter(([name, value]) => /exceptions_total$/.test(name) && value !== 0);
  if (failures.length > 0) throw new Error(`rows have failed: ${JSON.stringify(status)}`);
  await engine.remove(`/rules/${id}`);
  await engine.remove(`/streams/${id}`);
  rmSync(done, { force: true });
  return figures;
}

async function ofPlain(job: Job, folder: string): Promise<Figures> {
  return best(async (number) => {
    const done = join(folder, `plain${number}.done`);
    return plainTurn(job, sdkEnv, done);
  });
}

const shown = ({ perSecond, engineUs, pluginUs }: Figures) =>
  `${perSecond.toFixed(0).padStart(7)} rows/s, ${engineUs.toFixed(1)} + ${pluginUs.toFixed(1)} µs a row`;
const widest = Math.max(...jobs.map(({ name }) => name.length));
let code = 0;
for (const job of chosen) {
  const folder = mkdtempSync(join(tmpdir(), 'haumea-bench-'));
  const name = job.name.padEnd(widest);
  try {
    const engine = shown(await ofEngine(job, folder));
    const plain = isOther || job.callsAtOnce ? '' : `; bare program ${shown(await ofPlain(job, folder))}`;
    console.log(`${name} ${engine}${job.atLeast ? `, aim ${job.atLeast}` : ''}${plain}`);
  } catch (error) {
    code = 1;
    console.log(`${name} failed: ${reasonOf(error)}`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
process.exit(code);
