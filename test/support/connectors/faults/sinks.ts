/**
 * Faults that every sink must live through, against a real other side: it is absent, goes away, hangs, is full, refuses
 * us or a row; messages are huge or empty; rules share its connection; the engine is killed. A connector's test
 * describes its other side and calls `sinkFaults`.
 */
import type { Test } from 'uvu';
import * as assert from 'uvu/assert';
import { costly, eventually, temporaryFolder } from '../../harness.js';
import { addMessageFaults } from './sink-messages.js';
import { addRefusals } from './sink-refusals.js';
import { type SinkSide, SinkTrial, type SinkWords } from './sink-side.js';
import { missing, Site } from './site.js';

export type { SinkSide };

/** Most that a rule may hold of 240 MB that its sink does not take, bytes. */
const mostHeld = 160 << 20;

/** Adds the faults of a sink; what its other side lacks is said with the reason. */
export function sinkFaults(test: Test, type: string, open: () => Promise<SinkSide>, words: SinkWords = {}): void {
  const trial = new SinkTrial(test, type, open, words);
  test.before(() => trial.start());
  test.after(() => trial.stop());
  addLifeFaults(trial);
  addMessageFaults(trial);
  addRefusals(trial);
  addKills(trial);
}

function addLifeFaults(trial: SinkTrial): void {
  trial.test(
    'what was made while the other side was absent arrives when it is there',
    async () => {
      const { site, side } = trial;
      await side.kill();
      const from = trial.fresh(100);
      const id = await site.rule(await trial.flow(from, 100), trial.action());
      await eventually('a failure to connect', async () => {
        return String(await site.figure(id, 'sink', 'connection_last_disconnected_message')) !== '';
      });
      assert.not.ok(await site.isConnected(id, 'sink'));
      await side.start();
      await trial.arriveAll(from, 100);
      await site.delete(id);
    },
    'absence',
  );

  trial.test(
    'nothing is lost, or unseen, when the other side is killed and comes back',
    async () => {
      const { site, side } = trial;
      const count = 800;
      const from = trial.fresh(count);
      const id = await site.rule(await trial.flow(from, count, { sendInterval: 1 }), trial.action());
      await trial.arrive(from, 100);
      await side.kill();
      await eventually('the end of the connection', async () => !(await site.isConnected(id, 'sink')));
      await side.start();
      let told = '';
      const look = costly(async () => {
        const failed = Number(await site.figure(id, 'sink', 'exceptions_total'));
        const gone = missing(await side.arrived(), from, count);
        told = `${gone.length} rows are missing, the first is ${(gone[0] ?? 0) - from}, ${failed} exceptions`;
        const isLast = !gone.includes(from + count - 1);
        return isLast && (side.mayLose === true ? gone.length === 0 || failed > 0 : gone.length === 0);
      });
      const all = eventually('the rest', look);
      await all.catch(async (error: Error) => {
        throw new Error(`${error.message}: ${told}; ${JSON.stringify(await site.status(id))}`);
      });
      await site.delete(id);
    },
    'kill',
  );

  trial.test(
    'one that hangs holds neither other rules nor the end of its own, nor memory',
    async () => {
      const { site, side } = trial;
      const before = site.memory();
      side.pause();
      const large = { text: 'x'.repeat(8000) };
      const id = await site.rule(await trial.flow(trial.fresh(30_000), 30_000, {}, large), trial.action());
      await site.worksBeside();
      const grown = site.memory() - before;
      assert.ok(grown < mostHeld, `${grown >> 20} MB more are held`);
      if (side.isBack !== undefined) await trial.told(id, /did not keep up and lost the connection/);
      await site.delete(id);
      const count = 5000;
      const from = trial.fresh(count);
      const rows = await trial.flow(from, count, {}, { text: 'x'.repeat(1000) });
      if (side.isBack !== undefined) {
        side.resume();
        await side.isBack();
      }
      const back = await site.rule(rows, trial.action());
      await site.worksBeside();
      side.resume();
      await trial.arriveAll(from, count);
      await site.delete(back);
    },
    'hang',
  );

  trial.test(
    'rules that share a named connection end each on its own',
    async () => {
      const { site } = trial;
      const count = 1000;
      const [first, second] = [trial.fresh(count), trial.fresh(count)];
      const action = { [trial.type]: await site.onNamed('sink', trial.type, trial.props()) };
      const stopped = await site.rule(await trial.flow(first, count, { sendInterval: 1 }), action);
      const staying = await site.rule(await trial.flow(second, count, { sendInterval: 1 }), action);
      await trial.arrive(first, 50);
      await site.delete(stopped);
      await trial.arriveAll(second, count);
      await site.delete(staying);
    },
    'rows',
  );
}

function addKills(trial: SinkTrial): void {
  trial.test(
    'with qos 1 nothing is lost when the engine is killed',
    async () => {
      const count = 1200;
      const from = trial.fresh(count);
      const data = temporaryFolder();
      let own = await Site.open(data);
      const options = { qos: 1, checkpointInterval: '200ms' };
      await own.rule(await own.rows(from, count, { sendInterval: 1 }), trial.action(), options);
      for (let n = 1; n <= 2; n++) {
        await trial.arrive(from, n * 200);
        await own.server.stop('SIGKILL');
        own = await Site.open(data);
      }
      await trial.arriveAll(from, count);
      await own.server.stop();
    },
    'restart',
  );
}
