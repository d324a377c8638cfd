/** Thread entry: a module that runs by itself. The columns of a batch are laid into a memory as they lie in that of a kernel. */
import { parentPort, workerData } from 'node:worker_threads';
import { type CarriedColumns, carriedBase, carriedPlace, carry } from '../../../kernels/carried.js';
import { argument } from '../../../kernels/gen/layouts.js';
import { hostCallImport } from '../../../kernels/host-call.js';
import { ValueAccess } from '../../../kernels/value.js';
import { reasonOf } from '../../base/errors.js';
import type { CodeHost, LoadedCode, WasmCode } from '../define.js';
import type { FromIsolated, ToIsolated } from './isolated.js';
import { loadModule } from './load.js';

const pageBytes = 65_536;
/** Lines that go out with a batch; others are counted. */
const maxLines = 100;
/** What the values of a batch may take, in longest values. */
const maxValues = 4;

const code = workerData as WasmCode;
const memory = new WebAssembly.Memory({ initial: 2 });
let end = 0;
let counted = 0;
let longest = Number.POSITIVE_INFINITY;

function reserve(size: number, isCounted: boolean): number {
  if (isCounted) counted += size;
  if (counted > maxValues * longest) return 0;
  const at = end;
  const next = (at + size + 7) & ~7;
  const missing = next - memory.buffer.byteLength;
  if (missing > 0) {
    try {
      memory.grow(Math.ceil(missing / pageBytes));
    } catch {
      return 0;
    }
  }
  end = next;
  return at;
}

let lines: string[] = [];
let linesLost = 0;
let faults: string[] = [];
const host: CodeHost = {
  log: (line) => {
    if (lines.length < maxLines) lines.push(line);
    else linesLost++;
  },
  fault: (reason) => faults.push(reason),
};

function tell(what: Pick<FromIsolated, 'batch' | 'results' | 'failure'>): void {
  const message: FromIsolated = { ...what, lines, linesLost, faults };
  [lines, linesLost, faults] = [[], 0, []];
  parentPort?.postMessage(message, what.results === undefined ? [] : [what.results.bytes.buffer]);
}

/** Lays a batch down and has the function run over it: table of arguments, selection, results; from `carriedBase` on the arguments. */
function run(loaded: LoadedCode, { entry, args }: ToIsolated): CarriedColumns {
  const { count, columns, bytes } = args;
  longest = args.longest;
  counted = 0;
  end = carriedBase;
  if (reserve(bytes.length, false) === 0) throw new Error('there is no memory for the arguments of a batch');
  new Uint8Array(memory.buffer).set(bytes, carriedBase);
  const access = new ValueAccess(memory, reserve, longest);
  const view = access.view();
  const table = 64;
  const sel = table + columns * argument.size;
  const vals = (sel + 4 * count + 7) & ~7;
  const tags = vals + 8 * count;
  for (let i = 0; i < columns; i++) {
    const place = carriedPlace(args, i);
    view.setUint32(table + i * argument.size + argument.at.vals, carriedBase + place.vals, true);
    view.setUint32(table + i * argument.size + argument.at.tags, carriedBase + place.tags, true);
    view.setUint32(table + i * argument.size + argument.at.stride, 1, true);
  }
  for (let k = 0; k < count; k++) view.setUint32(sel + 4 * k, k, true);
  const call = hostCallImport(
    () => access,
    (_fn, given) => {
      given.name = entry;
      loaded.call(entry, given);
    },
  );
  call(0, table, columns, sel, count, vals, tags);
  return carry(access, [{ vals, tags }], count);
}

try {
  const loaded = await loadModule(code, host);
  parentPort?.on('message', (asked: ToIsolated) => {
    const { batch } = asked;
    try {
      tell({ batch, results: run(loaded, asked) });
    } catch (error) {
      tell({ batch, failure: reasonOf(error) });
    }
  });
  tell({});
} catch (error) {
  tell({ failure: reasonOf(error) });
}
