/**
 * A sink with small batches whose neighbours have taken all memory: rows that find no room are errors, and the rule
 * goes on.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { fillMemory } from '../../support/engine/full-kernel.js';
import { openRule } from '../../support/engine/rule-kernel.js';

test('rows for which a small batch finds no room are errors, those before and after are sent', () => {
  const rule = openRule(['CREATE STREAM s () WITH (TYPE="memory", DATASOURCE="s")'], 'SELECT a, t FROM s', {
    props: { batchSize: 4 },
    options: { sendError: false },
    limits: { maxMemoryBytes: 15 << 20 },
  });
  const { kernel } = rule;
  const t = 'x'.repeat(4000);
  const feed = (a: number, text = 'short') => rule.feed('s', [{ a, t: text }], 1000);
  // The input has room for a long row from then on.
  for (let a = 0; a < 4; a++) feed(a, t);
  rule.taken();
  feed(4);
  const release = fillMemory(kernel);
  for (let a = 5; a < 9; a++) feed(a, t);
  release();
  const encode = rule.node('encode');
  const { exceptions } = kernel.counters(encode);
  assert.ok(exceptions > 0);
  assert.equal(rule.taken(), []);
  for (let a = 9; a < 12; a++) feed(a);
  const sent = rule.taken().flatMap((rows) => (rows as { a: number }[][]).flat().map(({ a }) => a));
  // What one failed row gave back may have been room for a later one.
  const found = sent.filter((a) => a > 4 && a < 9);
  assert.is(found.length + exceptions, 4);
  assert.equal(sent, [4, ...found, 9, 10, 11].slice(0, 4));
  assert.is(kernel.counters(encode).exceptions, exceptions);
  rule.close();
});

test.run();
