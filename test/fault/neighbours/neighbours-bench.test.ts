/**
 * `haumea bench neighbours` on itself, for some seconds: what it counts while a sink is stuck, while it is away, and
 * while the broker between two rules is. `HAUMEA_NEIGHBOURS=long` runs it as long as a release wants.
 */
import { spawn } from 'node:child_process';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { TrialResult } from '../../../bench/neighbours/trials.js';
import { hasMosquitto } from '../../support/brokers/mosquitto.js';
import { announceSkip, haumea } from '../../support/harness.js';

if (!hasMosquitto) announceSkip('the broker between two rules away', 'mosquitto is not installed');
const isLong = process.env.HAUMEA_NEIGHBOURS === 'long';

async function neighbours(trial: string, short: readonly string[]): Promise<TrialResult[]> {
  const child = spawn(process.execPath, [...haumea, 'bench', 'neighbours', trial, '--json', ...(isLong ? [] : short)]);
  const texts = ['', ''];
  child.stdout.on('data', (chunk) => (texts[0] += chunk));
  child.stderr.on('data', (chunk) => (texts[1] += chunk));
  const code = await new Promise((resolve) => child.once('close', resolve));
  assert.is(code, 0, texts.join('\n'));
  return JSON.parse(texts[0]!) as TrialResult[];
}

/** Lost, out of order: of the healthy rules, of the one in trouble. */
const broken = ({ near, far }: TrialResult) => [near.lost, near.reordered, far.lost, far.reordered];

test('one stuck sink among many rules costs nobody a row', async () => {
  const results = await neighbours('stuck', ['--rules', '5', '--messages', '9000', '--turns', '1']);
  for (const result of results) assert.equal(broken(result), [0, 0, 0, 0], JSON.stringify(result));
  assert.is(results.length, hasMosquitto ? 2 : 1);
  assert.ok(results[0]!.far.different >= 9000);
});

test('with a cache nothing is lost nor changes its place while the sink, or the broker, is away', async () => {
  const results = await neighbours('cache', ['--messages', '20000', '--rate', '8000', '--away', '2s']);
  for (const result of results) assert.equal(broken(result), [0, 0, 0, 0], JSON.stringify(result));
  assert.equal(
    results.map(({ trial, far }) => [trial, far.different]).filter(([, rows]) => Number(rows) >= 20_000).length,
    hasMosquitto ? 2 : 1,
  );
});

test.run();
