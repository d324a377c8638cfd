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
  readonly #texts = new Recent<string, Buffer>(mostKinds, (text) => Buffer.from(text));

  of({ fields, properties }: ConsumeMessage): Buffer {
    const { exchange, routingKey, redelivered } = fields;
    const meta: Record<string, unknown> = { exchange, routingKey, redelivered };
    for (const name of names) if (properties[name] !== undefined) meta[name] = properties[name];
    const { headers } = properties;
    const isPlain = headers === undefined || Object.keys(headers).length === 0;
    if (isPlain) return this.#texts.get(JSON.stringify(meta));
    return Buffer.from(JSON.stringify({ ...meta, headers }));
  }
}
