/**
 * Faults that every sink must live through, against a real other side: it is absent, goes away, hangs, refuses us;
 * messages are huge; rules share its connection; the engine is killed. A connector's test describes its other side and
 * calls `sinkFaults`.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'uvu';
import * as assert from 'uvu/assert';
import { eventually, temporaryFolder } from '../../harness.js';
import { missing, type OtherSide, type Refusal, type Row, Site } from './site.js';

export interface SinkSide extends OtherSide {
  /** Properties of an action; each message is one row with `id`. */
  readonly props: Row;
  /** Ids of the rows that are there, each as often as it came. */
  arrived(): Promise<readonly number[]> | readonly number[];
  readonly refusal?: Refusal;
  /** Rows, one a ms, that flow until it is back: a rule whose input ends waits 5 s for its sinks. */
  readonly rowsOverKill?: number;
  /** Nothing confirms a message, so that what was under way when it was killed may be gone. */
  readonly mayLose?: boolean;
}

/** Adds the faults of a sink; `name` is that of the other side, where there are several. */
export function sinkFaults(test: Test, type: string, open: () => Promise<SinkSide>, name = type): void {
  let site: Site;
  let side: SinkSide;
  let next = 0;
  /** Ids of a test's own. */
  const fresh = (count: number) => {
    next += count;
    return next - count;
  };
  const action = (props: Row = {}) => ({ [type]: { sendSingle: true, ...side.props, ...props } });
  const arrive = (from: number, count: number) =>
    eventually(`${count} rows`, async () => missing(await side.arrived(), from, count).length === 0);
  const lost = async (from: number, count: number) => missing(await side.arrived(), from, count).length;

  test.before(async () => {
    side = await open();
    site = await Site.open();
  });
  test.after(async () => {
    side?.resume();
    await site?.server.stop();
    await side?.close();
  });

  test(`${name} sink: what was made while the other side was absent arrives when it is there`, async () => {
    await side.kill();
    const from = fresh(100);
    const id = await site.rule(await site.rows(from, 100), action());
    await eventually('a failure to connect', async () => {
      return String(await site.figure(id, 'sink', 'connection_last_disconnected_message')) !== '';
    });
    assert.not.ok(await site.isConnected(id, 'sink'));
    await side.start();
    await arrive(from, 100);
    await site.delete(id);
  });

  test(`${name} sink: nothing is lost, or unseen, when the other side is killed and comes back`, async () => {
    const count = side.rowsOverKill ?? 2000;
    const from = fresh(count);
    const id = await site.rule(await site.rows(from, count, { sendInterval: 1 }), action());
    await arrive(from, 200);
    await side.kill();
    await eventually('the end of the connection', async () => !(await site.isConnected(id, 'sink')));
    await side.start();
    let told = '';
    const all = eventually('the rest', async () => {
      const failed = Number(await site.figure(id, 'sink', 'exceptions_total'));
      const gone = missing(await side.arrived(), from, count);
      told = `${gone.length} rows are missing, the first is ${(gone[0] ?? 0) - from}, ${failed} exceptions`;
      const isLast = !gone.includes(from + count - 1);
      return isLast && (side.mayLose === true ? gone.length === 0 || failed > 0 : gone.length === 0);
    });
    await all.catch(async (error: Error) => {
      throw new Error(`${error.message}: ${told}; ${JSON.stringify(await site.status(id))}`);
    });
    await site.delete(id);
  });

  test(`${name} sink: one that hangs holds neither other rules nor the end of its own, nor memory`, async () => {
    const count = 20_000;
    const from = fresh(count);
    side.pause();
    const id = await site.rule(await site.rows(from, count, {}, { text: 'x'.repeat(1000) }), action());
    await site.worksBeside();
    await site.delete(id);
    const back = await site.rule(await site.rows(from, count, {}, { text: 'x'.repeat(1000) }), action());
    await site.worksBeside();
    side.resume();
    await arrive(from, count);
    await site.delete(back);
  });

  test(`${name} sink: rules that share a connection end each on its own`, async () => {
    const count = 1000;
    const [first, second] = [fresh(count), fresh(count)];
    const stopped = await site.rule(await site.rows(first, count, { sendInterval: 1 }), action());
    const staying = await site.rule(await site.rows(second, count, { sendInterval: 1 }), action());
    await arrive(first, 50);
    await site.delete(stopped);
    await arrive(second, count);
    await site.delete(staying);
  });

  test(`${name} sink: a message of 15 MB arrives or is counted, and those behind it arrive`, async () => {
    const from = fresh(3);
    const file = join(site.server.data, 'large.in');
    const large = { id: from + 1, text: 'x'.repeat(15_000_000) };
    writeFileSync(file, [{ id: from }, large, { id: from + 2 }].map((row) => `${JSON.stringify(row)}\n`).join(''));
    const id = await site.rule(await site.stream('file', file, { fileType: 'lines' }), action());
    await arrive(from, 1);
    await arrive(from + 2, 1);
    const isThere = (await lost(from + 1, 1)) === 0;
    const failed = await site.figure(id, 'sink', 'exceptions_total');
    assert.ok(isThere || failed === 1, `it did not arrive, and ${failed} failures were counted`);
    await site.delete(id);
  });

  test(`${name} sink: a wrong password is named, and shown nowhere`, async () => {
    if (side.refusal === undefined) return assert.is(side.refusal, undefined);
    const { props, reason, secret } = side.refusal;
    const id = await site.rule(await site.rows(fresh(10), 10), action(props));
    await eventually('the reason', async () => {
      return reason.test(JSON.stringify(await site.status(id)));
    });
    await site.hides(secret, id);
    await site.delete(id);
    return undefined;
  });

  test(`${name} sink: with qos 1 nothing is lost when the engine is killed`, async () => {
    const count = 3000;
    const from = fresh(count);
    const data = temporaryFolder();
    let own = await Site.open(data);
    const options = { qos: 1, checkpointInterval: '200ms' };
    await own.rule(await own.rows(from, count, { sendInterval: 1 }), action(), options);
    for (let n = 1; n <= 2; n++) {
      await arrive(from, n * 500);
      await own.server.stop('SIGKILL');
      own = await Site.open(data);
    }
    await arrive(from, count);
    await own.server.stop();
  });
}
