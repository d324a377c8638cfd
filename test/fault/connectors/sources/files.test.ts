/** Faults of files as sources: one that is followed while it grows, and a folder that gets files. */
import { appendFileSync, mkdirSync, renameSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { Site } from '../../../support/connectors/faults/site.js';
import { type SourceSide, sourceFaults } from '../../../support/connectors/faults/sources.js';
import { Lines } from '../../../support/connectors/lines.js';
import { eventually, temporaryFolder } from '../../../support/harness.js';

const none = async () => {};
const noProcess = { pause: () => {}, resume: () => {}, close: none };

const lacks = {
  kill: 'a disk has no process',
  hang: 'a disk that hangs stops its whole process',
  tls: 'a file is no connection',
  refusal: 'a file has no login',
};
/** Rules read a file from its begin: behind much of earlier tests they get another one. */
const much = 100_000;

async function followed(): Promise<SourceSide> {
  const path = temporaryFolder();
  let number = 0;
  const file = () => join(path, `rows${number}.log`);
  const size = () => statSync(file(), { throwIfNoEntry: false })?.size ?? 0;
  writeFileSync(file(), '');
  return {
    ...noProcess,
    get dataSource() {
      if (size() > much) {
        number++;
        writeFileSync(file(), '');
      }
      return `rows${number}.log`;
    },
    props: { path, fileType: 'lines', follow: true, interval: 20 },
    start: async () => appendFileSync(file(), ''),
    kill: async () => {
      // It is not taken from a rule that reads it.
      if (size() === 0) rmSync(file(), { force: true });
    },
    send: async (messages) => {
      for (const message of messages) appendFileSync(file(), `${message}\n`);
    },
  };
}

sourceFaults(test, 'file', followed, { name: 'followed file', lacks });

/** Rules that begin to read have files of their own. */
async function filled(): Promise<SourceSide> {
  const path = temporaryFolder();
  const folder = join(path, 'in');
  const parts = temporaryFolder();
  mkdirSync(folder);
  let number = 0;
  return {
    ...noProcess,
    dataSource: 'in',
    props: { path, fileType: 'lines', interval: 50, actionAfterRead: 1 },
    start: none,
    kill: none,
    send: async (messages) => {
      const part = join(parts, `${++number}.lines`);
      for (const message of messages) appendFileSync(part, `${message}\n`);
      renameSync(part, join(folder, `${number}.lines`));
    },
  };
}

sourceFaults(test, 'file', filled, {
  name: 'folder',
  lacks: { ...lacks, absence: 'a folder is there or the rule is refused' },
});

test('a folder that is watched may go away and come again', async () => {
  const site = await Site.open();
  const [path, rows] = [temporaryFolder(), new Lines()];
  const folder = join(path, 'in');
  mkdirSync(folder);
  const stream = await site.stream('file', 'in', { path, fileType: 'lines' });
  const id = await site.rule(stream, { file: { path: rows.path, fileType: 'lines', sendSingle: true } });
  const add = async (number: number) => {
    writeFileSync(join(folder, `${number}.lines`), `{"id":${number}}\n`);
    await eventually('the row', () => rows.ids().includes(number), 15_000);
  };
  await add(1);
  renameSync(folder, `${folder}.old`);
  mkdirSync(folder);
  await add(2);
  await site.delete(id);
  assert.equal(rows.ids(), [1, 2]);
  await site.server.stop();
});

test('a followed file may be cut, rolled away and missing for a while', async () => {
  const site = await Site.open();
  const [path, rows] = [temporaryFolder(), new Lines()];
  const file = join(path, 'rows.log');
  writeFileSync(file, '{"id":1}\n');
  const stream = await site.stream('file', 'rows.log', { path, fileType: 'lines', follow: true, interval: 20 });
  const id = await site.rule(stream, { file: { path: rows.path, fileType: 'lines', sendSingle: true } });
  const comes = (number: number) => eventually(`row ${number}`, () => rows.ids().includes(number));
  await comes(1);
  truncateSync(file);
  await eventually('the cut to be told', async () => {
    return /was cut while it was followed/.test(String(await site.figure(id, 'source', 'last_exception')));
  });
  appendFileSync(file, '{"id":2}\n');
  await comes(2);
  renameSync(file, `${file}.1`);
  appendFileSync(`${file}.1`, '{"id":3}\n');
  await comes(3);
  writeFileSync(file, '{"id":4}\n');
  await comes(4);
  rmSync(file);
  writeFileSync(file, '{"id":5}\n');
  await comes(5);
  await site.delete(id);
  assert.equal(rows.ids(), [1, 2, 3, 4, 5]);
  await site.server.stop();
});

test.run();
