/** Thread entry: a module on a thread of its own. */
import { parentPort, workerData } from 'node:worker_threads';
import type { HostColumns } from '../../../../kernels/api.js';
import { HostPart } from '../../../../kernels/gen/layouts.js';
import type { CarriedColumns } from '../../../../kernels/values/carried.js';
import { reasonOf } from '../../../base/errors.js';
import type { CodeHost, CodeMemory, LoadedCode } from '../../define.js';
import { loadModule } from '../load.js';
import { BatchMemory } from './batch-memory.js';
import type { FromIsolated, IsolatedStart, ToIsolated } from './thread.js';

/** Most lines of a batch that are sent; others are counted. */
const maxLines = 100;

const { code, ...start } = workerData as IsolatedStart;
const batches = new BatchMemory();

let lines: string[] = [];
let linesLost = 0;
let faults: string[] = [];
/** Bytes of the module, now and when its room was measured. */
let [held, heldThen] = [0, 0];
let { room } = start;
const memory: CodeMemory = {
  holds: (bytes) => {
    if (room !== undefined && bytes > held && bytes - heldThen > room.free) return room.reason;
    held = bytes;
    return undefined;
  },
  room: () => room ?? { free: Number.POSITIVE_INFINITY, reason: '' },
};
const host: CodeHost = {
  memory,
  log: (line) => {
    if (lines.length < maxLines) lines.push(line);
    else linesLost++;
  },
  fault: (reason) => faults.push(reason),
};

function tell(what: Pick<FromIsolated, 'batch' | 'results' | 'failure'>): void {
  const message: FromIsolated = { ...what, lines, linesLost, faults, memoryBytes: held };
  [lines, linesLost, faults] = [[], 0, []];
  parentPort?.postMessage(message, what.results === undefined ? [] : [what.results.bytes.buffer]);
}

function run(loaded: LoadedCode, { entry, args, hasStates }: ToIsolated): CarriedColumns {
  const call = (columns: HostColumns) => {
    columns.name = entry;
    loaded.call(entry, columns);
  };
  return batches.run(args, call, hasStates === true ? HostPart.step : 0);
}

try {
  const loaded = await loadModule(code, host);
  parentPort?.on('message', (asked: ToIsolated) => {
    const { batch } = asked;
    if (asked.room !== undefined) [room, heldThen] = [asked.room, held];
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
