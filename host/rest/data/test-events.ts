/** Event streams of test rules, at the data server. */

import type { Audience, EventFeed } from '../../services/rules/tests.js';
import type { DataServer } from './data-server.js';
import { EventStream } from './event-stream.js';

export class TestEvents implements Audience {
  /** By the ids of the tests. */
  readonly #streams = new Map<string, EventStream>();

  constructor(private readonly dataServer: DataServer) {}

  get port(): number {
    return this.dataServer.port;
  }

  /** The event stream of a test, for listeners at REST; undefined when there is no such test. */
  stream(id: string): EventStream | undefined {
    return this.#streams.get(id);
  }

  async open(id: string): Promise<EventFeed> {
    const { dataServer } = this;
    const events = new EventStream();
    this.#streams.set(id, events);
    const path = `/test/${id}`;
    await dataServer.serve('GET', path, (_request, response) => events.open(response));
    return {
      send: async (payloads) => void (await events.send(payloads)),
      note: (text) => events.note(text),
      close: () => {
        dataServer.remove('GET', path);
        if (this.#streams.get(id) === events) this.#streams.delete(id);
        events.close();
      },
    };
  }
}
