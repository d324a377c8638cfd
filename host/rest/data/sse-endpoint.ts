/** Event streams of one path: what its sinks send goes to all clients as events with ids. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { EndpointBounds } from './endpoint-bounds.js';
import { EventStream } from './event-stream.js';

/** Comments go out so often, ms, so that nothing in between takes the connection for idle. */
const keepAliveMs = 15_000;
/** Events of so many bytes are kept for clients that come back. */
const keptBytes = 256 << 10;

export class SseEndpoint {
  readonly #events = new EventStream({ keptBytes });
  readonly #timer = setInterval(() => this.#events.beat(), keepAliveMs).unref();

  constructor(private readonly bounds: EndpointBounds) {}

  open(request: IncomingMessage, response: ServerResponse): void {
    const refusal = this.bounds.refusal(this.#events.listeners);
    if (refusal !== undefined) {
      response.writeHead(503, { 'Content-Type': 'text/plain; charset=utf-8', 'Retry-After': '1' }).end(refusal);
      return;
    }
    const last = request.headers['last-event-id'];
    this.#events.open(response, typeof last === 'string' ? last : undefined);
  }

  send(messages: readonly Buffer[]): Promise<number> {
    return this.#events.send(messages.map((message) => message.toString()));
  }

  close(): void {
    clearInterval(this.#timer);
    this.#events.close();
  }
}
