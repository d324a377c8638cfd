/**
 * How fast the heaps of the process may grow. V8 doubles the room for new objects whenever as much has outlived it: a
 * server that was given a thousand rules kept 30 MB for nothing else. It also keeps the pages of old objects that
 * making the rules took (docs/decisions/0026).
 */
import { PerformanceObserver } from 'node:perf_hooks';
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Worker, type WorkerOptions } from 'node:worker_threads';

/** Room for new objects stays as it is at the start, 1 MB twice. */
const newObjects = '--semi-space-growth-factor=1';
/** Flag of that room, MB; 0: as V8 has it. */
const roomAtStart = '--min-semi-space-size';

/** Time without garbage collection after which the thread counts as quiet, ms. */
const quietMs = 1000;
/** Growth since the last tidying below which a heap is left alone: a share, plus bytes. */
const growthShare = 0.25;
const growthBytes = 4 * 1024 * 1024;

/** Time between corrections of flags while a thread starts, ms. */
const correctionMs = 20;

let isKeptSmall = false;

/**
 * From now on low memory counts for more than the time of garbage collection. To be called once, in the main thread.
 */
export function keepHeapsSmall(): void {
  isKeptSmall = true;
  setFlagsFromString(newObjects);
  tidyWhenQuiet();
}

/**
 * From now on WebAssembly that is loaded stays as it was compiled first: for a process that ends, a better form of the
 * code comes too late and takes most of the processor time of its end.
 */
export function compileNoBetter(): void {
  setFlagsFromString('--wasm-tiering-budget=2000000000');
}

/**
 * Collects the garbage of this thread and gives its pages back, each time the heap has grown and the thread is quiet.
 */
function tidyWhenQuiet(): void {
  let collect: (() => void) | undefined;
  const committed = (): number => getHeapStatistics().total_heap_size;
  let kept = committed();
  const timer = setTimeout(() => {
    const now = committed();
    if (now > kept * (1 + growthShare) + growthBytes) {
      collect ??= collector();
      collect();
    }
    kept = Math.min(now, committed());
  }, quietMs);
  timer.unref();
  new PerformanceObserver(() => timer.refresh()).observe({ entryTypes: ['gc'] });
}

/** V8 gives its collector to contexts that are made while the flag is set. */
function collector(): () => void {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  setFlagsFromString('--no-expose-gc');
  return () => {
    // Without the flag half empty pages stay.
    setFlagsFromString('--compact-on-every-full-gc');
    collect();
    setFlagsFromString('--no-compact-on-every-full-gc');
  };
}

/** Starts a thread; `newObjectsMb` is its room for new objects, twice, which does not grow: by default 1. */
export function startThread(entry: URL, options: WorkerOptions, newObjectsMb = 0): Worker {
  const isLarge = isKeptSmall && newObjectsMb > 0;
  // Heaps are made with the flags of the process at that time.
  if (isLarge) setFlagsFromString(`${roomAtStart}=${newObjectsMb}`);
  const worker = new Worker(entry, options);
  if (!isKeptSmall) return worker;
  // V8 corrects its flags when it makes a heap, and raises a factor below 2: on a busy machine long before the thread
  // tells that it runs.
  const timer = setInterval(() => setFlagsFromString(newObjects), correctionMs).unref();
  const made = () => {
    clearInterval(timer);
    setFlagsFromString(newObjects);
    if (isLarge) setFlagsFromString(`${roomAtStart}=0`);
  };
  worker.once('online', made);
  worker.once('exit', made);
  return worker;
}
