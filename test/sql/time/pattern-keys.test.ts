/** Very many keys whose partial matches time ends at once: work goes on in pieces, and memory is given back. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { callHost } from '../../../host/functions/registry.js';
import { createKernel } from '../../../kernels/index.js';
import { hasDeferred, workOn } from '../../../kernels/state/deferred.js';
import { type KernelRule, openRule, textOf } from '../../support/engine/rule-kernel.js';
import { kernelUnderTest } from '../../support/kernel/drive.js';

const keys = 50_000;
/** As in a data plane. */
const longRows = 8192;
const firstMs = 1000;

interface Opened extends KernelRule {
  /** Messages so far. */
  sent(): number;
  bytes(): number;
}

function opened(pattern: string, isEventTime: boolean): Opened {
  let messages = 0;
  const kernel = createKernel(
    {
      onOutput: ({ bytes }) => {
        for (let at = bytes.indexOf(10); at >= 0; at = bytes.indexOf(10, at + 1)) messages++;
      },
      onPacket: () => {},
      onAcknowledge: () => {},
      call: callHost,
    },
    kernelUnderTest,
    { longRows },
  );
  const stream =
    'CREATE STREAM s (k BIGINT, x BIGINT, ts BIGINT) WITH (TYPE="memory", DATASOURCE="s", FORMAT="json"' +
    `${isEventTime ? ', TIMESTAMP="ts"' : ''})`;
  const options = isEventTime ? { isEventTime, lateToleranceMs: 0 } : {};
  const sql = `SELECT k FROM s MATCH_RECOGNIZE (PARTITION BY k MEASURES count(*) AS n PATTERN (${pattern})
    ${pattern.includes('NOT') ? '' : "WITHIN INTERVAL '1' SECOND"} DEFINE B AS x = 2)`;
  const rule = openRule([stream], sql, { options, kernel });
  return Object.assign(rule, {
    sent: () => messages,
    bytes: () => kernel.memory().inUse - kernel.memory().workspace,
  });
}

/** A row for each key, all at one time. */
function begin(rule: Opened): void {
  const some = 1000;
  for (let from = 0; from < keys; from += some) {
    rule.feed('s', textOf(Array.from({ length: some }, (_, i) => ({ k: from + i, x: 1, ts: firstMs }))), firstMs);
  }
}

/** What the clock ends: so many calls until all is done, each of which does a piece. */
function ticks(rule: Opened, now: number): number {
  let count = 0;
  for (let at = now; at !== Number.POSITIVE_INFINITY; at = rule.kernel.nextDeadline()) {
    rule.kernel.tick(at);
    count++;
  }
  return count;
}

/** The same for what a watermark ends. */
function pieces(rule: Opened): number {
  let count = 0;
  for (; hasDeferred(rule.kernel); count++) workOn(rule.kernel, 5);
  return count;
}

for (const [what, pattern, matches] of [
  ['partial matches of 50,000 keys end', 'A B', 0],
  ['50,000 keys have a match', "A NOT B WITHIN INTERVAL '1' SECOND", keys],
] as const) {
  test(`${what} at one time by the clock, in pieces`, () => {
    const rule = opened(pattern, false);
    const empty = rule.bytes();
    begin(rule);
    const full = rule.bytes();
    assert.is(rule.sent(), 0);
    rule.kernel.tick(firstMs + 5000);
    assert.ok(rule.kernel.nextDeadline() < Number.POSITIVE_INFINITY, 'all was done at once');
    assert.ok(rule.bytes() <= full);
    // A row of a key whose turn has not come finds its match over.
    rule.feed('s', [{ k: keys - 1, x: 2 }], firstMs + 5001);
    assert.ok(ticks(rule, firstMs + 5001) >= Math.floor(keys / longRows) - 1);
    ticks(rule, firstMs + 20_000);
    assert.is(rule.sent(), matches === 0 ? 0 : matches + 1);
    assert.ok(rule.bytes() - empty < (full - empty) / 10, `${rule.bytes() - empty} of ${full - empty} bytes are kept`);
    rule.close();
  });

  test(`${what} at one time by a watermark, in pieces`, () => {
    const rule = opened(pattern, true);
    const empty = rule.bytes();
    begin(rule);
    const full = rule.bytes();
    assert.is(rule.sent(), 0);
    rule.feed('s', [{ k: keys, x: 1, ts: firstMs + 5000 }], firstMs);
    assert.ok(hasDeferred(rule.kernel), 'all was done at once');
    const sent = rule.sent();
    assert.ok(sent <= longRows + 1);
    // Rows come meanwhile.
    rule.feed('s', [{ k: 0, x: 1, ts: firstMs + 5001 }], firstMs);
    assert.ok(pieces(rule) >= 1);
    assert.is(rule.sent(), matches);
    rule.end('s');
    pieces(rule);
    assert.is(rule.sent(), matches === 0 ? 0 : matches + 2);
    assert.ok(rule.bytes() - empty < (full - empty) / 10, `${rule.bytes() - empty} of ${full - empty} bytes are kept`);
    rule.close();
  });
}

test.run();
