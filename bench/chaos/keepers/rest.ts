/** A server that answers requests with rows; killed, it breaks off all of them. */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { freePort } from '../processes.js';
import { HeardRows, type Keeper, KeptVictim } from './keeper.js';

export async function open(): Promise<Keeper> {
  const port = await freePort();
  const output = new HeardRows();
  /** Answers that wait until it goes on. */
  let waiting: (() => void)[] | undefined;
  let server: Server | undefined;
  const kept = {
    start: async () => {
      const started = createServer((request, response) => {
        const parts: Buffer[] = [];
        request.on('data', (part: Buffer) => parts.push(part));
        request.on('error', () => {});
        request.on('end', () => {
          const answer = () => {
            const text = Buffer.concat(parts).toString();
            if (text !== '') output.heard.push(text);
            response.end('{}');
          };
          if (waiting === undefined) answer();
          else waiting.push(answer);
        });
      });
      started.listen(port, '127.0.0.1');
      await once(started, 'listening');
      server = started;
    },
    kill: async () => {
      const ended = server;
      server = undefined;
      if (ended === undefined) return;
      ended.closeAllConnections();
      ended.close();
      await once(ended, 'close');
    },
    pause: () => {
      waiting = [];
    },
    resume: () => {
      const answers = waiting ?? [];
      waiting = undefined;
      for (const answer of answers) answer();
    },
  };
  await kept.start();
  return {
    process: new KeptVictim('rest', kept),
    output,
    action: { rest: { url: `http://127.0.0.1:${port}/rows`, method: 'post', sendSingle: true } },
    close: kept.kill,
  };
}
