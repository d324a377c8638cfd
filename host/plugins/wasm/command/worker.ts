/** Thread entry: a program of a plugin, from `_start` to its end. */
import { readFileSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import { reasonOf } from '../../../base/errors.js';
import type { CommandCode } from '../../define.js';
import { refuelFunction } from '../adapters/refuel.js';
import { FileTree, unpackFiles } from '../guest/files/tree.js';
import { importsOf } from '../guest/imports.js';
import { startsOf, Wasi, WasiExit, type WasiStreams } from '../guest/wasi.js';
import { fuelExport, refuelExport } from '../passes/meter.js';
import { Pipe } from './pipe.js';
import { CommandState } from './state.js';

/** First data of the thread. */
export interface CommandStart {
  readonly code: CommandCode;
  readonly args: readonly string[];
  readonly input: SharedArrayBuffer;
  /** Undefined: output goes to the log. */
  readonly output: SharedArrayBuffer | undefined;
  readonly state: SharedArrayBuffer;
}

/** A message of the thread; an empty one wakes the data plane. */
export interface FromCommand {
  readonly line?: string;
  /** Number of lines that were left out. */
  readonly linesLost?: number;
  readonly isLoaded?: true;
  /** Exit code of a program that has ended itself. */
  readonly exit?: number;
  /** Why it was ended. */
  readonly failure?: string;
}

/** Most lines for the log in a second; others are counted. */
const maxLines = 100;
const longestSleepMs = 3_600_000;
/** Fuel bounds no program: its thread is ended from outside. */
const endless = (1n << 62n) - 1n;

const { code, args, ...shared } = workerData as CommandStart;
const state = new CommandState(shared.state);
const input = new Pipe(shared.input);
const output = shared.output && new Pipe(shared.output);
const tell = (message: FromCommand) => parentPort?.postMessage(message);

let [lines, linesLost, since] = [0, 0, 0];

function log(line: string): void {
  const now = performance.now();
  if (now - since > 1000) {
    if (linesLost > 0) tell({ linesLost });
    [lines, linesLost, since] = [0, 0, now];
  }
  if (lines++ < maxLines) tell({ line });
  else linesLost++;
}

function wake(pipe: Pipe): void {
  if (pipe.takeWait()) tell({});
}

const streams: WasiStreams = {
  read: (parts) => {
    input.handle();
    wake(input);
    if (input.available === 0 && !input.isEnded) {
      state.wait(() => input.waitUntil(() => input.available > 0 || input.isEnded));
    }
    let read = 0;
    for (const part of parts) read += input.readInto(part);
    wake(input);
    return read;
  },
  write:
    output &&
    ((parts) => {
      output.writeAll(parts, (wait) => {
        wake(output);
        state.wait(wait);
      });
      wake(output);
    }),
  sleep: (ms) => state.sleep(Math.min(ms, longestSleepMs)),
};

function run(): number {
  const files = code.files === undefined ? undefined : new FileTree(unpackFiles(readFileSync(code.files)));
  const module = new WebAssembly.Module(readFileSync(code.path));
  let exports: Readonly<Record<string, unknown>> = {};
  const memory = () => exports.memory as WebAssembly.Memory;
  const calls = { take: () => state.called(memory()) };
  const fuel = () => calls;
  const grants = { ...code.wasi, args: [...(code.wasi?.args ?? []), ...args] };
  const host = { log, fault: () => {} };
  const wasi = new Wasi({ name: code.name, memory, fuel }, grants, host, { files, streams });
  // A program gives no results: what it says of one is a line of the log.
  const outcome = { state: { value: 0 }, failed: log, isNull: () => false };
  const imports = importsOf(code, host, { memory, fuel, outcome, kit: undefined, wasi });
  ({ exports } = new WebAssembly.Instance(module, imports));
  const left = exports[fuelExport] as { value: bigint };
  left.value = endless;
  const table = exports[refuelExport] as { set(at: number, refuel: () => void): void } | undefined;
  table?.set(
    0,
    refuelFunction(() => {
      left.value = endless;
    }),
  );
  state.called(memory());
  tell({ isLoaded: true });
  try {
    for (const name of startsOf(exports)) (exports[name] as () => void)();
  } catch (error) {
    if (error instanceof WasiExit) return error.code;
    throw error instanceof RangeError ? new Error('the stack is exhausted') : error;
  } finally {
    wasi.flush();
    if (linesLost > 0) tell({ linesLost });
  }
  return 0;
}

try {
  tell({ exit: run() });
} catch (error) {
  tell({ failure: reasonOf(error) });
}
