/**
 * Faults that every source must live through, against a real other side: it is absent, goes away, hangs, refuses us;
 * messages are huge, empty or do not decode, or come faster than the sinks take them; rules share its connection; the
 * engine is killed. A connector's test describes its other side and calls `sourceFaults`; what the side lacks, it names
 * with the reason.
 */
import { join } from 'node:path';
import type { Test } from 'uvu';
import { eventually, temporaryFolder } from '../../harness.js';
import { Site } from './site.js';
import { addSourceMessages } from './source-messages.js';
import { addSourceRefusals } from './source-refusals.js';
import { type SourceSide, SourceTrial, type SourceWords } from './source-side.js';

export type { SourceSide };

/** Adds the faults of a source. */
export function sourceFaults(test: Test, type: string, open: () => Promise<SourceSide>, words: SourceWords = {}): void {
  const trial = new SourceTrial(test, type, open, words);
  test.before(() => trial.start());
  test.after(() => trial.stop());
  addAbsence(trial);
  addSharing(trial);
  addSourceMessages(trial);
  addSourceRefusals(trial);
  addKills(trial);
}

function addAbsence(trial: SourceTrial): void {
  trial.test(
    'one that is absent at the start is read when it is there',
    async () => {
      const { site, side } = trial;
      await side.kill();
      const rows = await trial.reading(site);
      const { id } = rows;
      await eventually('a failure to connect', async () => {
        return String(await site.figure(id, 'source', 'connection_last_disconnected_message')) !== '';
      });
      await side.start();
      await trial.connected(site, id);
      const from = trial.fresh(50);
      await side.send(trial.messages(from, 50), site);
      await trial.has(rows, from, 50);
      await site.delete(id);
    },
    'absence',
  );

  trial.test(
    'it goes on when the other side was killed and is back',
    async () => {
      const { site, side } = trial;
      const rows = await trial.reading(site);
      const { id } = rows;
      await trial.connected(site, id);
      const before = trial.fresh(200);
      await side.send(trial.messages(before, 200), site);
      await trial.has(rows, before, 200);
      await side.kill();
      await eventually('the end of the connection', async () => !(await site.isConnected(id, 'source')));
      await side.start();
      await trial.connected(site, id);
      const after = trial.fresh(200);
      await side.send(trial.messages(after, 200), site);
      await trial.has(rows, after, 200);
      await site.delete(id);
    },
    'kill',
  );

  trial.test(
    'one that hangs holds neither other rules nor the end of its own',
    async () => {
      const { site, side } = trial;
      const { id } = await trial.reading(site);
      await trial.connected(site, id);
      side.pause();
      await site.worksBeside();
      await site.delete(id);
      const absent = await trial.reading(site);
      await site.worksBeside();
      await site.delete(absent.id);
      side.resume();
    },
    'hang',
  );
}

function addSharing(trial: SourceTrial): void {
  trial.test(
    'rules that share a stream, or by two streams a named connection, end each on its own',
    async () => {
      const { site, side } = trial;
      const on = await site.onNamed('source', trial.type, side.props);
      const first = await trial.reading(site, {}, {}, on);
      await trial.connected(site, first.id);
      const path = join(temporaryFolder(), 'second.out');
      const second = await site.rule(first.stream, { file: { path, fileType: 'lines', sendSingle: true } });
      const third = await trial.reading(site, {}, {}, on);
      await trial.connected(site, second);
      await trial.connected(site, third.id);
      await site.delete(second);
      await site.delete(third.id);
      const from = trial.fresh(50);
      await side.send(trial.messages(from, 50), site);
      await trial.has(first, from, 50);
      await site.delete(first.id);
    },
    'ids',
  );
}

function addKills(trial: SourceTrial): void {
  trial.test(
    'with qos 1 nothing is lost when engine and other side are killed',
    async () => {
      const { side } = trial;
      const data = temporaryFolder();
      let own = await Site.open(data);
      const rows = await trial.reading(own, { qos: 1, checkpointInterval: '200ms' });
      await trial.connected(own, rows.id);
      const from = trial.fresh(1200);
      await side.send(trial.messages(from, 400), own);
      await own.server.stop('SIGKILL');
      await side.send(trial.messages(from + 400, 200), own);
      own = await Site.open(data);
      await side.send(trial.messages(from + 600, 200), own);
      await side.kill();
      await side.start();
      await side.send(trial.messages(from + 800, 400), own);
      await trial.has({ ...rows, at: own }, from, 1200);
      await own.server.stop();
    },
    'keeps',
  );
}
