/** Child of store.test.ts: changes definitions as fast as it can and prints each change once it is acknowledged. */
import { silent } from '../../../host/base/log/log.js';
import { openStore } from '../../../host/meta/journal/journal-store.js';

const [path, round] = process.argv.slice(2);
const store = await openStore({ path: path as string, log: silent, snapshotBytes: 20_000 });

/** Keys a worker has to itself, so that the order of its changes is known. */
async function work(worker: number): Promise<void> {
  for (let i = 0; ; i++) {
    const key = `w${worker}-${i % 20}`;
    if (i % 7 === 6) {
      await store.batch([
        ['rule', key, null],
        ['ruleState', key, null],
      ]);
      process.stdout.write(`${key} -\n`);
    } else {
      const value = `${round}.${i}.${'x'.repeat(i % 300)}`;
      await store.batch([
        ['rule', key, value],
        ['ruleState', key, value],
      ]);
      process.stdout.write(`${key} ${value}\n`);
    }
  }
}

process.stdout.write('ready\n');
await Promise.all([0, 1, 2, 3].map(work));
