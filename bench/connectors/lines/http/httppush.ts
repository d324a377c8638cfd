/** Bodies with batches of rows that a client posts, some requests at a time. */
import { once } from 'node:events';
import { Agent, createServer, request } from 'node:http';
import { freePort } from '../../../../test/support/harness.js';
import { type Line, message, type Row, worked } from '../../line.js';

const rows = 200_000;
const batchSize = 500;
/** Requests under way. */
const atOnce = 4;

/** Posts a body; resolves when it is taken. */
function post(url: string, agent: Agent, body: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
    const sent = request(url, { method: 'POST', agent, headers }, (response) => {
      response.resume();
      response.on('end', () => {
        if (response.statusCode === 200) resolve();
        else reject(new Error(`the reader answers ${response.statusCode}`));
      });
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

export const lines: readonly Line[] = [
  {
    name: 'httppush in',
    connectors: ['httppush'],
    rows,
    open: async () => ({
      address: `http://127.0.0.1:${await freePort()}`,
      source: { type: 'httppush', dataSource: '/rows', props: { method: 'POST' } },
      feed: async (at) => {
        const agent = new Agent({ keepAlive: true, maxSockets: atOnce });
        let next = 0;
        const client = async () => {
          while (next < rows) {
            const part = Array.from({ length: batchSize }, (_, i) => message(next + i));
            next += batchSize;
            await post(`${at}/rows`, agent, `[${part.join(',')}]`);
          }
        };
        await Promise.all(Array.from({ length: atOnce }, client));
        agent.destroy();
      },
      close: async () => {},
    }),
    plain: async ({ address, ready }) => {
      let count = 0;
      let finished = () => {};
      const all = new Promise<void>((resolve) => {
        finished = resolve;
      });
      const server = createServer((incoming, response) => {
        const parts: Buffer[] = [];
        incoming.on('data', (part: Buffer) => parts.push(part));
        incoming.on('end', () => {
          const found = JSON.parse(Buffer.concat(parts).toString()) as Row[];
          for (const row of found) worked(row);
          count += found.length;
          response.end();
          if (count >= rows) finished();
        });
      });
      server.listen(Number(new URL(address).port), '127.0.0.1');
      await once(server, 'listening');
      void ready();
      await all;
      // The last answers go out.
      await new Promise((resolve) => setImmediate(resolve));
    },
  },
];
