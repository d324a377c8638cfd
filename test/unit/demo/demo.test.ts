/** The demo as a process: it takes its ports from the environment, and others when those are in use. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer } from 'node:net';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { eventually, freePort, haumea } from '../../support/harness.js';

async function demo(env: Record<string, string>, look: (output: string) => Promise<void> | void): Promise<string> {
  const child = spawn(process.execPath, [...haumea, 'demo', '--rate', '50'], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
  const ended = once(child, 'exit');
  try {
    await eventually(
      'the demo',
      () => /Ctrl-C ends the demo/.test(output) || child.exitCode !== null || undefined,
      60_000,
    );
    await look(output);
  } finally {
    child.kill('SIGTERM');
    await ended;
  }
  return output;
}

test('the engine of the demo listens where the environment says', async () => {
  const [rest, data] = [await freePort(), await freePort()];
  await demo(
    { KUIPER__BASIC__RESTPORT: String(rest), KUIPER__SOURCE__HTTPSERVERPORT: String(data) },
    async (output) => {
      assert.match(output, `engine at http://127.0.0.1:${rest}`);
      const [, command = '', path = ''] = /-d '(\{"id":"hot".*\})'\n *tail -F (\S+hot\.txt)/.exec(output) ?? [];
      const made = await fetch(`http://127.0.0.1:${rest}/rules`, { method: 'POST', body: command });
      assert.is(made.status, 201);
      await eventually('the file that the hint names', () => existsSync(path) || undefined);
      await fetch(`http://127.0.0.1:${rest}/rules/hot`, { method: 'DELETE' });
      const rules = (await (await fetch(`http://127.0.0.1:${rest}/rules`)).json()) as { id: string }[];
      assert.equal(
        rules.map(({ id }) => id),
        ['alerts', 'averages'],
      );
    },
  );
});

test('a port in use is told of, and another one taken', async () => {
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  const { port } = taken.address() as { port: number };
  const env = { KUIPER__BASIC__RESTPORT: String(port), KUIPER__SOURCE__HTTPSERVERPORT: String(await freePort()) };
  await demo(env, (output) => {
    const [, other] = new RegExp(`port ${port} is in use, REST takes (\\d+)`).exec(output) ?? [];
    assert.match(output, `engine at http://127.0.0.1:${other}`);
  });
  taken.close();
});

test('a port that is none is refused by name', async () => {
  const output = await demo({ KUIPER__BASIC__RESTPORT: 'http' }, () => undefined);
  assert.match(output, /the port of REST must be a number up to 65535, not http/);
});

test.run();
