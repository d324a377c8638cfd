/** Messages that are large, empty or refused, and a side without room for any. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { eventually, temporaryFolder } from '../../harness.js';
import type { SinkTrial } from './sink-side.js';

/** More than 16 MiB when it stands twice in a message. */
const half = 'x'.repeat(8_500_000);

export function addMessageFaults(trial: SinkTrial): void {
  trial.test(
    'a message of 17 MB arrives or is counted, and those behind it arrive',
    async () => {
      const { site } = trial;
      const from = trial.fresh(3);
      const stream = await trial.streamOf([{ id: from }, { id: from + 1, text: half }, { id: from + 2 }]);
      const id = await site.rule(stream, trial.action(), {}, `SELECT *, text AS again FROM ${stream}`);
      await trial.arrive(from, 1);
      await trial.arrive(from + 2, 1);
      const failed = await eventually('its fate', async () => {
        if ((await trial.lost(from + 1, 1)) === 0) return 'none';
        const { sinkRecordsFailedTotal: count } = await site.status(id);
        if (Number(count) > 0) return count;
        // Where nobody confirms it, the end of the connection is all that can be known.
        const isCut = trial.side.mayLose === true && Number(await site.figure(id, 'sink', 'exceptions_total')) > 0;
        return isCut ? 'cut' : undefined;
      });
      assert.ok(
        ['none', 'cut', 1].includes(failed as string | number),
        `it is gone, and ${failed} failures were counted`,
      );
      await site.delete(id);
    },
    'rows',
  );

  trial.test(
    'an empty message is out or counted, and takes no other with it',
    async () => {
      const { site } = trial;
      const from = trial.fresh(3);
      const dataTemplate = `{{if eq .id ${from + 1}}}{{else}}{{json .}}{{end}}`;
      const stream = await trial.streamOf([{ id: from }, { id: from + 1 }, { id: from + 2 }]);
      const id = await site.rule(stream, trial.action({ dataTemplate }));
      await trial.arrive(from, 1);
      await trial.arrive(from + 2, 1);
      await eventually('three messages that are out or counted', async () => {
        const { sinkRecordsOutTotal: out, sinkRecordsFailedTotal: failed } = await site.status(id);
        return Number(out) + Number(failed) === 3;
      });
      await site.delete(id);
    },
    'empty',
  );

  trial.test(
    'a row that is refused is counted and becomes a dead letter, all others arrive',
    async () => {
      const { site } = trial;
      const { prepare, row, props, reason } = trial.side.rejects!;
      const from = trial.fresh(20);
      const bad = from + 7;
      await prepare?.(bad);
      const path = join(temporaryFolder(), 'letters.out');
      const deadLetter = { file: { path, fileType: 'lines' } };
      const more = typeof row === 'function' ? row(bad) : row;
      const rows = Array.from({ length: 20 }, (_, i) => ({ id: from + i, ...(from + i === bad && more) }));
      const id = await site.rule(await trial.streamOf(rows), trial.action({ ...props, deadLetter }));
      await trial.arrive(from, 7);
      await trial.arrive(bad + 1, 12);
      await trial.told(id, reason);
      const letters = await eventually('the letter', () => linesOf(path));
      assert.is(letters.length, 1);
      const letter = JSON.parse(letters[0]!) as Record<string, string>;
      assert.is(letter.rule, id);
      assert.match(letter.reason!, reason);
      const { message = '', encoding } = letter;
      const text = encoding === 'base64' ? Buffer.from(message, 'base64').toString() : message;
      assert.ok(text.includes(String(bad)), `the letter has ${text.slice(0, 200)}`);
      const { sinkRecordsFailedTotal: failed } = await site.status(id);
      assert.is(failed, 1);
      assert.is(await trial.lost(bad, 1), 1);
      await site.delete(id);
    },
    'rejects',
  );

  trial.test(
    'what finds no room waits and is named, other rules go on, and nothing is lost',
    async () => {
      const { site } = trial;
      const { props, fill, free, reason } = trial.side.full!;
      const from = trial.fresh(500);
      await fill();
      const id = await site.rule(await trial.flow(from, 500), trial.action(props));
      await trial.told(id, reason);
      await site.worksBeside();
      await free();
      await trial.arrive(from, 500);
      await eventually('all as out', async () => (await site.status(id)).sinkRecordsOutTotal === 500);
      assert.is((await site.status(id)).sinkRecordsFailedTotal, 0);
      await site.delete(id);
    },
    'full',
  );
}

/** Whole lines of a file; undefined while it has none. */
function linesOf(path: string): string[] | undefined {
  try {
    const lines = readFileSync(path, 'utf8').split('\n').slice(0, -1);
    return lines.length > 0 ? lines : undefined;
  } catch {
    return undefined;
  }
}
