/** Metadata of messages, as texts. */
import type { ConsumeMessage } from 'amqplib';
import { Recent } from '../../base/structures/recent.js';

const mostKinds = 1000;
/** Properties that come with a message where its sender has set them. */
const names = [
  'messageId',
  'correlationId',
  'replyTo',
  'contentType',
  'type',
  'appId',
  'timestamp',
  'priority',
] as const;

export class Metas {
  /** Texts by exchange, routing key and whether a message comes again. */
  readonly #plain = new Recent<string, Buffer>(mostKinds, (kind) => {
    const [exchange, routingKey, again] = kind.split('\0');
    return Buffer.from(JSON.stringify({ exchange, routingKey, redelivered: again === 'again' }));
  });

  /** The last message without properties: the next one mostly has its text. */
  #last = { exchange: '', routingKey: '', redelivered: false, text: Buffer.alloc(0) as Buffer };

  of({ fields, properties }: ConsumeMessage): Buffer {
    const { exchange, routingKey, redelivered } = fields;
    const { headers } = properties;
    const hasHeaders = headers !== undefined && Object.keys(headers).length > 0;
    if (!hasHeaders && names.every((name) => properties[name] === undefined)) {
      const last = this.#last;
      const isSame = exchange === last.exchange && routingKey === last.routingKey && redelivered === last.redelivered;
      if (isSame && last.text.length > 0) return last.text;
      const text = this.#plain.get(`${exchange}\0${routingKey}\0${redelivered ? 'again' : ''}`);
      this.#last = { exchange, routingKey, redelivered, text };
      return text;
    }
    const meta: Record<string, unknown> = { exchange, routingKey, redelivered };
    for (const name of names) if (properties[name] !== undefined) meta[name] = properties[name];
    return Buffer.from(JSON.stringify(hasHeaders ? { ...meta, headers } : meta));
  }
}
