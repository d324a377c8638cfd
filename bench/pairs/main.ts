/**
 * Statements beside plain JavaScript programs of the same job, without sockets: lines of JSON in, lines of JSON out, the same
 * bytes on both sides. The time of the processor counts, the least of all turns.
 *
 *     npm run bench -- micro [--rounds N] [--kernel FILE] [PART OF A NAME ...]
 */
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { pairs } from './index.js';
import { measure } from './measure.js';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { rounds: { type: 'string', default: '8' }, kernel: { type: 'string' } },
});
const module =
  values.kernel === undefined ? undefined : new WebAssembly.Module(new Uint8Array(readFileSync(values.kernel)));
const rounds = Number(values.rounds);
if (!(Number.isInteger(rounds) && rounds > 0)) throw new Error(`--rounds: "${values.rounds}" is not a number above 0`);
const chosen = pairs.filter(({ name }) => positionals.length === 0 || positionals.some((part) => name.includes(part)));
if (chosen.length === 0) throw new Error(`no name has such a part; known: ${pairs.map(({ name }) => name).join(', ')}`);

for (const pair of chosen) {
  const { name, engine, program } = measure(pair, rounds, module);
  console.log(
    `${name.padEnd(46)} ${engine.toFixed(0).padStart(6)} ns/row, plain JavaScript ${program.toFixed(0).padStart(6)}: ${(program / engine).toFixed(1)}×`,
  );
}
