/** Pages of rows, each of which is asked for by the cursor of the one before. */
import { once } from 'node:events';
import { Agent, createServer, get, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Line, message, type Row, worked } from '../../line.js';

const rows = 200_000;
const pageRows = 1000;

export const lines: readonly Line[] = [
  {
    name: 'httppull in',
    connectors: ['httppull'],
    rows,
    open: async () => {
      const pages: string[] = [];
      for (let from = 0; from < rows; from += pageRows) {
        const part = Array.from({ length: pageRows }, (_, i) => message(from + i));
        pages.push(`[${part.join(',')}]`);
      }
      const server = createServer((incoming, response) => {
        const page = Number(new URL(incoming.url!, 'http://x').searchParams.get('page'));
        const link = page + 1 < pages.length ? { link: `</rows?page=${page + 1}>; rel="next"` } : {};
        response.writeHead(200, { 'content-type': 'application/json', ...link }).end(pages[page]);
      });
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      const props = { url, method: 'get', interval: '1h', nextLink: 'link' };
      return {
        address: url,
        source: { type: 'httppull', dataSource: '/rows?page=0', props },
        close: async () => {
          server.closeAllConnections();
          server.close();
        },
      };
    },
    plain: async ({ address, ready }) => {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      void ready();
      let path: string | undefined = '/rows?page=0';
      while (path !== undefined) {
        const answer = await once(get(`${address}${path}`, { agent }), 'response');
        const response = answer[0] as IncomingMessage;
        const parts: Buffer[] = [];
        for await (const part of response) parts.push(part);
        for (const row of JSON.parse(Buffer.concat(parts).toString()) as Row[]) worked(row);
        path = /<([^>]*)>; rel="next"/.exec(String(response.headers.link ?? ''))?.[1];
      }
    },
  },
];
