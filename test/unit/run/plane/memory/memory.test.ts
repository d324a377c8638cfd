/** Memory of rules, as the kernel accounts for it. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openEngine, type TestEngine } from '../../../../support/engine/engine-harness.js';
import { eventually } from '../../../../support/harness.js';

let opened: TestEngine;
test.before(() => {
  opened = openEngine();
  opened.stream('CREATE STREAM one () WITH (TYPE="simulator", CONF_KEY="sim", SHARED="true")', { interval: 1 });
});
test.after(() => opened.close());

const held = async () => new Map((await opened.engine.memory()).map(({ id, bytes }) => [id, bytes]));

test('a rule that keeps rows holds more with each, one that passes them on does not', async () => {
  opened.run('keeps', 'SELECT collect(*) AS rows FROM one GROUP BY TUMBLINGWINDOW(hh, 1)', [['nop', {}]]);
  opened.run('passes', 'SELECT temperature FROM one', [['nop', {}]]);
  await opened.figure('keeps', 'sourceRecordsInTotal', (value) => value > 20);
  const before = await held();
  assert.ok((before.get('passes') ?? 0) > 0);
  await opened.figure('keeps', 'sourceRecordsInTotal', (value) => value > 1500);
  const after = await held();
  const grown = (id: string) => (after.get(id) ?? 0) - (before.get(id) ?? 0);
  assert.ok(grown('keeps') > 1400 * 16, `${grown('keeps')} bytes more`);
  assert.ok(grown('passes') < 4096, `${grown('passes')} bytes more`);
});

test('a rule that was stopped holds nothing', async () => {
  await opened.engine.stop('keeps');
  assert.equal([...(await held()).keys()], ['passes']);
});

test('rules that share their work share its memory', async () => {
  const alone = (await held()).get('passes') ?? 0;
  opened.run('twin', 'SELECT temperature FROM one', [['nop', {}]]);
  await opened.figure('twin', 'sourceRecordsInTotal', (value) => value > 0);
  const together = await eventually('figures of both', async () => {
    const now = await held();
    return now.has('twin') ? now : undefined;
  });
  const sum = (together.get('passes') ?? 0) + (together.get('twin') ?? 0);
  assert.ok(sum < alone * 1.9, `${sum} bytes of both, ${alone} of one`);
});

test.run();
