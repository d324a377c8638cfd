/**
 * Owns the thread of a data plane: starts it when the first rule needs it, carries messages, watches its heartbeat, and
 * ends a thread that hangs. Its death never reaches the control plane: it is reported, and a new one is made when
 * needed.
 */
import type { Worker } from 'node:worker_threads';
import { reasonOf } from '../../base/errors.js';
import type { Logger } from '../../base/log/log.js';
import { threadEntry } from '../../base/program/bundle.js';
import { startThread } from '../../base/program/heap.js';
import { type AtWork, Heartbeat } from '../link/heartbeat.js';
import type { Command, FromPlane, Notice, ToPlane, WorkerSettings } from '../link/protocol.js';
import { type AnswerTo, type ArgsOf, OpenQuestions, type Question, unasked } from '../link/questions.js';
import type { SharedAnswer, SharedStates, ShareNotice } from '../link/shared-states.js';
import { PackedStarts } from '../link/starts-by-form.js';

export interface SupervisorOptions extends Omit<WorkerSettings, 'heartbeat' | 'plane'> {
  log: Logger;
  /** Number of the data plane, from 0. */
  number: number;
  /** Keeps the state of rules for other nodes; undefined on a server alone. */
  states?: SharedStates | undefined;
  /** A thread without a heartbeat for so long counts as hung, ms. */
  hangMs: number;
}

/** Hears of what goes on in data planes. */
export interface PlaneListener {
  noticed(notice: Notice): void;
  /** To be called when all runs of a thread are gone. `atWork` is the rule at whose work it ended, if it was one. */
  lost(plane: Supervisor, reason: string, atWork: AtWork | undefined): void;
}

interface Thread {
  worker: Worker;
  heartbeat: Heartbeat;
  readonly starts: PackedStarts;
  watch: NodeJS.Timeout;
  exited: Promise<void>;
  /** The thread was ended on purpose. */
  isKilled: boolean;
}

/**
 * Room for new objects, MB. With 1 MB, rows that wait for a client library or a lookup are copied again and again
 * (docs/decisions/0026).
 */
const newObjectsMb = 4;
/** V8 counts the room three times: it has two halves, and as much again for large objects. */
const resourceLimits = { maxYoungGenerationSizeMb: 3 * newObjectsMb };
/** A thread that starts may be silent so long, ms: on a busy machine loading its code takes seconds. */
const startMs = 30_000;

