/**
 * Twenty clients that change the same resource at the same time: one of them has its way each time, whole; the others
 * get an answer that is true. What is shown, what runs and what is on disk agree, also after the process was killed.
 */
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { AllowedPaths } from '../../../host/base/files/allowed-paths.js';
import { UploadService } from '../../../host/services/files/uploads.js';
import { type Answer, eventually, startServer, type TestServer, temporaryFolder } from '../../support/harness.js';
import { nativePlugin, portablePlugin, service, wasmModule } from '../../support/rest/archives.js';

const clients = Array.from({ length: 20 }, (_, n) => n);

type Order = readonly [method: string, path: string, body?: unknown];

/** A resource that can have one of many contents, told apart by a number. */
interface Kind {
  readonly what: string;
  /** Makes it with the content of a client; left out when `replace` does. */
  readonly create?: (n: number) => Order;
  /** Gives it another content; left out when that is not possible. */
  readonly replace?: (n: number) => Order;
  readonly remove: Order;
  /** What is asked for its content; `v7` in the answer is content 7. */
  readonly read: string;
  /** Deleting what is not there is a success. */
  readonly isGoneAlready?: boolean;
  /** Folder of its files, of which one is there at most. */
  readonly folder?: string;
}

const streamOf = (kind: 'STREAM' | 'TABLE', name: string) => (n: number) => ({
  sql:
    `CREATE ${kind} ${name} (v${n} BIGINT) WITH (DATASOURCE="t", ` +
    `TYPE="memory"${kind === 'TABLE' ? ', KIND="scan"' : ''})`,
});
const ruleOf = (n: number, more: object = {}) => ({
  id: 'cr',
  sql: `SELECT a AS v${n} FROM base`,
  actions: [{ nop: {} }],
  ...more,
});
const connectionOf = (n: number) => ({ id: 'cc', typ: 'nng', props: { url: `tcp://v${n}:1` } });
const schemaOf = (n: number) => ({ name: 'cs', content: `syntax = "proto3"; message v${n} { string a = 1; }` });
const scriptOf = (n: number) => ({ id: 'cf', script: `function cf() { return "v${n}"; }` });

/** What is made by POST and replaced by PUT with the same body. */
function usual(what: string, all: string, id: string, body: (n: number) => unknown, more: Partial<Kind> = {}): Kind {
  const mine = `${all}/${id}`;
  return {
    what,
    create: (n) => ['POST', all, body(n)],
    replace: (n) => ['PUT', mine, body(n)],
    remove: ['DELETE', mine],
    read: mine,
    ...more,
  };
}

/** Archives are written once. */
function packages(make: (n: number) => string): (n: number) => string {
  const made = clients.map(make);
  return (n) => made[n] as string;
}
const natives = packages((n) => nativePlugin('cn', `@v${n}`));
const portables = packages((n) => portablePlugin('cp', { version: `v${n}` }));
const services = packages((n) => service('cv', 'cvPrice', { address: `http://127.0.0.1:5/v${n}` }));

const kinds: readonly Kind[] = [
  usual('stream', '/streams', 'cst', streamOf('STREAM', 'cst')),
  usual('table', '/tables', 'cta', streamOf('TABLE', 'cta')),
  usual('rule', '/rules', 'cr', (n) => ruleOf(n)),
  usual('connection', '/connections', 'cc', connectionOf, { isGoneAlready: true }),
  {
    what: 'configuration key',
    replace: (n) => ['PUT', '/metadata/sources/mqtt/confKeys/ck', { server: `tcp://v${n}:1` }],
    remove: ['DELETE', '/metadata/sources/mqtt/confKeys/ck'],
    read: '/metadata/sources/yaml/mqtt',
  },
  usual('schema', '/schemas/protobuf', 'cs', schemaOf, { folder: 'schemas' }),
  usual('service', '/services', 'cv', (n) => ({ name: 'cv', file: services(n) }), { folder: 'services' }),
  usual('native plugin', '/plugins/functions', 'cn', (n) => ({ name: 'cn', file: natives(n) })),
  usual('portable plugin', '/plugins/portables', 'cp', (n) => ({ name: 'cp', file: portables(n) }), {
    folder: 'plugins/portable',
  }),
  {
    what: 'wasm plugin',
    create: (n) => ['POST', '/plugins/wasm', { name: 'cw', bytecode: wasmModule(`v${n}`) }],
    remove: ['DELETE', '/plugins/wasm/cw'],
    read: '/plugins/wasm',
    folder: 'plugins/wasm',
  },
  usual('script', '/udf/javascript', 'cf', scriptOf),
  {
    what: 'uploaded file',
    replace: (n) => ['POST', '/config/uploads', { name: 'cu.txt', content: `v${n}` }],
    remove: ['DELETE', '/config/uploads/cu.txt'],
    read: '/data/export',
  },
];

