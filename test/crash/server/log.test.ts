/** kill -9 while log files rotate: no line that was written is lost, none is cut in two, none comes twice. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { temporaryFolder } from '../../support/harness.js';

const rounds = Number(process.env.HAUMEA_CRASH_ROUNDS ?? 4);
const writer = fileURLToPath(new URL('../../support/crash/log-writer.ts', import.meta.url));

/** Runs the writer, kills it some time after its first line, and returns the number of the last line it has written. */
async function killedWriter(folder: string, first: number): Promise<number> {
  const child = spawn(process.execPath, ['--import', 'tsx', writer, folder, String(first)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => {
    if (output === '') setTimeout(() => child.kill('SIGKILL'), Math.random() * 100);
    output += chunk.toString();
  });
  await once(child, 'close');
  return Number(output.slice(0, output.lastIndexOf('\n')).split('\n').at(-1));
}

test('a killed server leaves whole log files', async () => {
  const folder = temporaryFolder();
  let written = 0;
  for (let round = 0; round < rounds; round++) {
    written = await killedWriter(folder, written + 1);
    const lines = readdirSync(folder).flatMap((name) =>
      readFileSync(join(folder, name), 'utf8').split('\n').slice(0, -1),
    );
    const numbers = lines.map((line) => {
      const match = /^time=\S+ level=error msg="line (\d+) x*" number=(\d+)$/.exec(line);
      assert.ok(match !== null && match[1] === match[2], line);
      return Number(match[1]);
    });
    const found = new Set(numbers);
    for (let i = 1; i <= written; i++) assert.ok(found.has(i), `line ${i} of ${written}`);
    // What came behind the last number that was read was written as well.
    assert.is(found.size, numbers.length, 'no line twice');
    written = Math.max(...numbers);
  }
  const files = readdirSync(folder).length;
  assert.ok(files > rounds, `${files} files`);
});

test.run();