export class Supervisor {
  #thread: Thread | undefined;
  #waiting: ToPlane[] = [];
  readonly #questions = new OpenQuestions((question, reason) => {
    this.options.log.error(`the data plane can't answer ${question}: ${reason}`);
  });
  #isClosing = false;

  constructor(
    private readonly listener: PlaneListener,
    readonly options: SupervisorOptions,
  ) {}

  get number(): number {
    return this.options.number;
  }

  /** Gives a command; what is sent in one turn of the event loop goes together. */
  command(command: Command): void {
    this.#send(command);
  }

  /** Asks the data plane; without a thread the answer is that of the question's terms. */
  ask<Q extends Question>(question: Q, ...args: ArgsOf<Q>): Promise<AnswerTo<Q>> {
    if (this.#thread === undefined) return Promise.resolve(unasked(question));
    return this.#questions.ask((ask) => this.#send(ask), question, args);
  }

  /** As `ask`, of a thread that is started for it. */
  askAnyway<Q extends Question>(question: Q, ...args: ArgsOf<Q>): Promise<AnswerTo<Q>> {
    this.#running();
    return this.ask(question, ...args);
  }

  #send(message: ToPlane): void {
    if (this.#waiting.length === 0) {
      setImmediate(() => {
        const batch = this.#waiting;
        this.#waiting = [];
        if (this.#isClosing) return;
        const { worker, starts } = this.#running();
        worker.postMessage(starts.pack(batch));
      });
    }
    this.#waiting.push(message);
  }

  /** Ends the thread; its rules get the time given to send what they have. */
  async close(timeoutMs: number): Promise<void> {
    this.#isClosing = true;
    const thread = this.#thread;
    if (thread === undefined) return;
    clearInterval(thread.watch);
    const rest: ToPlane[] = [...this.#waiting.splice(0), { kind: 'close' }];
    thread.worker.postMessage(thread.starts.pack(rest));
    const timer = setTimeout(() => void thread.worker.terminate(), timeoutMs);
    await thread.exited;
    clearTimeout(timer);
  }

  /** Thread id of the data plane, for tests and tools; undefined when it does not run. */
  get threadId(): number | undefined {
    return this.#thread?.worker.threadId;
  }

  /** Ends the thread at once, as a crash would, but a crash that is no rule's doing: whatever was at work just then. */
  async kill(): Promise<void> {
    const thread = this.#thread;
    if (thread === undefined) return;
    thread.isKilled = true;
    await thread.worker.terminate();
  }

  #running(): Thread {
    this.#thread ??= this.#start();
    return this.#thread;
  }

  #start(): Thread {
    const memory = Heartbeat.allocate();
    const { coalesceMs, flushTimeoutMs, maxReconnectMs, maxSqlConnections, measuresAll, log } = this.options;
    const { paths, isPrivateNetOpen, planes, fence } = this.options;
    const { maxMemoryBytes, maxUserMemoryBytes, maxValueBytes } = this.options;
    const settings: WorkerSettings = {
      plane: this.number,
      planes,
      heartbeat: memory,
      coalesceMs,
      flushTimeoutMs,
      maxReconnectMs,
      maxSqlConnections,
      maxMemoryBytes,
      maxUserMemoryBytes,
      maxValueBytes,
      measuresAll,
      paths,
      isPrivateNetOpen,
      fence,
    };
    const entry = threadEntry('worker.mjs', 'host/run/plane/worker.ts');
    const worker = startThread(entry, { workerData: settings, resourceLimits }, newObjectsMb);
    const heartbeat = new Heartbeat(memory);
    let reason = 'the data plane ended unexpectedly';
    let exited = () => {};
    const thread: Thread = {
      worker,
      heartbeat,
      starts: new PackedStarts(),
      watch: this.#watch(worker, heartbeat, (ms) => {
        reason = `the data plane did not answer for ${ms} ms`;
      }),
      exited: new Promise((resolve) => {
        exited = resolve;
      }),
      isKilled: false,
    };
    worker.on('message', (batch: FromPlane[]) => {
      for (const message of batch) {
        if (message.kind === 'answer') this.#questions.take(message);
        else if (message.kind === 'share') void this.#share(message, worker);
        else this.listener.noticed(message);
      }
    });
    worker.on('error', (error) => {
      reason = `the data plane failed: ${reasonOf(error)}`;
    });
    worker.on('exit', () => {
      clearInterval(thread.watch);
      this.#thread = undefined;
      this.#questions.giveUp();
      exited();
      if (this.#isClosing) return;
      log.error(reason);
      // Commands to the dead thread are dropped: its rules start anew.
      this.#waiting = [];
      this.listener.lost(this, reason, thread.isKilled ? undefined : heartbeat.atWork);
    });
    return thread;
  }

  /** The outcome goes to the thread that has asked: another one in its place has orders of the same numbers. */
  async #share({ number, order }: ShareNotice, worker: Worker): Promise<void> {
    const { states } = this.options;
    const done = states?.carryOut(order) ?? Promise.reject(new Error('the server is no node of a cluster'));
    const reason = await done.then(() => undefined, reasonOf);
    worker.postMessage([{ kind: 'shared', number, reason } satisfies SharedAnswer]);
  }

  #watch(worker: Worker, heartbeat: Heartbeat, hung: (ms: number) => void): NodeJS.Timeout {
    const { hangMs } = this.options;
    let beats = -1;
    let since = performance.now();
    return setInterval(
      () => {
        const now = performance.now();
        if (heartbeat.beats !== beats) {
          beats = heartbeat.beats;
          since = now;
        } else if (now - since >= (beats === 0 ? Math.max(hangMs, startMs) : hangMs)) {
          hung(Math.round(now - since));
          void worker.terminate();
        }
      },
      Math.max(50, hangMs / 10),
    ).unref();
  }
}
