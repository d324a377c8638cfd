/** Short forms of streams, of what arrives on them and of what leaves. */
import type { StreamSpec } from '../../../kernels/api.js';
import type { ColumnUse, OutputPlan } from '../../../kernels/plan/ir.js';

export const lines: StreamSpec = {
  framing: 'lines',
  format: 'json',
  schema: null,
  strict: false,
  wholeNumbersAreInts: false,
  maxDepth: 64,
  maxMessageBytes: 4 << 20,
};

export const mqtt: StreamSpec = { ...lines, framing: 'mqtt', mqttVersion: 4 };

export const field = (name: string): ColumnUse => ({ kind: 'field', name, type: { type: 'any' } });

/** A message a row, without fields. */
export const output: OutputPlan = {
  shape: { kind: 'fields', fields: [] },
  format: 'json',
  sendSingle: true,
  sendNil: false,
  omitIfEmpty: false,
  sendError: false,
  batchSize: 0,
  lingerMs: 0,
  framing: 'lines',
};

/** An MQTT PUBLISH packet; `properties` are those of version 5. */
export function publish(
  topic: string,
  payload: Uint8Array | string,
  { qos = 0, id = 1, properties }: { qos?: number; id?: number; properties?: Buffer } = {},
): Buffer {
  const name = Buffer.from(topic);
  const body = Buffer.concat([
    Buffer.from([name.length >> 8, name.length & 255]),
    name,
    Buffer.from(qos > 0 ? [id >> 8, id & 255] : []),
    properties === undefined ? Buffer.alloc(0) : Buffer.concat([varint(properties.length), properties]),
    Buffer.from(payload as string),
  ]);
  return Buffer.concat([Buffer.from([0x30 | (qos << 1)]), varint(body.length), body]);
}

/** A number as MQTT writes lengths: seven bits a byte, the lowest first. */
export function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  do {
    bytes.push((rest & 127) | (rest > 127 ? 128 : 0));
    rest >>>= 7;
  } while (rest);
  return Buffer.from(bytes);
}
