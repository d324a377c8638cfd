/** The commands of README, word by word but for addresses and the length of the window: they do what it says. */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { connectClient, openBroker } from '../../support/brokers/broker.js';
import { announceSkip, eventually, startServer, temporaryFolder } from '../../support/harness.js';
import { Commands } from '../../support/rest/commands.js';

const readme = readFileSync(fileURLToPath(new URL('../../../README.md', import.meta.url)), 'utf8');
const fences = [...readme.matchAll(/```\n(.*?)```/gs)].map(([, block = '']) => block.trim().split('\n'));
const promised = /`data\/hot\.txt` has the line `([^`]+)`/.exec(readme)?.[1];
const has = (program: string) => spawnSync(program, ['--help']).error === undefined;

/** Commands of a fence without what stands behind them as a comment. */
const commandsOf = (fence: string[] = []) => fence.map((line) => line.replace(/ +# .*$/, ''));

/** Words of a command; what stands in quotes is one. */
const wordsOf = (command: string) =>
  [...command.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(([, single, double, plain]) => single ?? double ?? plain!);

const server = await startServer();
const broker = await openBroker();
const commands = new Commands(process.cwd(), { HAUMEA_URL: server.base });
test.after(async () => {
  await server.stop();
  await broker.close();
});

/** Runs `npx haumea …` and gives what it prints. */
async function haumea(command: string): Promise<string> {
  const [npx, program, verb = '', ...words] = wordsOf(command);
  assert.equal([npx, program], ['npx', 'haumea'], command);
  return (await commands.done(verb, undefined, ...words)).out;
}

/** Runs `mosquitto_pub`, or publishes the same where it is not installed. */
async function publish(command: string): Promise<void> {
  if (has('mosquitto_pub')) {
    const { code, text } = await run(command.replace('mosquitto_pub ', `mosquitto_pub -p ${broker.port} `));
    assert.is(code, 0, text);
    return;
  }
  const [program, topicFlag, topic = '', messageFlag, message = ''] = wordsOf(command);
  assert.equal([program, topicFlag, messageFlag], ['mosquitto_pub', '-t', '-m'], command);
  const client = await connectClient(broker.url);
  await client.publishAsync(topic, message, { qos: 1 });
  await client.endAsync();
}

test('each fence of README is run by a test', () => {
  const programs = fences.map((fence) => commandsOf(fence).map((command) => command.split(' ').slice(0, 2).join(' ')));
  assert.equal(programs, [
    // The demo is started by test/unit/demo, the server by all tests of this folder.
    ['npm run', 'npm start'],
    ['curl -X', 'curl -X', 'curl -X', 'sleep 1;'],
    ['npx haumea', 'npx haumea'],
  ]);
});

test('the scripts of README are those of the package', () => {
  const { scripts } = JSON.parse(
    readFileSync(fileURLToPath(new URL('../../../package.json', import.meta.url)), 'utf8'),
  );
  const named = [...readme.matchAll(/npm (?:run )?(\w+)/g)].map(([, name = '']) => name);
  for (const name of ['demo', 'start', 'test', 'bench']) assert.ok(named.includes(name), name);
  for (const name of named.filter((one) => one !== 'are')) assert.ok(name in scripts, name);
});

if (!has('curl')) {
  announceSkip('the first rule of README', 'curl is not installed');
} else {
  test('the first rule of README gives the promised line', async () => {
    const lines = commandsOf(fences[1]);
    const answers: string[] = [];
    const warnings: string[] = [];
    for (const line of lines) {
      // In the place of the pause: until the rule has subscribed.
      const [, message] = /^sleep 1; (mosquitto_pub .*)$/.exec(line) ?? [];
      if (message !== undefined) {
        await eventually('the subscription', async () => {
          return (await server.request('GET', '/rules/hot/status')).json.source_telem_0_connection_status === 1;
        });
        await publish(message);
        continue;
      }
      const command = line
        .replaceAll('localhost:9081', new URL(server.base).host)
        .replaceAll('tcp://127.0.0.1:1883', broker.url)
        .replaceAll('TUMBLINGWINDOW(ss, 10)', 'TUMBLINGWINDOW(ss, 1)');
      const child = await run(command);
      assert.is(child.code, 0, `${line}\n${child.text}`);
      answers.push(child.text);
      warnings.push(...child.warnings);
    }
    assert.equal(answers, ['', 'Stream telem is created.', 'Rule hot was created successfully.']);
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
    const [status = '', trouble = ''] = [...readme.matchAll(/`(npx haumea (?:getstatus|show) [^`]+)`/g)].map(
      ([, command = '']) => command,
    );
    assert.match(await haumea(status), /sourceRecordsInTotal: +1\n/);
    assert.match(await haumea(trouble), /hot .*Running/);
  });
}

test('without a broker: a simulator, and a query that shows its rows', async () => {
  const [create = '', query = ''] = commandsOf(fences[2]);
  assert.match(await haumea(create), 'Stream demo is created.');
  const rows = (await haumea(query)).trim().split('\n');
  assert.is(rows.length, 3);
  for (const row of rows) assert.match(row, /"humidity":.*"temperature":/);
});

/** Runs a line of the shell; not with spawnSync, since the broker lives in this process. */
async function run(line: string): Promise<{ code: number | null; text: string; warnings: string[] }> {
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
