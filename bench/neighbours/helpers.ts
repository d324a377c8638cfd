/**
 * The processes beside the engine, as the trials see them: what takes the results, and a plain client to compare with.
 */
import type { ChildProcess } from 'node:child_process';
import { endProcess, startNode } from '../process.js';
import type { Counts } from './count.js';

type Answer = { event: string; port?: number };

class Helper {
  readonly #waiting: ((answer: Answer) => void)[] = [];

  protected constructor(readonly child: ChildProcess) {
    child.on('message', (answer) => this.#waiting.shift()?.(answer as Answer));
  }

  protected ask(message: object): Promise<Answer> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      this.child.send(message);
    });
  }

  async counts(sent: number): Promise<Counts> {
    return (await this.ask({ order: 'count', sent })) as unknown as Counts;
  }

  close(): Promise<void> {
    return endProcess(this.child);
  }
}

export class Receiver extends Helper {
  port = 0;

  static async open(role: string[]): Promise<Receiver> {
    const receiver = new Receiver(startNode([...role, 'receiver'], 'others', {}, true));
    receiver.port = (await receiver.tell('listen')).port ?? 0;
    return receiver;
  }

  get url(): string {
    return `tcp://127.0.0.1:${this.port}`;
  }

  tell(order: 'listen' | 'away' | 'back' | 'stuck' | 'flow'): Promise<Answer> {
    return this.ask({ order });
  }
}

export class Witness extends Helper {
  static async open(role: string[], url: string, topic: string): Promise<Witness> {
    const witness = new Witness(startNode([...role, 'witness'], 'others', {}, true));
    await witness.ask({ order: 'watch', url, topic });
    return witness;
  }
}
