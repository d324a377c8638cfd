/** Memory that is full: the rule whose operator can't keep more ends by name, and its neighbours lose nothing. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { NotedLog, silent } from '../../../host/base/log/log.js';
import type { RuleOptions } from '../../../host/model/engine.js';
import { openEngine } from '../../support/engine/engine-harness.js';
import { temporaryFolder } from '../../support/harness.js';

const mb = 1 << 20;

const texts = Array.from({ length: 50 }, (_, i) => ({ id: i, text: 'x'.repeat(1000) }));

/** Rules that keep rows without end, each by an operator of its own. */
const growing: [what: string, sql: string, options?: Partial<RuleOptions>][] = [
  ['a tumbling window', 'SELECT * FROM flood GROUP BY TUMBLINGWINDOW(hh, 1)'],
  ['a sliding window', 'SELECT id, text FROM flood GROUP BY SLIDINGWINDOW(hh, 1) OVER (WHEN id = 99)'],
  ['a count window', 'SELECT id, text FROM flood GROUP BY COUNTWINDOW(10000000)'],
  [
    'a window behind a join',
    'SELECT * FROM flood AS a INNER JOIN flood AS b ON a.id = b.id GROUP BY TUMBLINGWINDOW(hh, 1)',
  ],
  ['a group of each row', 'SELECT count(*) AS n FROM flood GROUP BY concat(text, newuuid()), TUMBLINGWINDOW(hh, 1)'],
  [
    'the rows that event time holds back',
    'SELECT count(*) AS n FROM flood GROUP BY TUMBLINGWINDOW(ss, 1)',
    { isEventTime: true, lateToleranceMs: 10_000_000 },
  ],
];

for (const [what, sql, options] of growing) {
  test(`${what} that finds no more memory ends its rule, named with what it holds, and harms no other`, async () => {
    const opened = openEngine({ maxMemoryBytes: 48 * mb });
    opened.stream('CREATE STREAM flood () WITH (TYPE="simulator", CONF_KEY="flood", SHARED="true", TIMESTAMP="id")', {
      interval: 0,
      data: texts,
    });
    opened.stream('CREATE STREAM calm () WITH (TYPE="simulator", CONF_KEY="calm")', { interval: 2 });
    opened.run('good', 'SELECT id FROM flood WHERE id > 10', [['nop', {}]]);
    opened.run('calm', 'SELECT count(*) AS n FROM calm GROUP BY COUNTWINDOW(10)', [['nop', {}]]);
    opened.run('bad', sql, [['nop', {}]], options);
    const { message, metrics } = await opened.reach('bad', 'stopped by error', 30_000);
    // What doubles in one go may pass by the mark at which rules are ended for others.
    assert.match(
      message,
      new RegExp(
        `^memory is exhausted: (${/the rule holds [\d.]+ MiB, more than any other/.source}|${
          /operator \w+ holds [\d.]+ MiB and can't keep more/.source
        }); .* 48\\.0 MiB`,
      ),
    );
    assert.ok(Number(metrics.stateBytes) > 12 * mb);
    for (const rule of ['good', 'calm']) {
      const before = await opened.figure(rule, 'sinkRecordsOutTotal', () => true);
      await opened.figure(rule, 'sinkRecordsOutTotal', (value) => value > before + 5);
      assert.is((await opened.engine.status(rule)).metrics.exceptionsTotal, 0, rule);
    }
    await opened.close();
  });
}

test(
  'where memory gets scarce the log tells who holds it, and the rule with the most ends, not the one that asks ' +
    'next',
  async () => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'hoard'), `${JSON.stringify({ v: 1, k: 'y'.repeat(mb) })}\n`.repeat(20));
    const log = new NotedLog(silent);
    const opened = openEngine({ maxMemoryBytes: 48 * mb, log });
    opened.stream('CREATE STREAM hoard () WITH (TYPE="file", DATASOURCE="hoard", CONF_KEY="hoard")', {
      fileType: 'lines',
      path: folder,
      interval: 3_600_000,
    });
    opened.stream('CREATE STREAM flood () WITH (TYPE="simulator", CONF_KEY="flood")', { interval: 0, data: texts });
    opened.run('hoarder', 'SELECT v, k FROM hoard GROUP BY SLIDINGWINDOW(hh, 1)', [['nop', {}]]);
    await opened.figure('hoarder', 'sourceRecordsInTotal', (value) => value >= 20, 30_000);
    // 14,000 rows of a kilobyte: less than the hoarder has, more than is left.
    opened.run('modest', 'SELECT id, text FROM flood GROUP BY COUNTWINDOW(14000)', [['nop', {}]]);
    const { message } = await opened.reach('hoarder', 'stopped by error', 30_000);
    assert.match(message, /^memory is exhausted: the rule holds 2[\d.]+ MiB, more than any other; .* 48\.0 MiB/);
    await opened.figure('modest', 'sinkRecordsOutTotal', (value) => value > 0, 30_000);
    assert.is((await opened.engine.status('modest')).metrics.exceptionsTotal, 0);
    const told = log.noted.find((line) => line.includes('memory gets scarce'));
    assert.match(told ?? '', /of 48\.0 MiB are in use \(basic\.maxDataMemory\); rule hoarder 2[\d.]+ MiB/);
    await opened.close();
  },
);

/**
 * What statements take that no memory holds: a new partition with each row for ever, windows of years and of 10^9 rows.
 */
