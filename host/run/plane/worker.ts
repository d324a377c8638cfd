/** Entry of a data plane thread: takes commands and questions, runs the data plane, tells and answers in batches. */
import '../../../kernels/nodes/specs/pattern.js';
import { parentPort, workerData } from 'node:worker_threads';
import { createKernel } from '../../../kernels/index.js';
import { AllowedPaths } from '../../base/files/allowed-paths.js';
import { type Details, type Level, LineLogger } from '../../base/log/log.js';
import { openPrivateNet } from '../../base/net/reach.js';
import { manifestLoaders } from '../../connectors/gen/loaders.js';
import { useManifestLoaders } from '../../connectors/loaded.js';
import { zoneOffsetMs } from '../../functions/calendar/time-zone.js';
import { callHost } from '../../functions/registry.js';
import { Fence } from '../link/fence.js';
import { FencedHeartbeat, Heartbeat } from '../link/heartbeat.js';
import { Inbox } from '../link/inbox.js';
import type { FromPlane, ToPlane, WorkerSettings } from '../link/protocol.js';
import { answerTo } from '../link/questions.js';
import { ShareOrders } from '../link/shared-states.js';
import { UnpackedStarts } from '../link/starts-by-form.js';
import { DataPlane } from './data-plane.js';

const beatMs = 250;
/** Log lines on their way; what comes faster than the control plane takes it is left out and counted. */
const maxLogLines = 10_000;

const port = parentPort;
if (port === null) throw new Error('the data plane runs in a worker thread');
const settings = workerData as WorkerSettings;
useManifestLoaders(manifestLoaders);
openPrivateNet(settings.isPrivateNetOpen);
const heartbeat = heartbeatOf(settings);
// The first beat says that the code is loaded.
heartbeat.beat();
setInterval(() => heartbeat.beat(), beatMs);

function heartbeatOf({ heartbeat, fence }: WorkerSettings): Heartbeat {
  return fence === undefined ? new Heartbeat(heartbeat) : new FencedHeartbeat(heartbeat, new Fence(fence));
}

let waiting: FromPlane[] = [];
let logLines = 0;
let droppedLines = 0;

function send(message: FromPlane): void {
  if (waiting.length === 0) {
    setImmediate(() => {
      const batch = waiting;
      waiting = [];
      logLines = 0;
      port?.postMessage(batch);
      if (droppedLines > 0) {
        const text = `${droppedLines} log lines were left out`;
        droppedLines = 0;
        send({ kind: 'log', level: 'warn', message: text });
      }
    });
  }
  waiting.push(message);
}

/** Carries lines to the control plane: those about a run, or about the data plane. */
class LogLines extends LineLogger {
  constructor(private readonly run?: number) {
    super();
  }

  protected override line(level: Level, message: string, details?: Details): void {
    if (logLines++ < maxLogLines) send({ kind: 'log', level, message, details, run: this.run });
    else droppedLines++;
  }
}

/** Number of rows that take about five milliseconds to send. */
const longRows = 8192;

const plane = DataPlane.open({
  kernel: (calls) =>
    createKernel(calls, undefined, {
      measuresAll: settings.measuresAll,
      maxValueBytes: settings.maxValueBytes,
      longRows,
      ...(settings.maxMemoryBytes > 0 ? { maxMemoryBytes: settings.maxMemoryBytes } : {}),
    }),
  call: callHost,
  zoneOffset: zoneOffsetMs,
  tell: send,
  log: new LogLines(),
  logOf: (run) => new LogLines(run),
  heartbeat,
  measuresAll: settings.measuresAll,
  paths: new AllowedPaths(settings.paths),
  coalesceMs: settings.coalesceMs,
  flushTimeoutMs: settings.flushTimeoutMs,
  maxReconnectMs: settings.maxReconnectMs,
  maxSqlConnections: settings.maxSqlConnections,
  maxUserMemoryBytes: settings.maxUserMemoryBytes,
  planes: settings.planes,
  // Outside of any connector's callback, so that none can swallow it: the thread ends and is replaced.
  broken: (error) =>
    setImmediate(() => {
      throw error;
    }),
});

void plane.then((running) => running.shared('notices', () => send));
// Checkpoints count where all nodes of a cluster find them.
const orders = new ShareOrders(send);
if (settings.fence !== undefined) void plane.then((running) => running.shared('checkpoint.states', () => orders));

const starts = new UnpackedStarts();

async function take(message: Exclude<ToPlane, { kind: 'startAs' }>, running: DataPlane): Promise<void> {
  switch (message.kind) {
    case 'ask':
      return send(await answerTo(message, running));
    case 'shared':
      return orders.take(message);
    case 'start':
      return running.start(message.rule);
    case 'stop':
      return running.stop(message.run, message.comesBack);
    case 'common':
      return (await import('./state/checkpoint/common/member.js')).carryOut(running, message);
    case 'move':
      return running.move(message.runs);
    case 'startAll':
      running.starting.isMoreComing = message.isMoreComing;
      return;
    case 'release':
      return running.release(message.run, message.planes);
    case 'link':
      return running.exchange?.link(message.plane, message.out, message.back);
    case 'unlink':
      return running.exchange?.unlink(message.plane);
    case 'trace':
      return running.trace(message.run, message.order);
    case 'renew':
      return running.renew(message.run, message);
    case 'replace':
      return running.replace(message.owner, message.functions);
    case 'portable':
      return running.portables.replace(message.name, message.code);
    case 'settle':
      return running.settle(message.number, message.order);
    case 'close':
      await running.close();
      // After what still waits to be sent.
      setImmediate(() => setImmediate(() => process.exit(0)));
      return;
    default:
      return message satisfies never;
  }
}

const inbox = new Inbox<ToPlane[]>();
port.on('message', (batch: ToPlane[]) => inbox.add(batch));
// A question that fails is answered so; a command that does would leave a run half done, so the thread ends and is
// replaced.
void plane.then((running) =>
  inbox.open((batch) => {
    for (const packed of batch) for (const message of starts.of(packed)) void take(message, running);
  }),
);