let server: TestServer;
const send = ([method, path, body]: Order): Promise<Answer> => server.request(method, path, body);

test.before(async () => {
  server = await startServer({ env: { KUIPER__BASIC__ENABLEPRIVATENET: 'true' } });
  const sql = 'CREATE STREAM base (a BIGINT) WITH (DATASOURCE="t", TYPE="memory")';
  assert.is((await send(['POST', '/streams', { sql }])).status, 201);
});
test.after(async () => void (await server.stop()));

/** The content that is there now, as a number; undefined when there is none. */
async function contentOf({ read, what }: Kind): Promise<number | undefined> {
  const { status, text } = await send(['GET', read]);
  assert.ok(status < 500, `${what}: ${text}`);
  // Connections and uploads of other kinds have no such names.
  const found = status < 400 ? /\bv(\d+)\b/.exec(read === '/data/export' ? uploadIn(text) : text) : null;
  return found === null ? undefined : Number(found[1]);
}

function uploadIn(exported: string): string {
  return JSON.parse(exported).uploads['cu.txt'] ?? '';
}

/** Statuses of orders that are given at once. */
async function atOnce(orders: readonly Order[]): Promise<number[]> {
  const answers = await Promise.all(orders.map(send));
  for (const { status, text } of answers) assert.ok(status < 500, `${status} ${text}`);
  return answers.map(({ status }) => status);
}

const successes = (statuses: readonly number[]) => statuses.filter((status) => status < 300).length;

for (const kind of kinds) {
  const { what, create, replace, remove, isGoneAlready = false } = kind;

  if (create !== undefined) {
    test(`${what}: one of twenty clients makes it, the others hear that it is there`, async () => {
      const statuses = await atOnce(clients.map(create));
      assert.is(successes(statuses), 1, String(statuses));
      assert.ok(statuses.every((status) => status < 300 || status === 400));
      assert.is(
        await contentOf(kind),
        statuses.findIndex((status) => status < 300),
      );
    });
  }

  if (replace !== undefined) {
    test(`${what}: twenty clients replace it, one content is there in the end`, async () => {
      const statuses = await atOnce(clients.map(replace));
      assert.is(successes(statuses), clients.length, String(statuses));
      assert.ok(clients.includes((await contentOf(kind)) ?? -1));
    });
  }

  test(`${what}: twenty clients delete it, for one of them it was there`, async () => {
    const statuses = await atOnce(clients.map(() => remove));
    assert.is(successes(statuses), isGoneAlready ? clients.length : 1, String(statuses));
    assert.is(await contentOf(kind), undefined);
  });

  test(`${what}: twenty clients make, replace, read and delete it`, async () => {
    const read: Order = ['GET', kind.read];
    const orders = [0, 1, 2].flatMap((round) =>
      clients.flatMap((n) => {
        const changes = [create?.(n), replace?.(n), remove, read].filter((order) => order !== undefined);
        return [changes[(n + round) % changes.length] as Order];
      }),
    );
    await atOnce(orders);
    // Something is there for the restart below.
    await send(remove);
    await send((create ?? replace)?.(7) as Order);
    assert.is(await contentOf(kind), 7);
  });
}

test('exports go on while files and plugins are deleted', async () => {
  const uploads = clients.map((n) => `gone${n}.txt`);
  await atOnce(uploads.map((name) => ['POST', '/config/uploads', { name, content: 'x'.repeat(100_000) }]));
  await atOnce(clients.map((n) => ['POST', '/plugins/wasm', { name: `gone${n}`, bytecode: wasmModule(`gone${n}`) }]));
  const exports: Order[] = ['/data/export', '/v2/data/export', '/data/export'].map((path) => ['GET', path]);
  const removals: Order[] = clients.flatMap((n): Order[] => [
    ['DELETE', `/config/uploads/${uploads[n]}`],
    ['DELETE', `/plugins/wasm/gone${n}`],
  ]);
  const statuses = await atOnce([...exports, ...removals]);
  assert.is(successes(statuses), statuses.length, String(statuses));
});

test('an export has the files that stay while others are deleted', async () => {
  const data = temporaryFolder();
  const uploads = new UploadService({
    allowPrivate: false,
    paths: AllowedPaths.any(),
    data,
    uploads: data,
    pending: new Map(),
  });
  const names = Array.from({ length: 200 }, (_, n) => `u${1000 + n}`);
  for (const name of names) writeFileSync(join(data, name), name);
  const [exported] = await Promise.all([uploads.export(), ...names.slice(50).map((name) => uploads.delete(name))]);
  assert.equal(Object.keys(exported).slice(0, 50), names.slice(0, 50));
});

