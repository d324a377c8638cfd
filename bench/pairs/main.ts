/**
 * Statements beside plain JavaScript programs of the same job, without sockets: lines of JSON in, lines of JSON out,
 * the same bytes on both sides. The time of the processor counts, the least of all turns.
 *
 *     npm run bench -- micro [--rounds N] [--kernel FILE] [PART OF A NAME ...]
 */
import { readFileSync } from 'node:fs';
import { reasonOf } from '../../host/base/errors.js';
import { readOptions } from '../../host/base/program/options.js';
import { nearest } from '../../host/base/text/nearest.js';
import { pairs } from './index.js';

interface Chosen {
  readonly chosen: typeof pairs;
  readonly rounds: number;
  readonly module: WebAssembly.Module | undefined;
}

/** Reads the command line; throws what is wrong with it. */
function read(): Chosen {
  const { values, positionals } = readOptions({
    allowPositionals: true,
    options: { rounds: { type: 'string', default: '8' }, kernel: { type: 'string' } },
  });
  const module =
    values.kernel === undefined ? undefined : new WebAssembly.Module(new Uint8Array(readFileSync(values.kernel)));
  const rounds = Number(values.rounds);
  if (!(Number.isInteger(rounds) && rounds > 0))
    throw new Error(`--rounds: "${values.rounds}" is not a number above 0`);
  const names = pairs.map(({ name }) => name);
  const unknown = positionals.find((part) => !names.some((name) => name.includes(part)));
  if (unknown !== undefined) {
    const meant = nearest(unknown, new Set(names.flatMap((name) => name.split(/[^\w-]+/))));
    const hint = meant === undefined ? `; there are\n  ${names.join('\n  ')}` : `, did you mean ${meant}?`;
    throw new Error(`no name has the part "${unknown}"${hint}`);
  }
  const isChosen = (name: string) => positionals.length === 0 || positionals.some((part) => name.includes(part));
  return { chosen: pairs.filter(({ name }) => isChosen(name)), rounds, module };
}

function readOrEnd(): Chosen {
  try {
    return read();
  } catch (error) {
    process.stderr.write(`haumea bench micro: ${reasonOf(error)}\n`);
    process.exit(2);
  }
}

const { chosen, rounds, module } = readOrEnd();
// A kernel may have to be compiled for it: not for a command line that is wrong.
const { measure } = await import('./measure.js');
for (const pair of chosen) {
  const { name, engine, program, kept } = measure(pair, rounds, module);
  console.log(
    `${name.padEnd(46)} ${engine.toFixed(0).padStart(6)} ns/row, plain JavaScript ` +
      `${program.toFixed(0).padStart(6)}: ${(program / engine).toFixed(1)}×`,
  );
  if (kept !== undefined) {
    console.log(
      `${''.padEnd(46)} ${kept.engine.toFixed(0).padStart(6)} bytes kept for a row, there ${kept.program.toFixed(0)}`,
    );
  }
}
