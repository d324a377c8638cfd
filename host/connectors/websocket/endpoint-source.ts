/**
 * Takes the messages of clients that connect to an endpoint of the data server. While the sinks are full, the data
 * server does not read from them.
 */
import { EndpointLink } from '../endpoints.js';
import type { Source, SourceContext } from '../running.js';

export class EndpointSource implements Source {
  readonly #link: EndpointLink;

  constructor(
    path: string,
    readonly context: SourceContext,
  ) {
    const endpoint = context.dataSource === '' ? path : context.dataSource;
    this.#link = new EndpointLink('websocket', 'source', endpoint, (message) => {
      if (message.kind === 'data') this.#write(message.seq, message.frames);
      else if (message.kind === 'refused') context.exception(message.reason);
    });
    context.onFlow(
      () => this.#link.flow(true),
      () => this.#link.flow(false),
    );
  }

  open(): Promise<void> {
    return this.#link.open(this.context.isFull);
  }

  async close(): Promise<void> {
    this.#link.close();
  }

  #write(seq: number, frames: Uint8Array): void {
    this.context.write(frames);
    void this.context.whenTaken().then(() => this.#link.taken(seq));
  }
}
