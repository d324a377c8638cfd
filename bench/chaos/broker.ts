/** A real broker that keeps sessions and messages over its end, as far as it is told to. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { pause } from '../process.js';
import { freePort, Repeatable } from './processes.js';

const startMs = 10_000;
/** Configuration of a broker that queues undelivered messages without a bound. */
const unbounded: readonly string[] = ['max_queued_messages 0'];

export const keepings = ['change', 'end', 'never'] as const;
/**
 * When mosquitto writes what it has to disk: after each change, when it ends, or never. It does not wait for that
 * before it confirms: killed hard it loses some of what it confirmed even with the first, and no engine can help that.
 */
export type Keeping = (typeof keepings)[number];

export class Broker {
  private constructor(
    readonly process: Repeatable,
    readonly port: number,
  ) {}

  /**
   * `limits` are lines of its configuration; none: those that it has by itself, 20 messages on their way and 1,000 that
   * wait.
   */
  static async open(folder: string, limits = unbounded, keeping: Keeping = 'end'): Promise<Broker> {
    const port = await freePort();
    mkdirSync(folder, { recursive: true });
    const config = join(folder, 'mosquitto.conf');
    const own = process.getuid?.() === 0 ? ['user root'] : [];
    const lines = [
      `listener ${port} 127.0.0.1`,
      'allow_anonymous true',
      `persistence ${keeping !== 'never'}`,
      `persistence_location ${folder}/`,
      ...limits,
      ...(keeping === 'change' ? ['autosave_on_changes true', 'autosave_interval 1'] : []),
      ...own,
    ];
    writeFileSync(config, `${lines.join('\n')}\n`);
    const broker = new Broker(new Repeatable('mosquitto', ['mosquitto', '-c', config], {}), port);
    await broker.start();
    return broker;
  }

  close(): Promise<void> {
    return this.process.end('SIGKILL');
  }

  get url(): string {
    return `tcp://127.0.0.1:${this.port}`;
  }

  async start(): Promise<void> {
    this.process.start();
    const end = performance.now() + startMs;
    while (!(await answers(this.port))) {
      if (performance.now() > end) throw new Error(`mosquitto does not answer: ${this.process.output}`);
      await pause(20);
    }
  }
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