test('twenty clients make and delete a plugin: who made it hears so', async () => {
  const orders = clients.flatMap((n): Order[] => [
    ['POST', '/plugins/wasm', { name: 'brief', bytecode: wasmModule(`brief${n}`) }],
    ['DELETE', '/plugins/wasm/brief'],
  ]);
  const statuses = await atOnce(orders);
  orders.forEach(([method], i) => {
    assert.ok(
      (method === 'POST' ? [201, 400] : [200, 404]).includes(statuses[i] as number),
      `${method} ${statuses[i]}`,
    );
  });
  await send(['DELETE', '/plugins/wasm/brief']);
});

test('twenty clients replace a rule: the definition that is shown is the one that runs', async () => {
  const statuses = await atOnce(clients.map((n) => ['PUT', '/rules/cr', ruleOf(n)]));
  assert.is(successes(statuses), clients.length);
  const [, shown] = /SELECT a AS (v\d+)/.exec((await send(['GET', '/rules/cr'])).text) ?? [];
  assert.equal(Object.keys((await send(['GET', '/rules/cr/schema'])).json), [shown]);
  await send(['PUT', '/rules/cr', ruleOf(7)]);
});

test('twenty clients add a tag each to one rule: all of them are there', async () => {
  const statuses = await atOnce(clients.map((n) => ['PATCH', '/rules/cr/tags', { tags: [`t${n}`] }]));
  assert.is(successes(statuses), clients.length);
  const { tags } = (await send(['GET', '/rules/cr'])).json as { tags: string[] };
  assert.equal([...tags].sort(), clients.map((n) => `t${n}`).sort());
});

test('twenty clients start and stop a rule: its state is that of one of them, and what it is stored with', async () => {
  const orders: Order[] = clients.map((n) => ['POST', `/rules/cr/${['start', 'stop', 'restart'][n % 3]}`]);
  assert.is(successes(await atOnce(orders)), clients.length);
  const { triggered } = (await send(['GET', '/rules/cr'])).json;
  await eventually('the state', async () => {
    const { status } = (await send(['GET', '/rules/cr/status'])).json;
    return status === (triggered ? 'Running' : 'Stopped');
  });
});

for (const [what, path, body] of [
  ['rule', '/rules/ver', (n: number, version: string) => ({ ...ruleOf(n), id: 'ver', version })],
  ['schema', '/schemas/protobuf/ver', (n: number, version: string) => ({ ...schemaOf(n), name: 'ver', version })],
  [
    'stream',
    '/streams/ver',
    (n: number, version: string) => ({
      sql: `CREATE STREAM ver (v${n} BIGINT) WITH (DATASOURCE="t", TYPE="memory", VERSION="${version}")`,
    }),
  ],
] as const) {
  test(`${what}: of twenty versions sent at once the greatest is there in the end`, async () => {
    const orders: Order[] = clients.map((n) => ['PUT', path, body(n, String(10 + n))]);
    const shuffled = [...orders].sort(() => Math.random() - 0.5);
    const statuses = await atOnce(shuffled);
    assert.is(statuses[shuffled.indexOf(orders.at(-1) as Order)], 200, 'the greatest is taken whenever it comes');
    assert.match((await send(['GET', path])).text, /\bv19\b/);
  });
}

test('of many things that bring a function of the same name one is taken', async () => {
  const orders: Order[] = [
    ['POST', '/udf/javascript', { id: 'same', script: 'function same() {}' }],
    ...[1, 2, 3].flatMap((n): Order[] => [
      ['POST', '/plugins/wasm', { name: `w${n}`, bytecode: wasmModule('same') }],
      ['POST', '/services', { name: `s${n}`, file: service(`s${n}`, 'same') }],
      ['POST', '/plugins/portables', { name: `p${n}`, file: portablePlugin(`p${n}`, { functions: ['same'] }) }],
    ]),
  ];
  const statuses = await atOnce(orders);
  assert.is(successes(statuses), 1, String(statuses));
});

test('after kill -9 everything is as it was shown, rules run what is stored, no files are left over', async () => {
  const shown = async () => [(await send(['GET', '/data/export'])).text, (await send(['GET', '/rules'])).text];
  const before = await shown();
  const contents = await Promise.all(kinds.map(contentOf));
  const { data } = server;
  await server.stop('SIGKILL');
  server = await startServer({ data, env: { KUIPER__BASIC__ENABLEPRIVATENET: 'true' } });
  await eventually('the same as before', async () => JSON.stringify(await shown()) === JSON.stringify(before));
  assert.equal(await Promise.all(kinds.map(contentOf)), contents);
  await send(['POST', '/rules/cr/start']);
  const fields = await send(['GET', '/rules/cr/schema']);
  assert.equal(Object.keys(fields.json), ['v7'], fields.text);
  for (const { what, folder, read } of kinds) {
    if (folder === undefined) continue;
    const id = read.split('/').at(-1) === 'wasm' ? 'cw' : read.split('/').at(-1);
    const own = readdirSync(join(data, folder)).filter((name) => name.startsWith(`${id}@`));
    assert.is(own.length, 1, `${what}: ${own}`);
  }
});

test.run();
