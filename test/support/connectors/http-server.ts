/** A server that notes the requests it gets and answers as a test says. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Received {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

export interface HttpDouble {
  readonly url: string;
  readonly port: number;
  readonly received: Received[];
  /** Bodies of the requests so far. */
  readonly bodies: string[];
  /** Answers the requests from now on; 200 without it. */
  answer: (response: ServerResponse, request: Received, number: number) => void;
  close(): Promise<void>;
}

export async function openHttp(port = 0): Promise<HttpDouble> {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method = '', url = '', headers } = request;
      const one = { method, url, headers, body: Buffer.concat(chunks).toString() };
      received.push(one);
      double.answer(response, one, received.length);
    });
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const { port: actual } = server.address() as AddressInfo;
  const double: HttpDouble = {
    url: `http://127.0.0.1:${actual}`,
    port: actual,
    received,
    get bodies() {
      return received.map(({ body }) => body);
    },
    answer: (response) => response.end('{}'),
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return double;
}
