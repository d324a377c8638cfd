/** Requests with batches of rows; the plain program sends batches of the same size. */
import { once } from 'node:events';
import { Agent, createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Arrivals } from '../../arrivals.js';
import { type Line, work } from '../../line.js';
import { eachLine } from '../../lines-of-file.js';

const rows = 500_000;
const batchSize = 500;

export const lines: readonly Line[] = [
  {
    name: 'rest in batches',
    connectors: ['rest'],
    rows,
    open: async () => {
      const arrivals = new Arrivals(rows);
      const server = createServer((incoming, response) => {
        const parts: Buffer[] = [];
        incoming.on('data', (part: Buffer) => parts.push(part));
        incoming.on('end', () => {
          arrivals.takeRows(JSON.parse(Buffer.concat(parts).toString()));
          response.end();
        });
      });
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/rows`;
      return {
        address: url,
        sink: { type: 'rest', props: { url, method: 'post', batchSize, lingerInterval: '100ms' } },
        begin: (isChecked) => arrivals.begin(isChecked),
        arrived: () => arrivals.count,
        check: () => arrivals.check(),
        close: async () => {
          server.closeAllConnections();
          server.close();
        },
      };
    },
    plain: async ({ address, file, ready }) => {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      void ready();
      let batch: string[] = [];
      const send = () =>
        new Promise<void>((resolve, reject) => {
          const body = `[${batch.join(',')}]`;
          batch = [];
          const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
          const sent = request(address, { method: 'POST', agent, headers }, (response) => {
            response.resume();
            response.on('end', resolve);
          });
          sent.on('error', reject);
          sent.end(body);
        });
      await eachLine(file, (text) => {
        batch.push(work(text));
        return batch.length < batchSize ? undefined : send();
      });
      if (batch.length > 0) await send();
    },
  },
];
