/**
 * The commands of the tutorial and of the how-to pages, word by word but for addresses and the length of windows, each
 * page on a server of its own: what a page says that they print they print.
 */
import { spawn, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openBroker } from '../../support/brokers/broker.js';
import {
  announceSkip,
  eventually,
  freePort,
  haumea,
  startServer,
  type TestServer,
  temporaryFolder,
  within,
} from '../../support/harness.js';
import { needsKafka, sharedKafka } from '../../support/servers/kafka.js';

const docs = fileURLToPath(new URL('../../../docs/', import.meta.url));
const names = ['tutorial.md', ...readdirSync(join(docs, 'howto')).map((name) => `howto/${name}`)];

/** A block of commands, with what it prints where the page says it. */
interface Block {
  readonly commands: string;
  readonly printed: string | undefined;
  /** Whether it only looks, so that it may look again until the result is there. */
  readonly isLook: boolean;
}

function blocksOf(text: string): Block[] {
  return [...text.matchAll(/```sh[^\n]*\n(.*?)```\n(?:\n```\n(.*?)```)?/gs)].map(([, commands = '', printed]) => ({
    commands,
    printed,
    isLook: !/-X |mosquitto_pub/.test(commands),
  }));
}

/** Programs that commands of a page need and this machine lacks. */
function missingOf(text: string): string[] {
  const programs = ['bash', 'curl', 'mosquitto_pub', 'mosquitto_sub'];
  return programs.filter((one) => (one === 'bash' || text.includes(one)) && spawnSync(one, ['--help']).error);
}

test('messages are sent apart from the commands that make who receives them', () => {
  for (const name of names) {
    for (const { commands } of blocksOf(readFileSync(join(docs, name), 'utf8'))) {
      assert.not(/mosquitto_pub/.test(commands) && /^curl/m.test(commands), `${name}\n${commands}`);
    }
  }
});

test('fences without a language are no commands but those that start things', () => {
  for (const name of names) {
    const text = readFileSync(join(docs, name), 'utf8');
    const plain = [...text.matchAll(/(?:^|\n)```\n(.*?)```/gs)].map(([, code = '']) => code.trim());
    const commands = plain.filter((code) => /^(curl|npx|npm|mosquitto|haumea)\b/m.test(code));
    assert.equal(commands, name === 'tutorial.md' ? ['npm run demo', 'npm start'] : [], name);
  }
});

for (const name of names) {
  const text = readFileSync(join(docs, name), 'utf8');
  const blocks = blocksOf(text);
  if (blocks.length === 0) continue;
  const missing = missingOf(text);
  if (missing.length > 0) {
    announceSkip(name, `${missing.join(', ')} is not installed`);
    continue;
  }
  const isKafka = text.includes('```sh kafka');
  if (isKafka && !needsKafka(name)) continue;
  test(name, async () => {
    const [broker, dataPort] = [await openBroker(), String(await freePort())];
    const kafka = isKafka ? await sharedKafka() : undefined;
    const server = await startServer({
      env: { KUIPER__SOURCE__HTTPSERVERPORT: dataPort, KUIPER__BASIC__ENABLEPRIVATENET: 'true' },
    });
    const folder = temporaryFolder();
    const own = (commands: string) =>
      commands
        .replace(/^curl /gm, 'curl -sS --fail-with-body ')
        .replace(/\bmosquitto_(pub|sub) /g, `mosquitto_$1 -p ${broker.port} `)
        .replaceAll('npx haumea', [process.execPath, ...haumea].join(' '))
        .replaceAll('localhost:9081', new URL(server.base).host)
        .replaceAll('localhost:10081', `127.0.0.1:${dataPort}`)
        .replaceAll('127.0.0.1:10081', `127.0.0.1:${dataPort}`)
        .replaceAll('tcp://127.0.0.1:1883', broker.url)
        .replaceAll('127.0.0.1:9092', kafka?.brokers ?? '')
        .replaceAll(' data/', ` ${server.data}/`)
        .replaceAll('TUMBLINGWINDOW(ss, 10)', name === 'tutorial.md' ? 'TUMBLINGWINDOW(ss, 1)' : '$&');
    const run = (commands: string) => shell(own(commands), folder, { HAUMEA_URL: server.base });
    for (const { commands, printed, isLook } of blocks) {
      // A reader is slower than a connection; a broker keeps nothing for who has not subscribed yet.
      if (commands.includes('mosquitto_pub')) await allConnected(server);
      if (!isLook || printed === undefined) {
        const { code, output } = await run(commands);
        assert.is(code, 0, `${commands}\n${output}`);
        if (printed !== undefined) assert.is(output.trim(), printed.trim());
        continue;
      }
      let last = '';
      const looked = eventually(
        `what ${name} says that is printed`,
        async () => {
          last = (await run(commands)).output;
          return last.trim() === printed.trim();
        },
        120_000,
      );
      await looked.catch(() => assert.is(last, printed, `${commands}\n${server.output()}`));
    }
    await server.stop();
    await broker.close();
    await kafka?.close();
  });
}

/** Waits until all sources and sinks of all rules have their connections. */
async function allConnected(server: TestServer): Promise<void> {
  const rules = (await server.request('GET', '/rules')).json as { id: string }[];
  for (const { id } of rules) {
    await eventually(`the connections of ${id}`, async () => {
      const figures = Object.entries((await server.request('GET', `/rules/${id}/status`)).json);
      const states = figures.filter(([name]) => name.endsWith('_connection_status')).map(([, state]) => state);
      return states.length > 0 && states.every((state) => state === 1);
    });
  }
}

/** Runs commands as a script, which ends at the first that fails; not in this thread, where the broker lives. */
async function shell(
  script: string,
  cwd: string,
  env: Record<string, string>,
): Promise<{ code: number | null; output: string }> {
  const child = spawn('bash', ['-e', '-o', 'pipefail', '-c', script], { cwd, env: { ...process.env, ...env } });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  return { code: await within(120_000, script, ended), output };
}

test.run();
