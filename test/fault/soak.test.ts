/**
 * The soak on itself, for some seconds: rules come and go under load, and those that stay lose nothing. What grows
 * shows in an hour only: `haumea bench soak`.
 */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { counting } from '../../bench/soak/rules.js';
import type { SoakResult } from '../../bench/soak/run.js';
import { haumea, temporaryFolder } from '../support/harness.js';

test('while rules are made, changed and deleted the others lose no message, and each figure is looked at', async () => {
  const out = temporaryFolder();
  const options = { duration: '15s', rate: 2000, rules: 19, churn: 8, sample: '1s', out };
  const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]);
  const child = spawn(process.execPath, [...haumea, 'bench', 'soak', '--json', ...args]);
  const texts = ['', ''];
  child.stdout.on('data', (chunk) => (texts[0] += chunk));
  child.stderr.on('data', (chunk) => (texts[1] += chunk));
  const code = await new Promise((resolve) => child.once('close', resolve));
  assert.is(code, 0, texts.join('\n'));
  const result = JSON.parse(texts[0]!) as SoakResult;
  assert.ok(result.sent > 0);
  assert.equal(result.counted, Object.fromEntries(counting.map((name) => [name, result.sent])));
  assert.equal([result.rows.received, result.rows.lost, result.rows.repeated], [result.rows.expected, 0, 0]);
  assert.ok(result.changes.create! > 0);
  const looks = readFileSync(join(out, 'soak-samples.jsonl'), 'utf8').trim().split('\n');
  const last = JSON.parse(looks.at(-1)!) as Record<string, number | null>;
  const figures = ['rss', 'heapControl', 'heapData', 'kernel', 'threads', 'files', 'disk', 'diskFiles'];
  if (process.platform === 'linux') for (const name of figures) assert.ok(Number(last[name]) > 0, name);
});

test.run();
