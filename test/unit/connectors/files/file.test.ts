import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import * as fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { JsonSplitter } from '../../../../host/connectors/file/reading/json-splitter.js';
import { sinkContract, sourceContract } from '../../../support/connectors/contract.js';
import { openPlane, passRule } from '../../../support/engine/plane.js';
import { announceSkip, eventually, temporaryFolder } from '../../../support/harness.js';

const folder = temporaryFolder();
writeFileSync(join(folder, 'contract.txt'), '1\n');

sourceContract(
  test,
  () => ({
    type: 'file',
    dataSource: 'contract.txt',
    props: { path: folder, fileType: 'lines', interval: 10_000 },
    refused: [
      [{ fileType: 'raw', ignoreEndLines: 1 }, /ignoreEndLines are for files of lines/],
      [{ follow: true, fileType: 'lines', ignoreEndLines: 1 }, /follow and ignoreEndLines exclude/],
      [{ fileType: 'pdf' }, /fileType must be one of/],
      [{ interval: 'soon' }, /interval must be a duration/],
    ],
  }),
  'file',
);

sinkContract(
  test,
  () => ({
    type: 'file',
    props: { path: join(folder, 'deep/contract.out') },
    refused: [
      [{ path: '' }, /path must not be empty/],
      [{ path: 'a-{{.x}}', maxOpenFiles: 0 }, /maxOpenFiles must be at least 1/],
      [{ path: 'a', fileType: 'csv' }, /format must be delimited when fileType is csv/],
      [{ path: 'a', rollingHook: 'upload' }, /upload is not registered/],
      [{ path: 'a', rollingHook: 'http' }, /rollingHookProps.url is required/],
      [{ path: 'a', rollingHook: 'http', rollingHookProps: { url: 'ftp://x' } }, /must begin with http/],
      [{ path: 'a', compression: 'flate' }, /compression must be one of/],
      [{ path: 'a', rollingNamePattern: 'middle' }, /rollingNamePattern must be one of/],
    ],
  }),
  'file',
);

/** Runs a rule from a file to a file and returns what came out. */
async function through(dataSource: string, props: Record<string, unknown>): Promise<string> {
  const { plane, report } = await openPlane();
  const out = join(temporaryFolder(), 'out.txt');
  const rule = passRule({ type: 'file', dataSource, props }, [{ type: 'file', props: { path: out } }]);
  await plane.start(rule);
  await report(rule.run, 'ended');
  await plane.close();
  return existsSync(out) ? readFileSync(out, 'utf8') : '';
}

test('reads a folder, compressed files, and leaves out head lines', async () => {
  const many = temporaryFolder();
  writeFileSync(join(many, 'a.gz'), gzipSync('head\n1\n2'));
  writeFileSync(join(many, 'b.gz'), gzipSync('head\n3\n'));
  const { plane, report } = await openPlane();
  const out = join(temporaryFolder(), 'out.txt');
  const props = { path: many, fileType: 'lines', decompression: 'gzip', ignoreStartLines: 1 };
  const rule = passRule({ type: 'file', props }, [{ type: 'file', props: { path: out } }]);
  await plane.start(rule);
  await report(rule.run, 'started');
  await eventually('all lines', () => existsSync(out) && readFileSync(out, 'utf8') === '1\n2\n3\n');
  await plane.close();
});

test('moves a file after reading', async () => {
  const from = temporaryFolder();
  const to = join(from, 'done');
  writeFileSync(join(from, 'x.txt'), '1\n2\n');
  await through('x.txt', { path: from, fileType: 'lines', actionAfterRead: 2, moveTo: to, sendInterval: 1 });
  assert.equal(readdirSync(to), ['x.txt']);
});

test('a big file is read no faster than it is written, whole', async () => {
  const line = `{"text":"${'x'.repeat(200)}"}\n`;
  writeFileSync(join(folder, 'big.txt'), line.repeat(50_000));
  const { plane, report } = await openPlane();
  const out = join(folder, 'big.out');
  const rule = passRule(
    { type: 'file', dataSource: 'big.txt', props: { path: folder, fileType: 'lines' } },
    [{ type: 'file', props: { path: out } }],
    { sinkLimitBytes: 100_000 },
  );
  await plane.start(rule);
  const { metrics } = await report(rule.run, 'ended');
  assert.is(readFileSync(out, 'utf8'), line.repeat(50_000));
  // A slice of input beyond the limit is all that may wait.
  assert.ok(Number(metrics.sinkQueueHighWater) < 4000, `${metrics.sinkQueueHighWater} messages waited`);
  await plane.close();
});

