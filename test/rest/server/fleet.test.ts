/** Many servers seen from one: three that answer, one of them with tokens, and one that is down. */
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { SignJWT } from 'jose';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { eventually, freePort, startServer, type TestServer, temporaryFolder } from '../../support/harness.js';
import { run as runCommand } from '../../support/rest/fake-server.js';
import { misfit } from '../../support/rest/schema-check.js';

const stream = 'CREATE STREAM demo (temperature FLOAT) WITH (TYPE="simulator", FORMAT="json")';
const rule = (sql: string, more = {}) => ({ id: 'hot', sql, actions: [{ nop: {} }], ...more });
const hot = rule('SELECT * FROM demo WHERE temperature > 20');

const etc = temporaryFolder();
const list = join(etc, 'fleet.yaml');
const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
mkdirSync(join(etc, 'mgmt'));
writeFileSync(join(etc, 'mgmt', 'plant'), publicKey.export({ type: 'spki', format: 'pem' }));
const token = await new SignJWT({})
  .setProtectedHeader({ alg: 'RS256' })
  .setIssuer('plant')
  .setAudience('eKuiper')
  .sign(privateKey);
writeFileSync(join(etc, 'hall-3.token'), `${token}\n`);

const authorization = { authorization: token };
const [first, second, third] = await Promise.all([
  startServer({ args: ['--etc', etc] }),
  startServer(),
  startServer({ args: ['--etc', etc], env: { KUIPER__BASIC__AUTHENTICATION: 'true' } }),
]);
const down = `http://127.0.0.1:${await freePort()}`;

const entries = [
  { name: 'hall-1', url: first.base, groups: ['north'] },
  { name: 'hall-2', url: `${second.base}/`, groups: ['north', 'test'] },
  { name: 'hall-3', url: third.base, groups: ['south'], tokenFile: 'hall-3.token' },
  { name: 'hall-4', url: down, groups: ['south', 'down'] },
];

const write = (servers: readonly object[]) => writeFileSync(list, JSON.stringify({ servers }));
const ask = (method: string, path: string, body?: unknown) => first.request(method, path, body);
const command = (...words: string[]) => runCommand(first.base, ['fleet', ...words, '--servers', list]);
const textOf = async (server: TestServer, id: string) =>
  (await server.request('GET', `/rules/${id}`, undefined, authorization)).json.sql as string | undefined;

