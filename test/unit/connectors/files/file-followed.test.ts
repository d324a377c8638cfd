/**
 * Files that are followed: what is appended comes, and what files of the name that were rolled away have, each line
 * once and in order.
 */
import {
  appendFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { FollowedFile } from '../../../../host/connectors/file/reading/followed.js';
import { type OpenedSource, openSource } from '../../../support/connectors/source.js';
import { eventually, startServer, temporaryFolder } from '../../../support/harness.js';

const follow = (path: string, given: Parameters<typeof openSource<FollowedFile>>[1] = {}) =>
  openSource((context) => new FollowedFile({ path, interval: 2, ignoreStartLines: 0 }, context), given);

const text = ({ written }: OpenedSource<FollowedFile>) => Buffer.concat(written).toString();

const reads = (opened: OpenedSource<FollowedFile>, wanted: string) =>
  eventually(`the text ${wanted}`, () => (text(opened) === wanted ? true : undefined));

test('what is appended comes, a line begun is no part of the position', async () => {
  const path = join(temporaryFolder(), 'in.log');
  writeFileSync(path, 'a\n');
  const first = await follow(path);
  await reads(first, 'a\n');
  appendFileSync(path, 'b\nhalf');
  await reads(first, 'a\nb\nhalf');
  const position = first.source.position();
  await first.source.close();
  appendFileSync(path, ' and half\n');
  const second = await follow(path, { from: position });
  await reads(second, 'half and half\n');
  await second.source.close();
});

test(
  'after a file that was renamed the next one of its name comes, behind what was appended to the old one ' +
    'meanwhile',
  async () => {
    const path = join(temporaryFolder(), 'in.log');
    writeFileSync(path, 'a\n');
    const opened = await follow(path);
    await reads(opened, 'a\n');
    renameSync(path, `${path}.1`);
    appendFileSync(`${path}.1`, 'late');
    writeFileSync(path, 'b\n');
    // The line without an end is a line of its own.
    await reads(opened, 'a\nlate\nb\n');
    await opened.source.close();
  },
);

test('a file that is cut is read from its begin, and that is said', async () => {
  const path = join(temporaryFolder(), 'in.log');
  writeFileSync(path, 'a\nb\n');
  const opened = await follow(path, { mayFail: true });
  await reads(opened, 'a\nb\n');
  truncateSync(path, 0);
  await eventually('the failure', () => (opened.failures.length > 0 ? true : undefined));
  appendFileSync(path, 'c\n');
  await reads(opened, 'a\nb\nc\n');
  assert.match(opened.failures.join(), /was cut while it was followed: .* may be missing/);
  await opened.source.close();
});

test('where the file of a position is gone, that is said, and the one with the name is read', async () => {
  const path = join(temporaryFolder(), 'in.log');
  writeFileSync(path, 'a\n');
  const first = await follow(path);
  await reads(first, 'a\n');
  const position = first.source.position() as object;
  await first.source.close();
  // Files whose names only begin alike are others.
  writeFileSync(join(path, '..', 'in-errors.log'), 'x\n');
  const second = await follow(path, { from: { ...position, ino: 1 }, mayFail: true });
  await reads(second, 'a\n');
  assert.match(second.failures.join(), /is read from its begin: another file has its name/);
  await second.source.close();
});

type Step = 'append' | 'half' | 'roll' | 'restart' | 'wait';

test('appended, rolled and started again at random: each line comes once, in order', async () => {
  const steps = fc.array(fc.constantFrom<Step>('append', 'append', 'half', 'roll', 'roll', 'restart', 'wait'), {
    minLength: 5,
    maxLength: 25,
  });
  await fc.assert(
    fc.asyncProperty(steps, fc.boolean(), async (list, isShifted) => {
      const folder = temporaryFolder();
      const path = join(folder, 'in.log');
      let next = 0;
      let rolls = 0;
      writeFileSync(path, `${next++}\n`);
      let opened = await follow(path);
      let before: string[] = [];
      const lines = () => text(opened).split('\n').slice(0, -1);
      for (const step of list) {
        if (step === 'append') appendFileSync(path, `${next++}\n${next++}\n`);
        else if (step === 'half') {
          appendFileSync(path, `${next}`);
          await new Promise((resolve) => setImmediate(resolve));
          appendFileSync(path, `\n`);
          next++;
        } else if (step === 'roll') {
          // As log files are rolled: with numbers that shift, or with a time.
          const old = readdirSync(folder).filter((name) => /^in\.log\.\d+$/.test(name));
          if (isShifted) for (let i = old.length; i > 0; i--) renameSync(`${path}.${i}`, `${path}.${i + 1}`);
          const rolled = isShifted ? `${path}.1` : join(folder, `in-2026-01-01T00:00:${10 + rolls}.log`);
          renameSync(path, rolled);
          rolls++;
          utimesSync(rolled, 1000 + rolls, 1000 + rolls);
          writeFileSync(path, `${next++}\n`);
        } else if (step === 'restart') {
          const position = opened.source.position();
          before = [...before, ...lines()];
          await opened.source.close();
          opened = await follow(path, { from: position });
        } else await new Promise((resolve) => setTimeout(resolve, 5));
      }
      const wanted = Array.from({ length: next }, (_, i) => String(i));
      await eventually('all lines', () => (before.length + lines().length >= next ? true : undefined));
      await opened.source.close();
      assert.equal([...before, ...lines()], wanted);
      rmSync(folder, { recursive: true });
    }),
    { numRuns: 20, endOnFailure: true },
  );
});

test('a rule follows a log file over a stop of the server: no line is missing', async () => {
  const server = await startServer({});
  const path = join(server.data, 'app.log');
  const out = join(server.data, 'out.txt');
  writeFileSync(path, '{"n":0}\n');
  await server.request('PUT', '/metadata/sources/file/confKeys/log', {
    fileType: 'lines',
    path: server.data,
    follow: true,
    interval: '5ms',
  });
  const sql = 'CREATE STREAM log () WITH (TYPE="file", DATASOURCE="app.log", CONF_KEY="log")';
  assert.is((await server.request('POST', '/streams', { sql })).status, 201);
  const rule = {
    id: 'r',
    sql: 'SELECT n FROM log',
    actions: [{ file: { path: out, sendSingle: true } }],
    options: { qos: 1 },
  };
  assert.is((await server.request('POST', '/rules', rule)).status, 201);
  const size = () => {
    try {
      return statSync(out).size;
    } catch {
      return 0;
    }
  };
  await eventually('the first line', () => (size() >= 8 ? true : undefined));
  await server.stop();
  appendFileSync(path, '{"n":1}\n');
  renameSync(path, `${path}.1`);
  writeFileSync(path, '{"n":2}\n');
  const again = await startServer({ data: server.data });
  try {
    await eventually('the lines', () => (size() >= 24 ? true : undefined));
    appendFileSync(path, '{"n":3}\n');
    await eventually('the last line', () => (size() >= 32 ? true : undefined));
    const bad = { sql: 'CREATE STREAM b () WITH (TYPE="file", DATASOURCE="x", CONF_KEY="b")' };
    await again.request('PUT', '/metadata/sources/file/confKeys/b', { fileType: 'json', follow: true });
    await again.request('POST', '/streams', bad);
    const refused = await again.request('POST', '/rules', { id: 'b', sql: 'SELECT * FROM b', actions: [{ nop: {} }] });
    assert.match(JSON.stringify(refused.json), /property follow is for fileType lines/);
  } finally {
    await again.stop();
  }
});

test.run();
