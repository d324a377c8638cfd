/** Event streams of test rules, at the data server. */

import type { Audience, EventFeed } from '../../services/rules/tests.js';
import type { DataServer } from './data-server.js';
import { EventStream } from './event-stream.js';

export class TestEvents implements Audience {
  constructor(private readonly dataServer: DataServer) {}

  get port(): number {
    return this.dataServer.port;
  }

  async open(id: string): Promise<EventFeed> {
    const { dataServer } = this;
    const events = new EventStream();
    const path = `/test/${id}`;
    await dataServer.serve('GET', path, (_request, response) => events.open(response));
    return {
      send: async (payloads) => void (await events.send(payloads)),
      note: (text) => events.note(text),
      close: () => {
        dataServer.remove('GET', path);
        events.close();
      },
    };
  }
}
