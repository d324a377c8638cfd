/** The first rule of README, word by word but for addresses and the length of its window. */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { announceSkip, eventually, startServer, temporaryFolder } from '../harness.js';
import { openBroker } from '../unit/connectors/broker.js';

const readme = readFileSync(fileURLToPath(new URL('../../README.md', import.meta.url)), 'utf8');
const block = /## First rule.*?```\n(.*?)```/s.exec(readme)?.[1] ?? '';
const promised = /`data\/hot\.txt` has the line `([^`]+)`/.exec(readme)?.[1];
const missing = ['curl', 'mosquitto_pub'].find((name) => spawnSync(name, ['--help']).error !== undefined);

if (missing !== undefined) {
  announceSkip('the first rule of README', `${missing} is not installed`);
  test.skip('the first rule of README', () => undefined);
} else {
  const server = await startServer();
  const broker = await openBroker();
  test.after(async () => {
    await server.stop();
    await broker.close();
  });
  test('the first rule of README gives the promised line', async () => {
    const lines = block
      .trim()
      .replaceAll('localhost:9081', new URL(server.base).host)
      .replaceAll('tcp://127.0.0.1:1883', broker.url)
      .replaceAll('mosquitto_pub ', `mosquitto_pub -p ${broker.port} `)
      .replaceAll('TUMBLINGWINDOW(ss, 10)', 'TUMBLINGWINDOW(ss, 1)')
      .split('\n');
    const answers: string[] = [];
    const warnings: string[] = [];
    for (const line of lines) {
      const child = await run(line);
      assert.is(child.code, 0, `${line}\n${child.text}`);
      answers.push(child.text);
      warnings.push(...child.warnings);
    }
    assert.ok(lines.some((line) => line.startsWith('mosquitto_pub')));
    assert.equal(answers.slice(0, 3), ['', 'Stream telem is created.', 'Rule hot was created successfully.']);
    const file = join(server.data, 'hot.txt');
    const warned = warnings.length > 0 ? `, after the warnings ${warnings.join('; ')}` : '';
    const text = await eventually(`the result${warned}`, () => {
      try {
        return readFileSync(file, 'utf8') || undefined;
      } catch {
        return undefined;
      }
    });
    assert.is(text, `${promised}\n`);
  });
}

/** Runs a line of the shell; not with spawnSync, since the broker lives in this process. */
async function run(line: string): Promise<{ code: number | null; text: string; warnings: string[] }> {
  const { spawn } = await import('node:child_process');
  const headers = join(temporaryFolder(), 'headers');
  const child = spawn('sh', ['-c', line.replace(/^curl /, `curl -sS -D ${headers} `)], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (text += chunk));
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  const head = existsSync(headers) ? readFileSync(headers, 'utf8') : '';
  return { code, text, warnings: [...head.matchAll(/^warning: (.*?)\r?$/gim)].map(([, warning = '']) => warning) };
}

test.run();
