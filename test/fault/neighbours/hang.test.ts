/**
 * A data plane that hangs: a window of a derived table that is joined, with a billion pairs of rows to join at once,
 * keeps the thread busy for minutes.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { eventually } from '../../support/harness.js';
import { startWatchedServer } from '../../support/rest/watched-server.js';

const hangMs = 1000;
/** Answers come from the control plane, which must not wait for the thread that hangs. */
const promptMs = 500;

/** The rows come as fast as they are taken, and the join looks at each pair of a window's rows. */
const endless = `SELECT d.n FROM
  (SELECT count(*) AS n FROM trap INNER JOIN trap AS b ON trap.a + b.a < 0 GROUP BY TUMBLINGWINDOW(ms, 300)) AS d
  INNER JOIN trap AS c ON d.n = c.a GROUP BY TUMBLINGWINDOW(ms, 300)`;

async function open() {
  const { ask, make, status, supervisor, close } = await startWatchedServer(hangMs);
  const stream = async (name: string, rows: Record<string, unknown>[], interval: number) => {
    await ask('PUT', `/metadata/sources/simulator/confKeys/${name}`, { data: rows, interval, loop: true });
    await make('/streams', { sql: `CREATE STREAM ${name} () WITH (TYPE="simulator", CONF_KEY="${name}")` });
  };
  const rule = (id: string, sql: string, options: object = {}) =>
    make('/rules', { id, sql, actions: [{ nop: {} }], options });
  const progress = async (id: string) => {
    const before = Number((await status(id)).sinkRecordsOutTotal ?? 0);
    await eventually(`rows of ${id}`, async () => Number((await status(id)).sinkRecordsOutTotal ?? 0) > before);
  };
  return { ask, stream, rule, status, progress, supervisor, close };
}

test(
  'a rule that hangs the thread is stopped and named, all others run again, and REST answers all the ' + 'time',
  async () => {
    const { ask, stream, rule, status, progress, supervisor, close } = await open();
    await stream('calm', [{ a: 1 }], 5);
    await stream('trap', [{ a: 1 }], 0);
    await rule('one', 'SELECT a FROM calm');
    await rule('two', 'SELECT a * 2 AS b FROM calm WHERE a > 0');
    await progress('one');
    await progress('two');
    const thread = supervisor.threadId;
    await rule('spin', endless);
    let slowest = 0;
    const stopped = await eventually('the end of the thread', async () => {
      const began = performance.now();
      const [list, detail] = await Promise.all([ask('GET', '/rules'), ask('GET', '/rules/one')]);
      slowest = Math.max(slowest, performance.now() - began);
      assert.is(list.status, 200);
      assert.is(detail.status, 200);
      return list.json.find(({ id }: { id: string }) => id === 'spin').status.startsWith('Stopped');
    });
    assert.ok(stopped);
    assert.ok(slowest < promptMs, `an answer took ${Math.round(slowest)} ms`);
    assert.match((await status('spin')).message, /did not answer for \d+ ms while it worked for this rule/);
    await progress('one');
    await progress('two');
    assert.is.not(supervisor.threadId, thread);
    await close();
  },
);

test('a rule that hangs the thread again and again gives up after its restarts', async () => {
  const { stream, rule, status, progress, close } = await open();
  await stream('calm', [{ a: 1 }], 5);
  await stream('trap', [{ a: 1 }], 0);
  await rule('good', 'SELECT a FROM calm');
  await rule('spin', endless, {
    restartStrategy: { attempts: 1, delay: 10, multiplier: 1, jitterFactor: 0 },
  });
  await eventually(
    'the last attempt',
    async () => {
      const { status: state, nextStartTimestamp } = await status('spin');
      return state === 'Stopped: canceled by error.' && nextStartTimestamp === 0;
    },
    20_000,
  );
  await progress('good');
  await close();
});

test.run();
