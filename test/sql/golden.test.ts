/**
 * The recorded SQL cases of a real engine, run over REST against a server of ours by the cases' own runner.
 *
 * `unsupported.json` names each case that is not supported yet, or where we differ on purpose, below its reason.
 * A listed case must really fail: one that passes is an error, so that the list can't go stale.
 */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { announceSkip, startServer, temporaryFolder, within } from '../support/harness.js';

const golden = fileURLToPath(new URL('../../../shared/golden/', import.meta.url));
const listFile = fileURLToPath(new URL('./unsupported.json', import.meta.url));
const runTimeoutMs = 280_000;

/** Reason → ids of cases. */
type Unsupported = Record<string, string[]>;

interface Outcome {
  passed: string[];
  failed: Map<string, string>;
  skipped: number;
  summary: string;
}

/** Runs the recorded cases against the server and reads the runner's lines. */
async function runCases(base: string): Promise<Outcome> {
  const child = spawn(
    'python3',
    [
      `${golden}run-sql.py`,
      '--base',
      base,
      '--workdir',
      temporaryFolder(),
      '--jobs',
      '4',
      '--verbose',
      '--timeout',
      '5',
    ],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  );
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
  await within(runTimeoutMs, 'the recorded cases', new Promise((resolve) => child.once('close', resolve)));
  const outcome: Outcome = { passed: [], failed: new Map(), skipped: 0, summary: '' };
  for (const line of output.split('\n')) {
    const [word, id = ''] = line.split(/\s+/);
    if (word === 'ok') outcome.passed.push(id);
    else if (word === 'FAIL') outcome.failed.set(id.replace(/:$/, ''), line);
    else if (word === 'skip') outcome.skipped++;
    else if (/^\d+ passed, \d+ failed/.test(line)) outcome.summary = line;
  }
  if (outcome.summary === '') throw new Error(`the runner gave no summary:\n${output.slice(-2000)}`);
  return outcome;
}

const missing = !existsSync(golden)
  ? 'the recorded cases are not beside this checkout'
  : spawnSync('python3', ['--version']).status !== 0
    ? 'python3 is not installed'
    : '';

if (missing !== '') {
  announceSkip('recorded SQL cases', missing);
} else {
  test('recorded SQL cases pass, but for those listed as unsupported', async () => {
    const list = JSON.parse(readFileSync(listFile, 'utf8')) as Unsupported;
    const server = await startServer({ env: { TZ: 'UTC' } });
    const outcome = await runCases(server.base);
    await server.stop();
    const listed = new Set(Object.values(list).flat());
    const wrong: string[] = [];
    for (const [id, line] of outcome.failed) if (!listed.has(id)) wrong.push(line);
    for (const id of outcome.passed) if (listed.has(id)) wrong.push(`${id} passes but is listed as unsupported`);
    for (const id of listed) {
      if (!outcome.failed.has(id) && !outcome.passed.includes(id)) wrong.push(`${id} is listed but was not run`);
    }
    const unsupported = [...outcome.failed.keys()].filter((id) => listed.has(id)).length;
    console.log(
      `${outcome.passed.length} cases passed, ${wrong.length} failed, ${unsupported} unsupported by name, ` +
        `${outcome.skipped} not checkable`,
    );
    assert.equal(wrong, []);
  });
}

test.run();
