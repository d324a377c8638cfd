/** Server-sent events, both ways: of a server, and to a client of the data server. */
import { once } from 'node:events';
import { type ClientRequest, createServer, get, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { freePort } from '../../../../test/support/harness.js';
import { Arrivals } from '../../arrivals.js';
import { type Line, message, work } from '../../line.js';
import { eachLine, writeTo } from '../../lines-of-file.js';

const rows = 200_000;
/** Events of a write of the sender. */
const atOnce = 500;
const eventStream = { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' };

/** The data of events, which have one line each. */
async function eachEvent(response: IncomingMessage, take: (data: string) => void): Promise<void> {
  let rest = '';
  response.setEncoding('utf8');
  for await (const chunk of response as AsyncIterable<string>) {
    const events = (rest + chunk).split('\n\n');
    rest = events.pop()!;
    for (const event of events) {
      for (const line of event.split('\n')) if (line.startsWith('data:')) take(line.slice(5).trimStart());
    }
  }
}

async function opened(url: string): Promise<{ request: ClientRequest; response: IncomingMessage }> {
  const request = get(url, { headers: { accept: 'text/event-stream' } });
  const [response] = await once(request, 'response');
  return { request, response };
}

export const lines: readonly Line[] = [
  {
    name: 'sse in',
    connectors: ['sse'],
    rows,
    open: async () => {
      let latest: ServerResponse | undefined;
      const server = createServer((_request, response) => {
        response.writeHead(200, eventStream).flushHeaders();
        latest = response;
      });
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      return {
        address: url,
        source: { type: 'sse', dataSource: '/rows', props: { url } },
        feed: async () => {
          for (let from = 0; from < rows; from += atOnce) {
            const part = Array.from({ length: atOnce }, (_, i) => `data: ${message(from + i)}\n\n`);
            await writeTo(latest!, part.join(''));
          }
        },
        close: async () => {
          server.closeAllConnections();
          server.close();
        },
      };
    },
    plain: async ({ address, ready }) => {
      const { request, response } = await opened(`${address}/rows`);
      void ready();
      let count = 0;
      const ends = eachEvent(response, (data) => {
        work(data);
        if (++count === rows) request.destroy();
      });
      await ends.catch((error: Error) => {
        if (count < rows) throw error;
      });
    },
  },
  {
    name: 'sse out',
    connectors: ['sse'],
    rows,
    open: async () => {
      const arrivals = new Arrivals(rows);
      let request: ClientRequest | undefined;
      return {
        address: `http://127.0.0.1:${await freePort()}`,
        sink: { type: 'sse', props: { endpoint: '/rows' } },
        begin: (isChecked) => {
          request?.destroy();
          arrivals.begin(isChecked);
        },
        listen: async (at) => {
          const client = await opened(`${at}/rows`);
          request = client.request;
          eachEvent(client.response, (data) => arrivals.take(data)).catch(() => {});
        },
        arrived: () => arrivals.count,
        check: () => arrivals.check(),
        close: async () => void request?.destroy(),
      };
    },
    plain: async ({ address, file, ready }) => {
      let response: ServerResponse | undefined;
      const server = createServer((_request, client) => {
        client.writeHead(200, eventStream).flushHeaders();
        response = client;
      });
      server.listen(Number(new URL(address).port), '127.0.0.1');
      await once(server, 'listening');
      await ready();
      await eachLine(file, (text) => writeTo(response!, `data: ${work(text)}\n\n`));
      response!.end();
      await once(response!, 'finish');
    },
  },
];
