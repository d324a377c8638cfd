/** Messages of streams as frames. */
import type { Msg } from '@nats-io/transport-node';
import type { Delivered } from './delivered.js';
import { Metas } from './metas.js';
import { type NatsStreamConf, streamOf } from './stream-source.js';

const noRow = Buffer.from('{}');

/** Metadata that all messages of a subject have: in a bucket the key. */
export function metasOf(conf: Pick<NatsStreamConf, 'stream' | 'bucket'>): Metas {
  const { bucket } = conf;
  if (bucket === '') return new Metas(() => ({ stream: streamOf(conf) }));
  const prefix = `$KV.${bucket}.`;
  return new Metas((subject) => ({ bucket, key: subject.slice(prefix.length) }));
}

/** Payload and metadata of a message; a deleted key has no row of its own. */
export function frameOf(
  message: Msg,
  { sequence, time }: Delivered,
  metas: Metas,
): { payload: Uint8Array; meta: Uint8Array } {
  const { subject, headers, data } = message;
  const operation = headers?.get('KV-Operation') || headers?.get('Nats-Marker-Reason') || undefined;
  const payload = operation === undefined ? data : noRow;
  return { payload, meta: metas.inStream(subject, sequence, time, headers, operation) };
}