const endless: typeof growing = [
  ['a partition of each row', 'SELECT lag(id) OVER (PARTITION BY newuuid()) AS before FROM flood'],
  [
    'an open window of each row',
    'SELECT count(*) AS n FROM flood GROUP BY STATEWINDOW(id >= 0, id < 0) OVER (PARTITION BY newuuid())',
  ],
  [
    'a session for each of many partitions',
    'SELECT count(*) AS n FROM flood GROUP BY SESSIONWINDOW(dd, 3650, 3650) OVER (PARTITION BY newuuid())',
  ],
  [
    'a slide for each of many partitions',
    'SELECT text FROM flood GROUP BY SLIDINGWINDOW(dd, 3650) OVER (PARTITION BY newuuid() WHEN id < 0)',
  ],
  ['a hopping window of years', 'SELECT count(*) AS n FROM flood GROUP BY newuuid(), HOPPINGWINDOW(dd, 7300, 365)'],
  ['a sliding window of years', 'SELECT id, text FROM flood GROUP BY SLIDINGWINDOW(dd, 36500) OVER (WHEN id = 99)'],
  ['a delay of years', 'SELECT text FROM flood GROUP BY SLIDINGWINDOW(ss, 1, 100000000)'],
  ['a session of years', 'SELECT text FROM flood GROUP BY SESSIONWINDOW(dd, 3650, 3650)'],
  ['10^9 rows', 'SELECT text FROM flood GROUP BY COUNTWINDOW(1000000000)'],
  ['each 10th of 10^9 rows', 'SELECT collect(text) AS t FROM flood GROUP BY COUNTWINDOW(1000000000, 10)'],
];

for (const [what, sql, options] of [...growing, ...endless]) {
  test(`${what} that reaches the bound of its rule ends it, and harms no other`, async () => {
    const opened = openEngine();
    opened.stream('CREATE STREAM flood () WITH (TYPE="simulator", CONF_KEY="flood", SHARED="true", TIMESTAMP="id")', {
      interval: 0,
      data: texts,
    });
    const window = 'SELECT count(*) AS n FROM flood GROUP BY COUNTWINDOW(10)';
    opened.run('good', window, [['nop', {}]], { maxStateBytes: 4 * mb });
    opened.run('bad', sql, [['nop', {}]], { ...options, maxStateBytes: 4 * mb });
    const { message } = await opened.reach('bad', 'stopped by error', 30_000);
    assert.match(message, /^the rule keeps [\d.]+ MiB of state, the bound is 4\.0 MiB \(option maxStateBytes\)$/);
    const before = await opened.figure('good', 'sinkRecordsOutTotal', () => true);
    await opened.figure('good', 'sinkRecordsOutTotal', (value) => value > before + 5);
    assert.is((await opened.engine.status('good')).metrics.exceptionsTotal, 0);
    await opened.close();
  });
}

for (const maxStateBytes of [0, 4 * mb]) {
  const bound = maxStateBytes === 0 ? 'memory' : 'the bound of its rule';
  test(
    `a batch that is never full and reaches the end of ${bound} ` + 'ends its rule, named, and harms no other',
    async () => {
      const opened = openEngine({ maxMemoryBytes: 48 * mb });
      opened.stream('CREATE STREAM flood () WITH (TYPE="simulator", CONF_KEY="flood", SHARED="true")', {
        interval: 0,
        data: texts,
      });
      const path = join(temporaryFolder(), 'out');
      opened.run('good', 'SELECT id FROM flood WHERE id > 10', [['nop', {}]]);
      opened.run('bad', 'SELECT * FROM flood', [['file', { path, batchSize: 1e9, lingerInterval: 3_600_000 }]], {
        maxStateBytes,
      });
      const { message } = await opened.reach('bad', 'stopped by error', 30_000);
      const reason =
        maxStateBytes === 0
          ? /memory is exhausted: .* holds [\d.]+ MiB/
          : /keeps [\d.]+ MiB of state, the bound is 4\.0/;
      assert.match(message, reason);
      const before = await opened.figure('good', 'sinkRecordsOutTotal', () => true);
      await opened.figure('good', 'sinkRecordsOutTotal', (value) => value > before + 5);
      assert.is((await opened.engine.status('good')).metrics.exceptionsTotal, 0);
      await opened.close();
    },
  );
}

test('texts that double from column to column are errors of their rows, and cost the neighbour no row', async () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'rows'), `{"text":"${'x'.repeat(900)}"}\n`.repeat(4096));
  const opened = openEngine();
  opened.stream('CREATE STREAM s () WITH (TYPE="file", DATASOURCE="rows", CONF_KEY="s", SHARED="true")', {
    fileType: 'lines',
    path: folder,
    interval: 3_600_000,
  });
  const levels = 'abcdefghij';
  const columns = [...levels].map((name, i) => {
    const before = i === 0 ? 'text' : levels[i - 1];
    return `concat(${before}, ${before}) AS ${name}`;
  });
  opened.run('good', 'SELECT length(text) AS n FROM s', [['nop', {}]]);
  opened.run('bad', `SELECT ${columns.join(', ')} FROM s`, [['nop', {}]]);
  await opened.figure('bad', 'exceptionsTotal', (value) => value > 0, 60_000);
  assert.is(await opened.figure('good', 'sinkRecordsOutTotal', (value) => value >= 4096, 60_000), 4096);
  assert.is((await opened.engine.status('good')).metrics.exceptionsTotal, 0);
  assert.is(opened.engine.state('bad'), 'running');
  await opened.close();
});

test.run();
