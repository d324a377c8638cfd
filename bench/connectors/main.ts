/**
 * Messages through each connector, beside a plain Node.js program with the same library that does the same job: reads
 * the JSON of a message, writes that of three of its members. Only rows that are through are counted.
 *
 *     npm run bench -- connectors [--turns N] [PART OF A NAME ...]
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { reasonOf } from '../../host/base/errors.js';
import { readOptions } from '../../host/base/program/options.js';
import { lines } from './lines/index.js';
import { runLine } from './run.js';

const { values, positionals } = readOptions({
  allowPositionals: true,
  options: { turns: { type: 'string', default: '3' } },
});
const chosen = lines.filter(({ name }) => positionals.length === 0 || positionals.some((part) => name.includes(part)));
if (chosen.length === 0) {
  process.stderr.write(`haumea bench connectors: there are\n  ${lines.map(({ name }) => name).join('\n  ')}\n`);
  process.exit(2);
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
    const { engine, plain } = await runLine(line, folder, Number(values.turns));
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
