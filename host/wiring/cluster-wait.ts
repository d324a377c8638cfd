/** A node whose NATS is away at its start: REST answers every request with the reason until it is there. */
import type { Config } from '../base/config/config.js';
import { reasonOf } from '../base/errors.js';
import type { Logger } from '../base/log/log.js';
import { closeHttp, createHttpServer, listen, refuse, tlsOf } from '../base/net/http-server.js';
import { isAway } from '../cluster/away.js';
import { clusterErrors } from '../cluster/errors.js';

const pauseMs = 1000;

export interface WaitOptions {
  readonly config: Config['basic'];
  readonly log: Logger;
  /** Tells the operator why the server does not start yet. */
  readonly note: (line: string) => void;
  /** Resolves when the server is to end. */
  readonly stopped: Promise<unknown>;
}

/** Tries until NATS is there; throws what does not pass by itself, and when the server is to end before. */
export async function whenThere<T>(open: () => Promise<T>, options: WaitOptions): Promise<T> {
  let rest: { tell(reason: string): void; close(): Promise<void> } | undefined;
  const stopped = options.stopped.then(() => true);
  try {
    for (;;) {
      try {
        return await open();
      } catch (error) {
        if (!isAway(error)) throw error;
        rest ??= await waitingRest(options);
        rest.tell(reasonOf(error));
      }
      const pause = new Promise<false>((resolve) => setTimeout(() => resolve(false), pauseMs));
      if (await Promise.race([stopped, pause])) throw clusterErrors.stopped();
    }
  } finally {
    await rest?.close();
  }
}

async function waitingRest({ config, log, note }: WaitOptions) {
  let reason = '';
  const { restIp, restPort, restTls } = config;
  const tls = await tlsOf(restTls, 'basic.restTls', log);
  const http = createHttpServer((_request, response) => refuse(response, 503, clusterErrors.waits(reason).message), {
    tls,
  });
  await listen(http, restIp, restPort, 'REST', 'basic.restPort');
  return {
    tell: (next: string) => {
      if (next === reason) return;
      reason = next;
      log.warn(clusterErrors.waits(reason).message);
      note(clusterErrors.waits(reason).message);
    },
    close: () => closeHttp(http, 0),
  };
}
