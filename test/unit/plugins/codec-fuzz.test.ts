/**
 * Codecs that nobody wrote, or that were written to do harm, over messages that are none: each message of a stream has
 * its rows or an error and is acknowledged, each message of a sink goes out or is an error, and a codec that works does
 * what it did before. `HAUMEA_GUEST_FUZZ_ROUNDS` sets how many are tried, `HAUMEA_GUEST_FUZZ_SEED` which.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { HaumeaError } from '../../../host/base/errors.js';
import { CodecEncoder } from '../../../host/codecs/custom/encoder.js';
import type { CodeHost, LoadedCode } from '../../../host/plugins/define.js';
import { withManifest } from '../../../host/plugins/wasm/exports/embed.js';
import { loadModule } from '../../../host/plugins/wasm/load.js';
import { prepare } from '../../../host/plugins/wasm/prepare/prepare.js';
import type { HostColumns, OutputChunk } from '../../../kernels/api.js';
import { drive, encode, linked } from '../../support/kernel/drive.js';
import { field, mqtt, publish } from '../../support/kernel/streams.js';
import { garbage, wildCodec } from '../../support/plugins/codec-guests.js';
import { damage } from '../../support/plugins/damage.js';
import { randomFrom } from '../../support/plugins/programs.js';
import { Watch } from '../../support/plugins/watched-call.js';

const rounds = Number(process.env.HAUMEA_GUEST_FUZZ_ROUNDS ?? 90);
const seed = Number(process.env.HAUMEA_GUEST_FUZZ_SEED ?? 770_011);
const folder = mkdtempSync(join(tmpdir(), 'codec-fuzz-'));
test.after(() => {
  rmSync(folder, { recursive: true });
});
const limits = { callFuel: 200_000n, batchFuel: 1_000_000n };
const root = new URL('../../../', import.meta.url);
const codec = (path: string, decode: string, encodes: string) =>
  withManifest(
    new Uint8Array(readFileSync(new URL(path, root))),
    JSON.stringify({ abi: 1, codecs: [{ name: 'c', decode, encode: encodes }] }),
  );
const bases = [
  codec('test/guests/codecs.wasm', 'turn', 'turn'),
  codec('test/guests/codecs.wasm', 'sick', 'sick_write'),
  codec('test/guests/strings.wasm', 'read_pairs', 'write_pairs'),
  codec('test/guests/kit.wasm', 'loud', 'loud'),
  codec('examples/plugins/rust/frames/frames.wasm', 'read_frame', 'write_frame'),
];
const host: CodeHost = { log: () => {}, fault: () => {} };
let version = 0;

async function load(bytes: Uint8Array): Promise<LoadedCode> {
  const { ready, manifest } = prepare(bytes);
  const path = join(folder, `${++version}.wasm`);
  writeFileSync(path, ready);
  const code = await loadModule({ kind: 'wasm', name: 'guest', version, path, manifest, limits }, host);
  rmSync(path);
  return code;
}

/** A stream and a sink of the format `custom`, of which each has a codec, or none: JSON then. */
class Pipe {
  decoder: LoadedCode | undefined;
  encoder: LoadedCode | undefined;
  readonly #driver = drive();
  readonly #stream;
  readonly #failures: string[] = [];
  readonly #sent: string[] = [];

