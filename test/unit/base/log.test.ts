import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openLog } from '../../support/engine/open-log.js';
import { eventually } from '../../support/harness.js';

test('writes levels, details and masks', () => {
  const { log, text } = openLog();
  log.debug('hidden');
  log.info('started', { port: 9081, password: 'p', props: { token: 't', qos: 1 }, none: undefined });
  log.close();
  assert.is(
    text(),
    'level=info msg=started port=9081 password=****** props="{\\"token\\":\\"******\\",\\"qos\\":1}"\n',
  );
});

test('keeps an event on one line', () => {
  const { log, text } = openLog();
  log.warn('two\nlines', { reason: 'a "b" c' });
  log.close();
  assert.is(text(), 'level=warn msg="two\\nlines" reason="a \\"b\\" c"\n');
});

test('writes nothing that a terminal would obey', () => {
  const { log, text } = openLog();
  log.info('\u001b[31mred', { path: '/a\u009b2J\u007f' });
  log.close();
  assert.is(text(), 'level=info msg="\\u001b[31mred" path="/a\\u009b2J\\u007f"\n');
});

test('folds repeated lines', () => {
  const { log, text } = openLog();
  for (let i = 0; i < 5; i++) log.info('again');
  log.info('other');
  log.close();
  assert.is(
    text(),
    'level=info msg=again\nlevel=info msg="the last line was repeated 4 times"\nlevel=info msg=other\n',
  );
});

test('a folded line of a rule has its name, that of no other', () => {
  const { log, text } = openLog();
  for (let i = 0; i < 3; i++) log.warn('again rule=x', { sink: 's', rule: 'a b' });
  for (let i = 0; i < 2; i++) log.warn('again rule=x');
  log.close();
  const folded = text()
    .split('\n')
    .filter((line) => line.includes('repeated'));
  assert.equal(folded, [
    'level=info msg="the last line was repeated 2 times" rule="a b"',
    'level=info msg="the last line was repeated 1 times"',
  ]);
});

test('changes its level while running', () => {
  const { log, text } = openLog();
  log.configure({ level: 'debug' });
  log.debug('now seen');
  log.configure({ level: 'error' });
  log.warn('unseen');
  log.close();
  assert.is(text(), 'level=debug msg="now seen"\n');
});

test('puts full files aside and removes the oldest', () => {
  const { log, folder, text } = openLog({ rotateSizeBytes: 100, rotateCount: 2 });
  for (let i = 0; i < 10; i++) {
    log.info(`line ${i} ${'x'.repeat(120)}`);
    log.flush();
  }
  log.close();
  const names = readdirSync(folder);
  assert.ok(names.includes('stream.log'));
  assert.ok(names.length <= 3, names.join());
  assert.match(text(), /line 9/);
});

test('puts nothing aside over another file of the same moment', () => {
  const { log, folder } = openLog({ rotateSizeBytes: 1 });
  for (let i = 0; i < 50; i++) log.error(`line ${i}`);
  log.close();
  const all = readdirSync(folder)
    .sort()
    .map((name) => readFileSync(join(folder, name), 'utf8'));
  assert.is(all.length, 50);
  assert.is(new Set(all).size, 50);
});

test('a file that could not be written is tried again, and says what it misses', async () => {
  const { log, folder } = openLog({ retryMs: 30 });
  rmSync(folder, { recursive: true });
  writeFileSync(folder, 'a file in its place');
  log.error('lost');
  log.error('lost, too');
  rmSync(folder);
  await eventually('a line in the file', () => {
    log.error(`now ${Math.random()}`);
    return existsSync(join(folder, 'stream.log'));
  });
  log.close();
  const [first = '', second = ''] = readFileSync(join(folder, 'stream.log'), 'utf8').split('\n');
  const missing = Number(/^level=error msg="(\d+) lines are missing here/.exec(first)?.[1]);
  assert.ok(missing >= 2, first);
  assert.match(second, 'msg="now ');
});

test('syslog learns of repeated lines as well', () => {
  const lines: string[] = [];
  const { log } = openLog({ also: (level, line) => lines.push(`${level}: ${line}`) });
  for (let i = 0; i < 3; i++) log.warn('again');
  log.close();
  assert.equal(lines, ['warn: level=warn msg=again', 'info: level=info msg="the last line was repeated 2 times"']);
});

test('a folder that can not be written ends logging to file, not the program', () => {
  const lost: string[] = [];
  const { log, folder } = openLog({ failed: (reason, text) => lost.push(reason, text) });
  rmSync(folder, { recursive: true });
  writeFileSync(folder, 'a file in its place');
  log.error('lost');
  log.error('lost again');
  log.close();
  assert.is(lost.length, 2, 'it is told once');
  assert.match(lost[0] ?? '', /ENOTDIR|EEXIST/);
  assert.is(lost[1], 'level=error msg=lost\n');
  assert.is(readFileSync(folder, 'utf8'), 'a file in its place');
  rmSync(folder);
  mkdirSync(folder);
});

test.run();
