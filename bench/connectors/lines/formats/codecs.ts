/** The formats under test, and what libraries make of them. */
import { decode as fromMsgpack, encode as toMsgpack } from '@msgpack/msgpack';
import avro from 'avsc';
import { decode as fromCbor, encode as toCbor } from 'cborg';
import { XMLParser } from 'fast-xml-parser';
import protobuf from 'protobufjs';
import type { EngineUnderTest } from '../../../engine.js';
import type { Input, Row } from '../../line.js';

export interface FormatUnderTest {
  readonly name: string;
  encode(row: object): Uint8Array | string;
  decode(payload: Buffer): Row;
  /** Makes the schema of the format. */
  prepare?(engine: EngineUnderTest): Promise<unknown>;
  /** Of the stream. */
  readonly input: Partial<Input>;
  /** Properties of the action; left out where the format is only read. */
  readonly output?: Readonly<Record<string, unknown>>;
}

const proto = `syntax = "proto3"; package bench;
  message Reading { int64 id = 1; string device = 2; double temperature = 3; int32 humidity = 4; string status = 5; }`;
const Reading = protobuf.parse(proto).root.lookupType('bench.Reading');
const numbers = { longs: Number, defaults: true } as const;

const schema = {
  type: 'record',
  name: 'Reading',
  fields: [
    { name: 'id', type: 'long' },
    { name: 'device', type: 'string' },
    { name: 'temperature', type: 'double' },
    { name: 'humidity', type: 'int', default: 0 },
    { name: 'status', type: 'string', default: '' },
  ],
};
const avroType = avro.Type.forSchema(schema as never);

const members = ['id', 'device', 'temperature', 'humidity', 'status'] as const;
const columns = 'id BIGINT, device STRING, temperature FLOAT, humidity BIGINT, status STRING';
const xml = new XMLParser();

export const formats: readonly FormatUnderTest[] = [
  {
    name: 'protobuf',
    encode: (row) => Reading.encode(row).finish(),
    decode: (payload) => Reading.toObject(Reading.decode(payload), numbers),
    prepare: (engine) => engine.call('POST', '/schemas/protobuf', { name: 'readings', content: proto }),
    input: { format: 'protobuf', options: 'SCHEMAID="readings.bench.Reading"' },
    output: { format: 'protobuf', schemaId: 'readings.bench.Reading' },
  },
  {
    name: 'avro',
    encode: (row) => avroType.toBuffer({ humidity: 0, status: '', ...row }),
    decode: (payload) => avroType.fromBuffer(payload) as Row,
    prepare: (engine) => engine.call('POST', '/schemas/avro', { name: 'readings', content: JSON.stringify(schema) }),
    input: { format: 'avro', options: 'SCHEMAID="readings"' },
    output: { format: 'avro', schemaId: 'readings' },
  },
  {
    name: 'msgpack',
    encode: (row) => toMsgpack(row),
    decode: (payload) => fromMsgpack(payload) as Row,
    input: { format: 'msgpack' },
    output: { format: 'msgpack' },
  },
  {
    name: 'cbor',
    encode: (row) => toCbor(row),
    decode: (payload) => fromCbor(payload) as Row,
    input: { format: 'cbor' },
    output: { format: 'cbor' },
  },
  {
    name: 'xml',
    encode: (row) => {
      const elements = Object.entries(row).map(([name, value]) => `<${name}>${value}</${name}>`);
      return `<row>${elements.join('')}</row>`;
    },
    decode: (payload) => (xml.parse(payload) as { row: Row }).row,
    input: { format: 'xml' },
  },
  {
    name: 'delimited',
    encode: (row) => Object.values(row).join(','),
    decode: (payload) => {
      const values = payload.toString().split(',');
      return Object.fromEntries(members.map((name, i) => [name, values[i]]));
    },
    input: { format: 'delimited', columns, options: 'DELIMITER=","' },
    output: { format: 'delimited', delimiter: ',', fields: ['id', 'device', 'temperature'] },
  },
  {
    name: 'urlencoded',
    encode: (row) => new URLSearchParams(row as Record<string, string>).toString(),
    decode: (payload) => Object.fromEntries(new URLSearchParams(payload.toString())),
    input: { format: 'urlencoded' },
    output: { format: 'urlencoded' },
  },
  {
    // JSON within JSON.
    name: 'payloadFormat',
    encode: (row) => JSON.stringify({ gateway: 'g', data: JSON.stringify(row) }),
    decode: (payload) => JSON.parse((JSON.parse(payload.toString()) as { data: string }).data),
    input: { props: { payloadFormat: 'json', payloadField: 'data' } },
  },
];