  constructor() {
    const driver = this.#driver;
    const fn = 70_000;
    driver.hostFunctions.set(fn, (columns) => {
      columns.errorsBeginWith = 'stream s: ';
      run(this.decoder, 'c.decode', columns);
    });
    const decoder = { fn, errorsBeginWith: 'stream s: function c.decode of guest: ' };
    this.#stream = driver.kernel.openStream({ ...mqtt, decoder, format: 'coded' });
    const columns = driver.kernel.useColumns(this.#stream, [field('a')]);
    const plan = encode({ a: 0 }, { sendError: true, framing: 'messages' });
    driver.kernel.addNode({ stream: this.#stream }, linked(plan, { columnMap: columns, sendError: true }));
    const context = { sink: 'sink f', framing: 'messages', sendError: true, isBatch: false } as const;
    const encoder = new CodecEncoder({ ...context, codec: (given) => run(this.encoder, 'c.encode', given) });
    driver.onOutput = (chunk) => {
      const made = encoder.encode(chunk, (reason) => this.#failures.push(reason));
      const texts = textsOf(made);
      assert.is(texts.length, chunk.ends?.length, 'as many messages as the kernel wrote');
      this.#sent.push(...texts);
    };
  }

  /** Has messages go through. */
  feed(messages: readonly Uint8Array[]): { sent: string[]; failures: string[] } {
    const driver = this.#driver;
    this.#sent.length = 0;
    this.#failures.length = 0;
    driver.acknowledged.length = 0;
    driver.messages.clear();
    const { messages: before } = driver.kernel.streamCounters(this.#stream);
    const packets = messages.map((message, i) => publish('t', message, { qos: 1, id: i + 1 }));
    driver.feed(this.#stream, Buffer.concat(packets));
    assert.is(driver.kernel.streamCounters(this.#stream).messages - before, messages.length);
    assert.equal(
      driver.acknowledged,
      messages.map((_message, i) => i + 1),
      'each message is acknowledged, in order',
    );
    return { sent: [...this.#sent], failures: [...this.#failures] };
  }

  get inUse(): number {
    return this.#driver.kernel.memory().inUse;
  }
}

const watch = new Watch();

function run(code: LoadedCode | undefined, name: string, columns: HostColumns): void {
  if (code !== undefined) watch.call(columns, () => code.call(name, columns));
  else for (let k = 0; k < columns.count; k++) columns.set(k, textOf(columns.get(0, k)));
}

const textOf = (value: unknown) => (value instanceof Uint8Array ? Buffer.from(value).toString() : (value as string));

function textsOf({ bytes, ends }: OutputChunk): string[] {
  let from = 0;
  return Array.from(ends ?? [], (end) => {
    const text = Buffer.from(bytes.subarray(from, end)).toString();
    from = end;
    return text;
  });
}

const rows = Array.from({ length: 12 }, (_, i) => Buffer.from(`{"a":${i}}`));
const texts = rows.map(String);

test('whatever codecs and messages are, no message is lost unsaid, and a codec that works goes on', async () => {
  const random = randomFrom(seed);
  const pipe = new Pipe();
  const good = await load(bases[0] as Uint8Array);
  const turned = rows.map((row) => row.map((byte) => byte ^ 0x80));
  /** Both ways through a codec that works. */
  const isWell = (what: string) => {
    pipe.decoder = good;
    assert.equal(pipe.feed(turned).sent, texts, what);
    pipe.decoder = undefined;
    pipe.encoder = good;
    const back = pipe.feed(rows.slice(0, 1)).sent[0] ?? '';
    assert.is(back, Buffer.from(turned[0] as Uint8Array).toString(), what);
    pipe.encoder = undefined;
  };
  isWell('before');
  const inUse = pipe.inUse;
  const seen = { refused: 0, ran: 0, rows: 0, unread: 0, written: 0, unwritten: 0 };
  for (let round = 0; round < rounds; round++) {
    const isDamaged = round % 3 === 0;
    const bytes = isDamaged ? damage(bases[(round / 3) % bases.length] as Uint8Array, random) : wildCodec(random);
    const what = `round ${round}: ${Buffer.from(bytes).toString('base64')}`;
    let code: LoadedCode;
    try {
      code = await load(bytes);
    } catch (error) {
      const isStart = error instanceof Error && /the start function failed|segment|LinkError/.test(String(error));
      assert.ok(isDamaged && (error instanceof HaumeaError || isStart), `${what}: ${error}`);
      seen.refused++;
      continue;
    }
    seen.ran++;
    try {
      pipe.decoder = code;
      for (const text of pipe.feed(Array.from({ length: 1 + random(40) }, () => garbage(random))).sent) {
        const isError = text.startsWith('stream s: ');
        assert.ok(isError || text.startsWith('{'), text);
        seen[isError ? 'unread' : 'rows']++;
      }
      pipe.decoder = undefined;
      pipe.encoder = code;
      const { sent, failures } = pipe.feed(rows);
      assert.is(sent.length, rows.length);
      assert.is(failures.length, sent.filter((text) => text.startsWith('sink f: ')).length, 'each error is counted');
      seen.unwritten += failures.length;
      seen.written += sent.length - failures.length;
      pipe.encoder = undefined;
      isWell('between');
      assert.equal(watch.take(), []);
      assert.ok(pipe.inUse < inUse + (8 << 20), `${pipe.inUse} bytes are in use`);
    } catch (error) {
      throw new Error(`${what}: ${error instanceof Error ? error.stack : error}`, { cause: error });
    }
    code.close();
  }
  assert.ok(Math.min(...Object.values(seen)) > rounds / 12, JSON.stringify(seen));
});

test.run();
