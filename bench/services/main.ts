/**
 * Calls of external services from a rule: a call for each row, 32 or more under way at once. The engine has one core,
 * the service another one; the service is a bare socket, so that the figures are those of the engine.
 *
 *     npm run bench -- services [--turns N] [PART OF A NAME ...]
 */
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { reasonOf } from '../../host/base/errors.js';
import { readOptions } from '../../host/base/program/options.js';
import { writeZip } from '../../test/support/rest/zip-writer.js';
import { EngineUnderTest } from '../engine.js';
import { argsOrUsage } from '../line-args.js';
import { endProcess, pause, startNode } from '../process.js';

const lines = [
  { name: 'rest, 32 in flight', protocol: 'rest', scheme: 'http', concurrency: 32, rows: 100_000, atLeast: 10_000 },
  { name: 'grpc, 32 in flight', protocol: 'grpc', scheme: 'tcp', concurrency: 32, rows: 200_000, atLeast: 20_000 },
  { name: 'grpc, 256 in flight', protocol: 'grpc', scheme: 'tcp', concurrency: 256, rows: 200_000, atLeast: 20_000 },
  { name: 'msgpack-rpc, 32 in flight', protocol: 'msgpack-rpc', scheme: 'tcp', concurrency: 32, rows: 200_000 },
] as const;
type Line = (typeof lines)[number];

const schema = `syntax = "proto3"; package bench;
message Ask { string item = 1; int32 count = 2; }
message Answer { double price = 1; int64 stock = 2; }
service Shop { rpc price(Ask) returns (Answer) {} }`;
const program = fileURLToPath(new URL('server.ts', import.meta.url));
const longestMs = 60_000;

const { values, positionals } = argsOrUsage('services', '[--turns N]', () =>
  readOptions({ allowPositionals: true, options: { turns: { type: 'string', default: '3' } } }),
);
const turns = Number(values.turns);
const chosen = lines.filter(({ name }) => positionals.length === 0 || positionals.some((part) => name.includes(part)));
if (chosen.length === 0 || !Number.isInteger(turns) || turns < 1) {
  const names = lines.map(({ name }) => `  ${name}\n`).join('');
  process.stderr.write(`haumea bench services: --turns is a number from 1 on, and the lines are\n${names}`);
  process.exit(2);
}

/** Calls a second of wall time, and processor time of a call. */
interface Figures {
  readonly perSecond: number;
  readonly cpuUs: number;
}

async function figuresOf(line: Line): Promise<Figures> {
  const folder = mkdtempSync(join(tmpdir(), 'haumea-bench-'));
  const child = startNode(['--import', 'tsx', program, line.protocol], 'others', {}, true);
  try {
    const [port] = await once(child, 'message');
    const command = [fileURLToPath(new URL('../../dist/main.mjs', import.meta.url))];
    const env = { KUIPER__BASIC__ENABLEPRIVATENET: 'true' };
    const engine = await EngineUnderTest.open({ url: '', pid: 0, command, env, sourceProps: {}, folder });
    try {
      await install(engine, line, Number(port), folder);
      let best: Figures = { perSecond: 0, cpuUs: Number.POSITIVE_INFINITY };
      for (let turn = 0; turn <= turns; turn++) {
        const one = await turnOf(engine, line, `turn${turn}`, folder);
        // The first is for the compiler.
        if (turn > 0 && one.perSecond > best.perSecond) best = one;
      }
      return best;
    } finally {
      await engine.close();
    }
  } finally {
    await endProcess(child);
    rmSync(folder, { recursive: true, force: true });
  }
}

async function install(engine: EngineUnderTest, line: Line, port: number, folder: string): Promise<void> {
  const { protocol, scheme, concurrency } = line;
  const address = `${scheme}://127.0.0.1:${port}`;
  const one = { address, protocol, schemaType: 'protobuf', schemaFile: 'shop.proto', options: { concurrency } };
  const file = join(folder, 'shop.zip');
  const description = JSON.stringify({ about: {}, interfaces: { one } });
  writeFileSync(
    file,
    writeZip([
      { name: 'shop.json', content: description },
      { name: 'schemas/shop.proto', content: schema },
    ]),
  );
  await engine.call('POST', '/services', { name: 'shop', file: `file://${file}` });
  const rows = Array.from({ length: line.rows }, (_, n) => `{"item":"tea","n":${n}}\n`);
  writeFileSync(join(folder, 'rows.in'), rows.join(''));
  await engine.call('PUT', '/metadata/sources/file/confKeys/lines', { fileType: 'lines' });
}

async function turnOf(engine: EngineUnderTest, line: Line, id: string, folder: string): Promise<Figures> {
  const source = `DATASOURCE="${join(folder, 'rows.in')}", TYPE="file", FORMAT="json", CONF_KEY="lines"`;
  await engine.call('POST', '/streams', { sql: `CREATE STREAM ${id} () WITH (${source})` });
  const cpu = engine.cpuMs();
  const begin = performance.now();
  await engine.createRule(id, `SELECT price(item, n).price AS p FROM ${id}`, { nop: {} });
  let out = 0;
  let status: Record<string, unknown> = {};
  for (; out < line.rows; await pause(50)) {
    if (performance.now() - begin > longestMs)
      throw new Error(`${out} of ${line.rows} rows: ${JSON.stringify(status)}`);
    status = await engine.status(id);
    out = Number(status.sink_nop_0_0_records_out_total ?? 0);
  }
  const ms = performance.now() - begin;
  const cpuMs = engine.cpuMs() - cpu;
  const failures = Object.entries(status).filter(([name, value]) => /exceptions_total$/.test(name) && value !== 0);
  if (failures.length > 0) throw new Error(`calls have failed: ${JSON.stringify(status)}`);
  await engine.remove(`/rules/${id}`);
  await engine.remove(`/streams/${id}`);
  return { perSecond: (line.rows / ms) * 1000, cpuUs: (cpuMs * 1000) / line.rows };
}

const widest = Math.max(...lines.map(({ name }) => name.length));
let code = 0;
for (const line of chosen) {
  const name = line.name.padEnd(widest);
  try {
    const { perSecond, cpuUs } = await figuresOf(line);
    const aim = 'atLeast' in line ? `, aim ${line.atLeast}` : '';
    console.log(
      `${name} ${perSecond.toFixed(0).padStart(7)} calls/s${aim}; ${cpuUs.toFixed(1)} µs of the processor each`,
    );
  } catch (error) {
    code = 1;
    console.log(`${name} failed: ${reasonOf(error)}`);
  }
}
process.exit(code);
