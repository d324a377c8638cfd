/** kill -9 at any moment: what was acknowledged is there, changes made together are there together. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { silent } from '../../../host/base/log/log.js';
import { openStore } from '../../../host/meta/journal/journal-store.js';
import { temporaryFolder } from '../../support/harness.js';

const rounds = Number(process.env.HAUMEA_CRASH_ROUNDS ?? 6);
const writer = fileURLToPath(new URL('../../support/crash/store-writer.ts', import.meta.url));

/** Runs the writer, kills it some time after it began, and returns the lines it acknowledged. */
async function killedWriter(path: string, round: number): Promise<string[]> {
  const child = spawn(process.execPath, ['--import', 'tsx', writer, path, String(round)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  let isReady = false;
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString();
    if (isReady) return;
    isReady = true;
    setTimeout(() => child.kill('SIGKILL'), Math.random() * 400);
  });
  await once(child, 'close');
  return output.slice(0, output.lastIndexOf('\n')).split('\n').slice(1);
}

test('nothing acknowledged is lost', async () => {
  const path = join(temporaryFolder(), 'sqliteKV.db');
  const expected = new Map<string, string>();
  let acknowledged = 0;
  for (let round = 0; round < rounds; round++) {
    const lines = await killedWriter(path, round);
    acknowledged += lines.length;
    for (const line of lines) {
      const [key, value] = line.split(' ') as [string, string];
      expected.set(key, value);
    }
    // A copy, so that looking at the files doesn't fold them: the next writer finds them as the kill left them.
    const copy = join(temporaryFolder(), 'db');
    cpSync(join(path, '..'), copy, { recursive: true });
    const store = await openStore({ path: join(copy, 'sqliteKV.db'), log: silent });
    const ahead = new Set<string>();
    for (const [key, value] of expected) {
      const found = store.get('rule', key) ?? '-';
      if (found === value) continue;
      // A worker makes one change at a time: the last may be on disk without its acknowledgement having come through.
      const worker = key.split('-')[0] as string;
      assert.not.ok(ahead.has(worker), `round ${round}: ${key} is ${found}, acknowledged was ${value}`);
      assert.ok(found === '-' || found.startsWith(`${round}.`), `round ${round}: ${key} fell back to ${found}`);
      ahead.add(worker);
      expected.set(key, found);
    }
    for (const key of store.keys('rule')) assert.is(store.get('ruleState', key), store.get('rule', key), key);
    await store.close();
    if (round % 3 === 2) await (await openStore({ path, log: silent })).close();
  }
  assert.ok(acknowledged > 100, `only ${acknowledged} changes were made`);
});

test.run();
