/**
 * Messages that the codec of a plugin reads, beside the same rows as JSON: ns per message from input to a filter that
 * passes none, the least of all rounds, in turns.
 *
 *     npx tsx bench/micro/codec.ts [ROUNDS]
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadCode } from '../../host/plugins/index.js';
import { withManifest } from '../../host/plugins/wasm/exports/embed.js';
import { prepare } from '../../host/plugins/wasm/prepare/prepare.js';
import type { StreamSpec } from '../../kernels/api.js';
import { drive, f64, filter, linked } from '../../test/support/kernel/drive.js';
import { field, lines } from '../../test/support/kernel/streams.js';

const rounds = Number(process.argv[2] ?? 10);
const messages = 4096;
const folder = mkdtempSync(join(tmpdir(), 'codec-'));
const project = new URL('../../examples/plugins/rust/frames/', import.meta.url);
const bytes = withManifest(
  readFileSync(new URL('frames.wasm', project)),
  readFileSync(new URL('manifest.json', project), 'utf8'),
);
const { ready, manifest } = prepare(bytes);
const path = join(folder, 'frames.wasm');
writeFileSync(path, ready);
const limits = { callFuel: 20_000_000n, batchFuel: 1_000_000_000n };
const code = await loadCode(
  { kind: 'wasm', name: 'frames', version: 1, path, manifest, limits },
  { log: () => {}, fault: () => {} },
);

/** Length of the payload, length of no metadata, payload. */
function framed(payload: Uint8Array): Buffer {
  const head = Buffer.alloc(8);
  head.writeUInt32LE(payload.length, 0);
  return Buffer.concat([head, payload]);
}

const frame = (i: number) =>
  Buffer.from(`1000${(i % 256).toString(16).padStart(2, '0')}046e616d65010005${'0d7a'}`, 'hex');
const json = (i: number) =>
  Buffer.from(`[{"device":${i % 256},"name":"name","alarm":false,"age":5,"temp":21.5,"battery":10}]`);
const fn = 70_000;
const decoder = { fn, errorsBeginWith: 'stream s: ' };
const ways: Record<string, [Partial<StreamSpec>, (i: number) => Buffer]> = {
  json: [{}, json],
  codec: [{ format: 'coded', decoder }, frame],
};

const runs = Object.entries(ways).map(([name, [spec, message]]) => {
  const driver = drive();
  driver.hostFunctions.set(fn, (columns) => code.call('frame.decode', columns));
  const stream = driver.kernel.openStream({ ...lines, framing: 'frames', ...spec });
  const columnMap = driver.kernel.useColumns(stream, [field('temp'), field('device')]);
  const node = driver.kernel.addNode({ stream }, linked(filter('compare.gt', 0, f64(100)), { columnMap }));
  const input = Buffer.concat(Array.from({ length: messages }, (_, i) => framed(message(i))));
  return {
    name,
    least: Number.POSITIVE_INFINITY,
    run: () => driver.feed(stream, input, 1000, 64 * 1024),
    driver,
    node,
  };
});
for (let round = 0; round < rounds; round++) {
  for (const one of runs) {
    const began = process.hrtime.bigint();
    one.run();
    one.least = Math.min(one.least, Number(process.hrtime.bigint() - began) / messages);
  }
}
for (const { name, least, driver, node } of runs) {
  const { recordsIn, exceptions } = driver.kernel.counters(node);
  if (recordsIn !== rounds * messages || exceptions > 0) throw new Error(`${name}: ${recordsIn} rows`);
  console.log(`${name.padEnd(8)} ${least.toFixed(0)} ns a message`);
}
rmSync(folder, { recursive: true });
