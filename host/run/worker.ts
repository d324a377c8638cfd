/** Entry of a data plane thread: takes control messages, runs the data plane, reports in batches. */
import { parentPort, workerData } from 'node:worker_threads';
import { createKernel } from '../../kernels/index.js';
import { AllowedPaths } from '../base/allowed-paths.js';
import { type Details, type Level, LineLogger } from '../base/log.js';
import { callHost } from '../functions/registry.js';
import { DataPlane } from './data-plane.js';
import { Heartbeat } from './heartbeat.js';
import type { Control, Report, WorkerSettings } from './protocol.js';

const beatMs = 250;
/** Log lines on their way; what comes faster than the control plane takes it is left out and counted. */
const maxLogLines = 10_000;

const port = parentPort;
if (port === null) throw new Error('the data plane runs in a worker thread');
const settings = workerData as WorkerSettings;
const heartbeat = new Heartbeat(settings.heartbeat);
// The first beat says that the code is loaded.
heartbeat.beat();
setInterval(() => heartbeat.beat(), beatMs);

let reports: Report[] = [];
let logLines = 0;
let droppedLines = 0;

function report(item: Report): void {
  if (reports.length === 0) {
    setImmediate(() => {
      const batch = reports;
      reports = [];
      logLines = 0;
      port?.postMessage(batch);
      if (droppedLines > 0) {
        const message = `${droppedLines} log lines were left out`;
        droppedLines = 0;
        report({ kind: 'log', level: 'warn', message });
      }
    });
  }
  reports.push(item);
}

/** Carries lines to the control plane: those about a run, or about the data plane. */
class LogLines extends LineLogger {
  constructor(private readonly run?: number) {
    super();
  }

  protected override line(level: Level, message: string, details?: Details): void {
    if (logLines++ < maxLogLines) report({ kind: 'log', level, message, details, run: this.run });
    else droppedLines++;
  }
}

const plane = DataPlane.open({
  kernel: (calls) =>
    createKernel(calls, undefined, {
      measuresAll: settings.measuresAll,
      maxValueBytes: settings.maxValueBytes,
      ...(settings.maxMemoryBytes > 0 ? { maxMemoryBytes: settings.maxMemoryBytes } : {}),
    }),
  call: callHost,
  report,
  log: new LogLines(),
  logOf: (run) => new LogLines(run),
  heartbeat,
  measuresAll: settings.measuresAll,
  paths: new AllowedPaths(settings.paths),
  coalesceMs: settings.coalesceMs,
  flushTimeoutMs: settings.flushTimeoutMs,
  maxReconnectMs: settings.maxReconnectMs,
  // Outside of any connector's callback, so that none can swallow it: the thread ends and is replaced.
  broken: (error) =>
    setImmediate(() => {
      throw error;
    }),
});

async function take(control: Control): Promise<void> {
  const running = await plane;
  switch (control.kind) {
    case 'start':
      return running.start(control.rule);
    case 'stop':
      return running.stop(control.run);
    case 'status':
      return report({ kind: 'status', seq: control.seq, status: running.status(control.run) });
    case 'trace':
      return running.trace(control.run, control.order);
    case 'usage':
      return report({ kind: 'usage', seq: control.seq, cpu: running.cpuTimes() });
    case 'memory':
      return report({ kind: 'memory', seq: control.seq, bytes: running.memory() });
    case 'tables':
      return report({ kind: 'tables', seq: control.seq, rows: running.tableRows(control.run) });
    case 'failures':
      return report({ kind: 'failures', seq: control.seq, failures: await running.failures() });
    case 'latencies':
      return report({ kind: 'latencies', seq: control.seq, rules: running.latencies() });
    case 'close':
      await running.close();
      // After the reports that are still waiting.
      setImmediate(() => setImmediate(() => process.exit(0)));
      return;
    default:
      return control satisfies never;
  }
}

port.on('message', (batch: Control[]) => {
  for (const control of batch) void take(control);
});
