/** A port of its own for the metrics document, where monitoring must not reach the rest of REST. */
import type { RequestListener, Server } from 'node:http';
import { pipeline, Readable } from 'node:stream';
import { createHttpServer } from '../base/net/http-server.js';
import type { MetricsService } from '../services/observe/metrics.js';

/** Makes a server that knows one path; `guard` stands before every request. */
export function createMetricsServer(
  metrics: MetricsService,
  guard: (handle: RequestListener) => RequestListener = (handle) => handle,
): Server {
  const handle: RequestListener = (request, response) => {
    const isKnown = request.url?.split('?', 1)[0] === '/metrics';
    const isGet = request.method === 'GET' || request.method === 'HEAD';
    if (!isKnown || !isGet) {
      response.writeHead(isKnown ? 405 : 404, { 'Content-Type': 'text/plain; charset=utf-8' });
      response.end(isKnown ? '' : '404 page not found\n');
      return;
    }
    metrics.document().then(
      (document) => {
        response.writeHead(200, { 'Content-Type': 'text/plain; version=0.0.4; charset=utf-8' });
        if (request.method === 'HEAD') response.end();
        // A client that is gone is no failure.
        else pipeline(Readable.from(document.pieces()), response, () => {});
      },
      () => response.writeHead(500).end(),
    );
  };
  return createHttpServer(guard(handle));
}
