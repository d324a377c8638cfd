/**
 * Messages through each connector, beside a plain Node.js program with the same library that does the same job: reads
 * the JSON of a message, writes that of three of its members. Only rows that are through are counted, and in a first
 * turn each is looked at on the other side.
 *
 *     npm run bench -- connectors [--turns N] [--record] [PART OF A NAME ...]
 *
 * With --record the figures go into measured.json, from which `npm run gen` has them for docs/connectors.md. Lines that
 * were not run, or could not, keep theirs.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { reasonOf } from '../../host/base/errors.js';
import { readOptions } from '../../host/base/program/options.js';
import { argsOrUsage } from '../line-args.js';
import { fileOfRows, type Line } from './line.js';
import { files, linesIn } from './lines/index.js';
import { type LineResult, runLine } from './run.js';

const { values, positionals } = argsOrUsage('connectors', '[--turns N] [--record]', () =>
  readOptions({
    allowPositionals: true,
    options: { turns: { type: 'string', default: '3' }, record: { type: 'boolean', default: false } },
  }),
);
const turns = Number(values.turns);
/** Files whose packages are not there. */
const broken: string[] = [];
const lines: { readonly home: string; readonly line: Line }[] = [];
for (const home of files) {
  try {
    for (const line of await linesIn(home)) lines.push({ home, line });
  } catch (error) {
    broken.push(`${home}: its lines can't run: ${reasonOf(error)}`);
  }
}
const isAsked = (name: string) => positionals.length === 0 || positionals.some((part) => name.includes(part));
const chosen = lines.filter(({ line }) => isAsked(line.name));
if (chosen.length === 0 || !Number.isInteger(turns) || turns < 1) {
  const names = lines.map(({ line }) => `  ${line.name}\n`).join('');
  process.stderr.write(`haumea bench connectors: --turns is a number from 1 on, and the lines are\n${names}`);
  process.exit(2);
}
const measured = fileURLToPath(new URL('measured.json', import.meta.url));

/** Puts the figures of a line in the place of its former ones. */
function record(result: LineResult): void {
  const known = existsSync(measured) ? (JSON.parse(readFileSync(measured, 'utf8')).lines as LineResult[]) : [];
  const isLine = (name: string) => broken.length > 0 || lines.some(({ line }) => line.name === name);
  const others = known.filter(({ name }) => name !== result.name && isLine(name));
  const all = [...others, result].sort((a, b) => (a.name < b.name ? -1 : 1));
  writeFileSync(measured, `${JSON.stringify({ lines: all }, null, 2)}\n`);
}

/** Why a line has no figures. */
class LeftOut extends Error {}

async function resultOf(line: Line, home: string): Promise<LineResult> {
  const reason = line.missing?.();
  if (reason !== undefined) throw new LeftOut(reason);
  const folder = mkdtempSync(join(tmpdir(), 'haumea-bench-'));
  try {
    const file = fileOfRows(folder, line.rows);
    const side = await line.open(folder, file);
    try {
      return await runLine(line, home, side, folder, file, turns);
    } finally {
      await side.close();
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const perSecond = (value: number) => (value < 10_000 ? value.toFixed(0) : `${Math.round(value / 1000)} k`).padStart(7);
const widest = Math.max(...lines.map(({ line }) => line.name.length));
let code = broken.length > 0 ? 1 : 0;
for (const reason of broken) console.log(reason);
// A client of a server that is gone, which nobody waits for any more, ends no other line.
process.on('unhandledRejection', (error) => console.error(`unhandled: ${reasonOf(error)}`));
for (const { line, home } of chosen) {
  const name = line.name.padEnd(widest);
  try {
    const result = await resultOf(line, home);
    const { engine, plain } = result;
    if (values.record) record(result);
    const ratio = (plain.cpuNs / engine.cpuNs).toFixed(1);
    console.log(
      `${name} ${perSecond(engine.perSecond)} rows/s, ${engine.cpuNs.toFixed(0).padStart(6)} ns/row; ` +
        `plain program ${perSecond(plain.perSecond)} rows/s, ${plain.cpuNs.toFixed(0).padStart(6)} ns/row: ${ratio}×`,
    );
  } catch (error) {
    if (error instanceof LeftOut) console.log(`${name} left out: ${error.message}`);
    else {
      code = 1;
      console.log(`${name} failed: ${reasonOf(error)}`);
    }
  }
}
process.exit(code);