test('rules that write to one file never mix their lines', async () => {
  const { plane, report } = await openPlane();
  const out = join(folder, 'common.out');
  const rules = ['a', 'b', 'c'].map((name) => {
    writeFileSync(join(folder, name), `${name.repeat(100)}\n`.repeat(2000));
    return passRule({ type: 'file', dataSource: name, props: { path: folder, fileType: 'lines' } }, [
      { type: 'file', props: { path: out } },
    ]);
  });
  await Promise.all(rules.map((rule) => plane.start(rule)));
  for (const rule of rules) await report(rule.run, 'ended');
  const lines = readFileSync(out, 'utf8').trimEnd().split('\n');
  assert.is(lines.length, 6000);
  assert.ok(lines.every((line) => line === line[0]!.repeat(100)));
  await plane.close();
});

test('a file that reaches its size is put aside', async () => {
  const rolled = temporaryFolder();
  const { plane } = await openPlane();
  const rule = passRule({ type: 'simulator', props: { interval: 5 } }, [
    { type: 'file', props: { path: join(rolled, 'a.txt'), rollingSize: 200 } },
  ]);
  await plane.start(rule);
  await eventually('files put aside', () => readdirSync(rolled).length > 2);
  await plane.stop(rule.run);
  for (const name of readdirSync(rolled)) assert.match(readFileSync(join(rolled, name), 'utf8'), /^(\{.*\}\n)*$/);
  await plane.close();
});

const shared = '/dev/shm';
const elsewhere = existsSync(shared) && statSync(shared).dev !== statSync(folder).dev ? shared : undefined;

if (elsewhere === undefined) {
  announceSkip('a file that is moved to another file system', 'there is only one here');
} else {
  test('a file that was read is moved to another file system, whole and under its name', async () => {
    const target = mkdtempSync(join(elsewhere, 'haumea-test-'));
    test.after(() => rmSync(target, { recursive: true, force: true }));
    const path = temporaryFolder();
    writeFileSync(join(path, 'in.txt'), '{"a":1}\n');
    const { plane, report } = await openPlane();
    const props = { path, fileType: 'lines', actionAfterRead: 2, moveTo: target };
    const rule = passRule({ type: 'file', dataSource: 'in.txt', props }, [{ type: 'nop', props: {} }]);
    await plane.start(rule);
    await report(rule.run, 'ended');
    await plane.close();
    assert.equal([readdirSync(path), readdirSync(target)], [[], ['in.txt']]);
    assert.is(readFileSync(join(target, 'in.txt'), 'utf8'), '{"a":1}\n');
  });
}

/** Runs a rule whose sink appends the lines to a file that is there already; returns what is in it then. */
async function appended(before: string, lines: string): Promise<string> {
  const { plane, report } = await openPlane();
  const path = temporaryFolder();
  const [input, out] = [join(path, 'in.txt'), join(path, 'out.txt')];
  writeFileSync(input, lines);
  writeFileSync(out, before);
  const source = { type: 'file', dataSource: 'in.txt', props: { path, fileType: 'lines' } };
  const rule = passRule(source, [{ type: 'file', props: { path: out } }]);
  await plane.start(rule);
  await report(rule.run, 'ended');
  await plane.close();
  return readFileSync(out, 'utf8');
}

test('half a line that a crash left stays as it is, and is ended before the next line', async () => {
  assert.is(await appended('{"a":1}\n{"a":', '1\n2\n'), '{"a":1}\n{"a":\n1\n2\n');
  assert.is(await appended('{"a":1}\n', '1\n2\n'), '{"a":1}\n1\n2\n');
  assert.is(await appended('', '1\n'), '1\n');
  assert.is(await appended('{"a":', ''), '{"a":', 'nothing written, nothing changed');
});

test('a sink path that is a folder fails the rule', async () => {
  const { plane, report } = await openPlane();
  mkdirSync(join(folder, 'occupied'));
  const rule = passRule({ type: 'simulator', props: {} }, [
    { type: 'file', props: { path: join(folder, 'occupied') } },
  ]);
  await plane.start(rule);
  assert.match((await report(rule.run, 'failed')).reason, /EISDIR/);
  await plane.close();
});

test('JSON arrays are cut into their elements under any chunking', () => {
  fc.assert(
    fc.property(fc.array(fc.jsonValue()), fc.array(fc.nat(40)), fc.nat(4), (values, cuts, indent) => {
      const text = Buffer.from(JSON.stringify(values, null, indent));
      const splitter = new JsonSplitter();
      const found: unknown[] = [];
      const take = (parts: Iterable<Uint8Array>) => {
        for (const part of parts) found.push(JSON.parse(Buffer.from(part).toString()));
      };
      let at = 0;
      for (const cut of cuts) {
        take(splitter.add(text.subarray(at, at + cut)));
        at = Math.min(text.length, at + cut);
      }
      take(splitter.add(text.subarray(at)));
      take(splitter.end());
      assert.equal(found, JSON.parse(text.toString()));
    }),
    { numRuns: 300 },
  );
});

test.run();