/** The way to a server; `meanwhile` happens before a request gets there, or answers in its place. */
async function wayTo(
  target: TestServer,
  meanwhile: (method: string, url: string) => Promise<string | undefined>,
): Promise<{ url: string; close(): void }> {
  const server = createServer(async (request, response) => {
    const body: Buffer[] = [];
    for await (const chunk of request) body.push(chunk as Buffer);
    const { method = '', url = '' } = request;
    const refusal = await meanwhile(method, url);
    if (refusal !== undefined) {
      response.writeHead(500).end(JSON.stringify({ error: 1000, message: refusal }));
      return;
    }
    const answer = await target.request(method, url, body.length > 0 ? Buffer.concat(body).toString() : undefined);
    response.writeHead(answer.status, { 'content-type': answer.type }).end(answer.text);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, close: () => void server.close() };
}

/** A server with the definitions of the second that takes a dry run and refuses the change. */
const fullServer = () =>
  wayTo(second, async (method, url) => (method === 'POST' && !url.includes('dryRun') ? 'the disk is full' : undefined));

test.before.each(async () => {
  write(entries);
  for (const server of [first, second, third]) {
    const send = (method: string, path: string, body: unknown) => server.request(method, path, body, authorization);
    assert.is((await send('POST', '/data/import', { content: '{}' })).status, 200);
    assert.is((await send('POST', '/streams', { sql: stream })).status, 201);
    assert.is((await send('POST', '/rules', server === second ? rule('SELECT * FROM demo') : hot)).status, 201);
    await eventually('a rule that runs', async () => {
      const { json } = await server.request('GET', '/rules/hot/status', undefined, authorization);
      return /^running/i.test(json.status) || undefined;
    });
  }
});

test.after(async () => {
  for (const server of [first, second, third]) await server.stop();
});

test('each server is shown at a glance, one that is down with its reason, and no token leaves the server', async () => {
  const { json: document } = await ask('GET', '/openapi.json');
  const answers = new Map<string, string>();
  for (const path of ['/fleet', '/fleet/servers', '/fleet/rules', '/fleet/differences']) {
    const answer = await ask('GET', path);
    assert.is(answer.status, 200, answer.text);
    const { schema } = document.paths[path].get.responses[200].content['application/json'];
    assert.is(misfit(document, schema, answer.json), undefined);
    assert.not.ok(answer.text.includes(token.slice(-40)));
    answers.set(path, answer.text);
  }
  const all = JSON.parse(answers.get('/fleet')!) as { name: string; reason?: string; overview?: { rules: object } }[];
  assert.equal(
    all.map(({ name, overview }) => [name, overview?.rules]),
    [...['hall-1', 'hall-2', 'hall-3'].map((name) => [name, { running: 1 }]), ['hall-4', undefined]],
  );
  assert.match(all[3]!.reason!, 'no answer: connect ECONNREFUSED');
});

test('rules stand side by side: where they run, and with which text', async () => {
  const { servers, rules } = (await ask('GET', '/fleet/rules')).json;
  assert.equal(rules, [
    {
      id: 'hot',
      isSame: false,
      missing: [],
      on: [
        { server: 'hall-1', status: 'Running', variant: 1 },
        { server: 'hall-3', status: 'Running', variant: 1 },
        { server: 'hall-2', status: 'Running', variant: 2 },
      ],
    },
  ]);
  assert.equal(
    servers.filter(({ reason }: { reason?: string }) => reason !== undefined).map(({ name }: { name: string }) => name),
    ['hall-4'],
  );
  assert.equal((await ask('GET', '/fleet/rules?group=south')).json.rules[0].isSame, true);
  const { items, same } = (await ask('GET', '/fleet/differences')).json;
  assert.is(same, 1);
  assert.equal(
    items.map(({ section, name, variants }: { section: string; name: string; variants: { servers: string[] }[] }) => [
      section,
      name,
      variants.map((one) => one.servers),
    ]),
    [['rules', 'hot', [['hall-1', 'hall-3'], ['hall-2']]]],
  );
});

test('a group or a list that is wrong is refused with what is known', async () => {
  for (const path of ['', '/rules', '/differences']) {
    const { status, json } = await ask('GET', `/fleet${path}?group=west`);
    assert.is(status, 400);
    assert.is(json.message, 'no server is in the group west; there are north, test, south, down');
  }
  write([
    { name: 'a', url: 'ftp://x' },
    { name: 'a', url: first.base, tokenfile: 'x' },
  ]);
  const { status, json } = await ask('GET', '/fleet/servers');
  assert.is(status, 400);
  for (const says of [
    'server 1: url must be an address',
    'server 2: tokenfile is not known',
    'two servers are called a',
  ])
    assert.match(json.message, says);
});

test('a ruleset is given to a group after a dry run that says what would change where', async () => {
  const cold = rule('SELECT * FROM demo WHERE temperature < 0', { id: 'cold' });
  const content = JSON.stringify({ rules: { hot: JSON.stringify(hot), cold: JSON.stringify(cold) } });
  const pushed = async (query: string, more = {}) => {
    const { status, json } = await ask('POST', `/fleet/push${query}`, { content, group: 'north', ...more });
    assert.is(status, 200);
    return json as { outcome: string; servers: { name: string; state: string; reason?: string; differences: [] }[] };
  };
  const dry = await pushed('?dryRun=true');
  assert.equal(
    dry.servers.map(({ name, state, differences }) => [
      name,
      state,
      differences.map(({ kind, name: item }) => `${kind} ${item}`),
    ]),
    [
      ['hall-1', 'wouldChange', ['new cold']],
      ['hall-2', 'wouldChange', ['changed hot', 'new cold']],
    ],
  );
  assert.is((await first.request('GET', '/rules/cold')).status, 404);
  const done = await pushed('');
  assert.is(done.outcome, 'done');
  assert.equal(await textOf(second, 'hot'), hot.sql);
  assert.equal(await textOf(first, 'cold'), cold.sql);
  assert.equal(
    (await pushed('')).servers.map(({ state }) => state),
    ['same', 'same'],
  );
});

test('nobody is changed while a server is down or refuses; those that are down can be left out', async () => {
  const cold = rule('SELECT * FROM demo', { id: 'cold' });
  const push = async (items: object, more = {}) =>
    (await ask('POST', '/fleet/push', { content: JSON.stringify(items), ...more })).json;
  const states = ({ servers }: { servers: { state: string }[] }) => servers.map(({ state }) => state);
  const stopped = await push({ rules: { cold: JSON.stringify(cold) } });
  assert.is(stopped.outcome, 'stopped');
  assert.equal(states(stopped), ['untouched', 'untouched', 'untouched', 'away']);
  await second.request('DELETE', '/rules/hot');
  await second.request('DELETE', '/streams/demo');
  const refused = await push({ rules: { cold: JSON.stringify(cold) } }, { skipAway: true });
  assert.equal(states(refused), ['untouched', 'refused', 'untouched', 'away']);
  assert.match(refused.servers[1].reason, /^rules cold: .*demo/);
  assert.is((await first.request('GET', '/rules/cold')).status, 404);
  const servers = ['hall-1', 'hall-3', 'hall-4'];
  const done = await push({ rules: { cold: JSON.stringify(cold) } }, { skipAway: true, servers });
  assert.equal(states(done), ['changed', 'changed', 'away']);
  assert.is(await textOf(third, 'cold'), cold.sql);
});

test('a server that fails in between has those before it taken back', async () => {
  const cold = rule('SELECT * FROM demo', { id: 'cold' });
  const changed = rule('SELECT temperature FROM demo');
  const content = JSON.stringify({ rules: { hot: JSON.stringify(changed), cold: JSON.stringify(cold) } });
  const full = await fullServer();
  write([entries[0]!, { name: 'full', url: full.url }, entries[2]!]);
  const { json } = await ask('POST', '/fleet/push', { content });
  full.close();
  assert.is(json.outcome, 'failed');
  assert.equal(
    json.servers.map(({ name, state, reason }: { name: string; state: string; reason?: string }) => [
      name,
      state,
      reason,
    ]),
    [
      ['hall-1', 'reverted', undefined],
      ['full', 'refused', 'the disk is full'],
      ['hall-3', 'untouched', undefined],
    ],
  );
  assert.is(await textOf(first, 'hot'), hot.sql);
  assert.is((await first.request('GET', '/rules/cold')).status, 404);
});

test('a take-back leaves what somebody else made after the dry run', async () => {
  const cold = rule('SELECT * FROM demo', { id: 'cold' });
  const theirs = rule('SELECT temperature FROM demo', { id: 'cold' });
  const content = JSON.stringify({ rules: { cold: JSON.stringify(cold) } });
  const busy = await wayTo(first, async (method, url) => {
    if (method === 'GET' && url === '/data/export') await first.request('POST', '/rules', theirs);
    return undefined;
  });
  const full = await fullServer();
  write([
    { name: 'busy', url: busy.url },
    { name: 'full', url: full.url },
  ]);
  const { json } = await ask('POST', '/fleet/push', { content });
  busy.close();
  full.close();
  assert.equal(
    json.servers.map(({ state }: { state: string }) => state),
    ['reverted', 'refused'],
  );
  assert.is(await textOf(first, 'cold'), theirs.sql);
});

test('a password that is another one in the ruleset is given', async () => {
  const safe = (password: string) =>
    rule('SELECT * FROM demo', {
      id: 'safe',
      actions: [{ mqtt: { server: 'tcp://127.0.0.1:1', topic: 'x', password } }],
    });
  const push = async (password: string) => {
    const content = JSON.stringify({ rules: { safe: JSON.stringify(safe(password)) } });
    return (await ask('POST', '/fleet/push', { content, servers: ['hall-2'] })).json;
  };
  for (const password of ['before', 'after']) {
    const { servers } = await push(password);
    assert.is(servers[0].state, 'changed');
    assert.match((await second.request('GET', '/data/export')).json.rules.safe, `"${password}"`);
  }
  assert.is((await push('******')).servers[0].state, 'same');
});

test('the command line reads the list itself and tells by its exit code', async () => {
  const status = await command('status');
  assert.is(status.code, 1);
  assert.match(status.out, /hall-3 .* 1 running .*answers/);
  assert.match(status.out, /hall-4 .*no answer/);
  assert.is((await command('status', '--group', 'north')).code, 0);
  const rules = await command('rules');
  assert.is(rules.code, 1);
  assert.match(rules.out, /hot +no +Running \(1\) +Running \(2\) +Running \(1\)/);
  const diff = await command('diff', '--group', 'north');
  assert.match(diff.out, '+   "sql": "SELECT * FROM demo"');
  const file = join(temporaryFolder(), 'rules.json');
  writeFileSync(file, JSON.stringify({ rules: { hot: JSON.stringify(hot) } }));
  const dry = await command('push', '-f', file, '--dry-run', '--group', 'north');
  assert.is(dry.code, 0);
  assert.match(dry.out, /hall-2 +would change +0 +1/);
  assert.is((await command('push', '-f', file)).code, 1);
  assert.is((await command('push', '-f', file, '--skip-away')).code, 0);
  assert.is(await textOf(second, 'hot'), hot.sql);
  assert.is((await command('rules', '--group', 'north')).code, 0);
  const missing = await runCommand(first.base, ['fleet', 'status', '--servers', join(etc, 'none.yaml')]);
  assert.is(missing.code, 2);
  assert.match(missing.err, 'there is no list of servers');
});

test.run();
