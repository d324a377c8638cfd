/** The load generator's process, as the harness sees it. */
import type { ChildProcess } from 'node:child_process';
import { endProcess, startNode } from './process.js';
import type { LatencyEvent, SendOrder, SentEvent } from './sender.js';

type Event = { event: string; port?: number; reason?: string };

export class Generator {
  private subscribedCount = 0;
  private waiting: { event: string; resolve: (e: Event) => void; reject: (e: Error) => void }[] = [];
  private errors = '';

  private constructor(
    private readonly child: ChildProcess,
    public port: number,
  ) {
    child.stderr?.on('data', (chunk) => {
      this.errors = (this.errors + chunk).slice(-2000);
    });
    child.on('message', (message) => this.take(message as Event));
    child.on('exit', () => {
      for (const w of this.waiting.splice(0)) w.reject(new Error(`the generator has ended: ${this.errors}`));
    });
  }

  /** Starts the process and lets it encode the messages of the workload. */
  static async open(role: string[], workload: string, dataSet: string, payloads?: string[]): Promise<Generator> {
    const generator = new Generator(startNode([...role, 'sender'], 'others', {}, true), 0);
    const ready = generator.next('ready');
    generator.child.send({ order: 'prepare', workload, dataSet, payloads });
    generator.port = (await ready).port ?? 0;
    return generator;
  }

  /** Resolves when a client has subscribed since the last call. */
  async subscribed(): Promise<void> {
    if (this.subscribedCount === 0) await this.next('subscribed');
    this.subscribedCount = 0;
  }

  async send(order: Omit<SendOrder, 'order'>): Promise<SentEvent> {
    const sent = this.next('sent');
    this.child.send({ order: 'send', ...order });
    return (await sent) as unknown as SentEvent;
  }

  async latencies(): Promise<LatencyEvent> {
    const answer = this.next('latencies');
    this.child.send({ order: 'latencies' });
    return (await answer) as unknown as LatencyEvent;
  }

  close(): Promise<void> {
    return endProcess(this.child);
  }

  private next(event: string): Promise<Event> {
    return new Promise((resolve, reject) => this.waiting.push({ event, resolve, reject }));
  }

  private take(message: Event): void {
    if (message.event === 'subscribed') this.subscribedCount++;
    const at = this.waiting.findIndex((w) => w.event === message.event || message.event === 'failed');
    const waiter = at >= 0 ? this.waiting.splice(at, 1)[0] : undefined;
    if (message.event === 'failed') waiter?.reject(new Error(`generator: ${message.reason}`));
    else waiter?.resolve(message);
  }
}
