/** The feeder's process, as the harness sees it. */
import type { ChildProcess } from 'node:child_process';
import { endProcess, startNode } from '../process.js';
import type { FeederFigures, FeedOrder } from './feeder.js';

/** A result of a rule: name of the rule's topic, JSON text, when it came (epoch ms). */
export interface Result {
  readonly topic: string;
  readonly text: string;
  readonly at: number;
}

type Report =
  | FeederFigures
  | { event: 'ready'; port: number }
  | { event: 'subscribed' }
  | ({ event: 'result' } & Result);

export class Feeder {
  figures: FeederFigures = { event: 'figures', sent: 0, rows: 0, lost: 0, repeated: 0, expected: 0 };
  #isEnded = false;
  readonly #waiting = new Map<string, () => void>();
  #errors = '';

  private constructor(
    readonly child: ChildProcess,
    private readonly taken: (result: Result) => void,
  ) {
    child.stderr?.on('data', (chunk) => {
      this.#errors = (this.#errors + chunk).slice(-2000);
    });
    child.on('message', (report) => this.#take(report as Report));
    child.once('exit', () => {
      this.#isEnded = true;
      for (const resolve of this.#waiting.values()) resolve();
    });
  }

  port = 0;

  /** Starts the process; `taken` is called for each result. */
  static async open(program: readonly string[], taken: (result: Result) => void): Promise<Feeder> {
    const feeder = new Feeder(startNode([...program, 'bench', '--role', 'feeder'], 'anywhere', {}, true), taken);
    await feeder.next('ready');
    return feeder;
  }

  send(order: Omit<FeedOrder, 'order'>): void {
    this.child.send({ order: 'send', ...order });
  }

  /** Ends the sending; resolves when nothing more is sent. */
  async stop(): Promise<void> {
    const sent = this.next('sent');
    this.child.send({ order: 'stop' });
    await sent;
  }

  /** Resolves with the figures of now. */
  async tell(): Promise<FeederFigures> {
    const told = this.next('figures');
    this.child.send({ order: 'tell' });
    await told;
    return this.figures;
  }

  async next(event: Report['event']): Promise<void> {
    await new Promise<void>((resolve) => this.#waiting.set(event, resolve));
    if (this.#isEnded) throw new Error(`the feeder has ended: ${this.#errors}`);
  }

  #take(report: Report): void {
    if (report.event === 'result') this.taken(report);
    else if (report.event === 'ready') this.port = report.port;
    else if (report.event !== 'subscribed') this.figures = report;
    this.#waiting.get(report.event)?.();
    this.#waiting.delete(report.event);
  }

  async close(): Promise<void> {
    await endProcess(this.child);
  }
}
