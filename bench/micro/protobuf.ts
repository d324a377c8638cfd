/**
 * Protobuf messages, beside the same rows as JSON and beside protobufjs: messages a second from input to a filter that
 * passes none, and from rows to messages, the best of all rounds, in turns.
 *
 *     npx tsx bench/micro/protobuf.ts [ROUNDS]
 */
import type { StreamSpec } from '../../kernels/api.js';
import { createKernel } from '../../kernels/index.js';
import { framed, messageIn } from '../../test/support/formats/protobuf.js';
import { drive, encode, f64, filter, kernelUnderTest, linked } from '../../test/support/kernel/drive.js';
import { field, lines } from '../../test/support/kernel/streams.js';

const rounds = Number(process.argv[2] ?? 20);
const messages = 4096;
const { type, messages: types } = messageIn(
  `syntax = "proto3";
   message Reading { int64 id = 1; string device = 2; double temp = 3; float hum = 4; bool alarm = 5; int64 ts = 6;
     State state = 7; Place place = 8; repeated int32 samples = 9; enum State { OFF = 0; ON = 1; } }
   message Place { double lat = 1; double lon = 2; string room = 3; }`,
  'Reading',
);
const names = type.fieldsArray.map(({ name }) => name);

const reading = (i: number) => ({
  id: i,
  device: `device-${i % 100}`,
  temp: 20 + (i % 100) / 8,
  hum: 55.5,
  alarm: i % 10 === 0,
  ts: 1_700_000_000_000 + i,
  state: i % 2,
  place: { lat: 52.5, lon: 13.4, room: 'hall' },
  samples: [i % 7, 300, 70_000],
});
const binary = (i: number): Uint8Array => type.encode(type.create(reading(i))).finish();
const json = (i: number): Uint8Array => Buffer.from(JSON.stringify(reading(i)));

interface Run {
  readonly name: string;
  readonly run: () => void;
  least: number;
}

const protobuf: Partial<StreamSpec> = { format: 'protobuf', messages: types };
const binaries = Array.from({ length: messages }, (_, i) => binary(i));

function decoding(
  name: string,
  spec: Partial<StreamSpec>,
  columns: readonly string[],
  message: (i: number) => Uint8Array,
): Run {
  const driver = drive();
  const stream = driver.kernel.openStream({ ...lines, framing: 'frames', ...spec });
  const columnMap = driver.kernel.useColumns(stream, columns.map(field));
  driver.kernel.addNode({ stream }, linked(filter('compare.gt', columns.indexOf('temp'), f64(100)), { columnMap }));
  const input = Buffer.concat(Array.from({ length: messages }, (_, i) => framed(message(i))));
  return { name, least: Number.POSITIVE_INFINITY, run: () => driver.feed(stream, input, 1000, 64 * 1024) };
}

/** From messages to messages; nobody reads them. */
function encoding(name: string, format: 'json' | 'protobuf'): Run {
  const ignore = () => {};
  const kernel = createKernel(
    { onOutput: ignore, onPacket: ignore, onAcknowledge: ignore, call: ignore },
    kernelUnderTest,
  );
  const stream = kernel.openStream({ ...lines, framing: 'frames', ...protobuf });
  const columnMap = kernel.useColumns(stream, names.map(field));
  const plan = encode(Object.fromEntries(names.map((one, i) => [one, i])), {
    framing: 'messages',
    format,
    ...(format === 'protobuf' && { messages: types }),
  });
  kernel.addNode({ stream }, linked(plan, { columnMap }));
  const input = Buffer.concat(binaries.map(framed));
  const run = () => {
    for (let at = 0; at < input.length; ) {
      const room = kernel.inputBuffer(stream);
      const part = input.subarray(at, at + Math.min(room.length, 64 * 1024));
      room.set(part);
      at += kernel.feed(stream, part.length, 1000);
    }
  };
  return { name, least: Number.POSITIVE_INFINITY, run };
}

const rows: unknown[] = Array.from({ length: messages });
const runs: Run[] = [
  decoding('protobuf, 2 of 9 columns', protobuf, ['temp', 'device'], binary),
  decoding('protobuf, 9 columns', protobuf, names, binary),
  decoding('json, 2 of 9 columns', {}, ['temp', 'device'], json),
  decoding('json, 9 columns', {}, names, json),
  {
    name: 'protobufjs decode',
    least: Number.POSITIVE_INFINITY,
    run: () => {
      for (const [i, bytes] of binaries.entries()) rows[i] = type.decode(bytes);
    },
  },
  {
    name: 'protobufjs decode, rows',
    least: Number.POSITIVE_INFINITY,
    run: () => {
      for (const [i, bytes] of binaries.entries()) rows[i] = type.toObject(type.decode(bytes), { defaults: true });
    },
  },
  encoding('decode 9, encode json', 'json'),
  encoding('decode 9, encode protobuf', 'protobuf'),
  {
    name: 'protobufjs decode, encode',
    least: Number.POSITIVE_INFINITY,
    run: () => {
      for (const [i, bytes] of binaries.entries()) rows[i] = type.encode(type.decode(bytes)).finish();
    },
  },
];
for (let round = 0; round < rounds; round++) {
  for (const one of runs) {
    const began = process.hrtime.bigint();
    one.run();
    one.least = Math.min(one.least, Number(process.hrtime.bigint() - began) / messages);
  }
}
for (const { name, least } of runs) {
  console.log(
    `${name.padEnd(26)} ${least.toFixed(0).padStart(6)} ns a message ${(1000 / least).toFixed(2).padStart(6)} M/s`,
  );
}
