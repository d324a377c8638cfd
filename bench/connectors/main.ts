/**
 * Messages through each connector, beside a plain Node.js program with the same library that does the same job: reads
 * the JSON of a message, writes that of three of its members. Only rows that are through are counted.
 *
 *     npm run bench -- connectors [--turns N] [--record] [PART OF A NAME ...]
 *
 * With --record the figures go into measured.json, from which `npm run gen` has them for docs/connectors.md.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { reasonOf } from '../../host/base/errors.js';
import { readOptions } from '../../host/base/program/options.js';
import { lines } from './lines/index.js';
import { type LineResult, runLine } from './run.js';

const { values, positionals } = readOptions({
  allowPositionals: true,
  options: { turns: { type: 'string', default: '3' }, record: { type: 'boolean', default: false } },
});
const chosen = lines.filter(({ name }) => positionals.length === 0 || positionals.some((part) => name.includes(part)));
if (chosen.length === 0) {
  process.stderr.write(`haumea bench connectors: there are\n  ${lines.map(({ name }) => name).join('\n  ')}\n`);
  process.exit(2);
}
const measured = fileURLToPath(new URL('measured.json', import.meta.url));

/** Puts the figures of a line in the place of its former ones. */
function record(result: LineResult): void {
  const known = existsSync(measured) ? (JSON.parse(readFileSync(measured, 'utf8')).lines as LineResult[]) : [];
  const others = known.filter(({ name }) => name !== result.name && lines.some((line) => line.name === name));
  const all = [...others, result].sort((a, b) => (a.name < b.name ? -1 : 1));
  writeFileSync(measured, `${JSON.stringify({ lines: all }, null, 2)}\n`);
}

const thousands = (value: number) => `${Math.round(value / 1000)} k`.padStart(7);
let code = 0;
for (const line of chosen) {
  const reason = line.missing?.();
  if (reason !== undefined) {
    console.log(`${line.name.padEnd(18)} left out: ${reason}`);
    continue;
  }
  const folder = mkdtempSync(join(tmpdir(), 'haumea-bench-'));
  try {
    const result = await runLine(line, folder, Number(values.turns));
    const { engine, plain } = result;
    if (values.record) record(result);
    const ratio = (plain.cpuNs / engine.cpuNs).toFixed(1);
    console.log(
      `${line.name.padEnd(18)} ${thousands(engine.perSecond)} rows/s, ${engine.cpuNs.toFixed(0).padStart(6)} ns/row; ` +
        `plain program ${thousands(plain.perSecond)} rows/s, ${plain.cpuNs.toFixed(0).padStart(6)} ns/row: ${ratio}×`,
    );
  } catch (error) {
    code = 1;
    console.log(`${line.name.padEnd(18)} failed: ${reasonOf(error)}`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
process.exit(code);
