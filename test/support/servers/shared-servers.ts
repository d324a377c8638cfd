/** Servers that the runner starts for all files of a run: one of each kind, when the first file asks for it. */
import type { ChildProcess } from 'node:child_process';
import type { Asked, Offered, Place, SharedKind } from './ask-runner.js';

interface Shared {
  readonly place: Place;
  close(): Promise<void>;
}

const openers: Readonly<Record<SharedKind, () => Promise<Shared>>> = {
  kafka: async () => {
    const { openKafka } = await import('./kafka.js');
    const { brokers, saslBrokers, tlsBrokers, close } = await openKafka();
    return { place: { brokers, saslBrokers, tlsBrokers }, close };
  },
  mariadb: async () => {
    const { openMariadb } = await import('./mariadb.js');
    const { port, close } = await openMariadb();
    return { place: { port }, close };
  },
  postgres: async () => {
    const { openPostgres } = await import('./postgres.js');
    const { port, close } = await openPostgres();
    return { place: { port }, close };
  },
  rabbitmq: async () => {
    const { openRabbit } = await import('./rabbitmq.js');
    const { port, close } = await openRabbit();
    return { place: { port }, close };
  },
};

export class SharedServers {
  readonly #opened = new Map<SharedKind, Promise<Shared>>();

  /** Answers what a test file asks for; one that is to run apart from the others starts its own servers. */
  serve(file: ChildProcess, isApart: boolean): void {
    file.on('message', async ({ asksFor: kind }: Asked) => {
      const shared = isApart ? undefined : await this.#of(kind).catch(() => undefined);
      const answer: Offered = { offers: kind, ...(shared && { place: shared.place }) };
      if (file.connected) file.send(answer);
    });
  }

  #of(kind: SharedKind): Promise<Shared> {
    let opened = this.#opened.get(kind);
    if (opened === undefined) {
      opened = openers[kind]();
      this.#opened.set(kind, opened);
    }
    return opened;
  }

  async close(): Promise<void> {
    const all = await Promise.allSettled(this.#opened.values());
    for (const one of all) if (one.status === 'fulfilled') await one.value.close();
  }
}
