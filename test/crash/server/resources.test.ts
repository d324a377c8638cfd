/**
 * kill -9 while schemas, uploads, scripts, connections, configuration keys and plugins change: every one answers with a
 * text that was sent to it, never with an older one than the last acknowledged, and its file holds the same.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type Answer, eventually, startServer, type TestServer, temporaryFolder } from '../../support/harness.js';
import { portablePlugin } from '../../support/rest/archives.js';

const rounds = Number(process.env.HAUMEA_CRASH_ROUNDS ?? 2);
const kinds = ['schema', 'upload', 'script', 'connection', 'confKey', 'plugin'] as const;
type Kind = (typeof kinds)[number];

/** Number of the last change that was sent and of the last that was acknowledged. */
interface Sent {
  sent: number;
  acknowledged: number;
}

/** A broker that is not there. */
const nobody = { server: 'tcp://127.0.0.1:1' };

const change: Readonly<Record<Kind, (server: TestServer, n: number) => Promise<Answer>>> = {
  schema: (server, n) => server.request('PUT', '/schemas/protobuf/s', { content: `// ${textOf(n)}` }),
  upload: (server, n) => server.request('POST', '/config/uploads', { name: 'in/u.txt', content: textOf(n) }),
  script: (server, n) =>
    server.request('PUT', '/udf/javascript/f', { id: 'f', script: `function f() {} //${textOf(n)}` }),
  connection: (server, n) =>
    n === 1
      ? server.request('POST', '/connections', { id: 'c', typ: 'mqtt', props: { ...nobody, username: textOf(n) } })
      : server.request('PUT', '/connections/c', { id: 'c', typ: 'mqtt', props: { ...nobody, username: textOf(n) } }),
  confKey: (server, n) => server.request('PUT', '/metadata/sinks/mqtt/confKeys/k', { own: textOf(n) }),
  plugin: (server, n) => {
    const body = { name: 'py', file: portablePlugin('py', { version: textOf(n) }) };
    return n === 1
      ? server.request('POST', '/plugins/portables', body)
      : server.request('PUT', '/plugins/portables/py', body);
  },
};

/** Long enough for a file to be seen half written. */
function textOf(n: number): string {
  return `${n} ${'x'.repeat(20_000)} end`;
}

async function load(server: TestServer, kind: Kind, state: Sent): Promise<void> {
  for (;;) {
    state.sent++;
    try {
      const { status, text } = await change[kind](server, state.sent);
      // A connection whose creation was not answered may be there or not.
      if (status < 300) state.acknowledged = state.sent;
      else if (kind === 'connection') state.sent = 0;
      else throw new Error(`${kind} answered ${status}: ${text}`);
    } catch (error) {
      if (error instanceof Error && error.message.includes('answered')) throw error;
      return;
    }
  }
}

/** The number in the text that is stored now; undefined when nothing is. */
async function stored(server: TestServer, kind: Kind, data: string): Promise<string | undefined> {
  const body = async (path: string) => {
    const answer = await server.request('GET', path);
    return answer.status === 200 ? answer.json : undefined;
  };
  switch (kind) {
    case 'schema': {
      const schema = await body('/schemas/protobuf/s');
      if (schema !== undefined) assert.is(readFileSync(schema.file, 'utf8'), schema.content);
      return schema?.content.replace(/^\/\/ /, '');
    }
    case 'upload': {
      const path = join(data, 'uploads/in/u.txt');
      return existsSync(path) ? readFileSync(path, 'utf8') : undefined;
    }
    case 'script':
      return (await body('/udf/javascript/f'))?.script.split('//')[1];
    case 'connection':
      return (await body('/connections/c'))?.props.username;
    case 'confKey':
      return (await body('/metadata/sinks/yaml/mqtt'))?.k?.own;
    case 'plugin': {
      const plugin = await body('/plugins/portables/py');
      if (plugin === undefined) return undefined;
      const folders = readdirSync(join(data, 'plugins/portable'));
      assert.is(folders.length, 1, `${folders.length} folders for one plugin`);
      const text = readFileSync(join(data, 'plugins/portable', folders[0] ?? '', 'py.json'), 'utf8');
      assert.is(JSON.parse(text).version, plugin.version);
      return plugin.version;
    }
    default:
      return kind satisfies never;
  }
}

test('what was acknowledged is there, whole', async () => {
  for (let round = 0; round < rounds; round++) {
    const data = temporaryFolder();
    const server = await startServer({ data });
    const states = Object.fromEntries(kinds.map((kind) => [kind, { sent: 0, acknowledged: 0 }])) as Record<Kind, Sent>;
    const workers = kinds.map((kind) => load(server, kind, states[kind]));
    await eventually('a change of each kind', () => kinds.every((kind) => states[kind].acknowledged > 0), 20_000);
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 400));
    await server.stop('SIGKILL');
    await Promise.all(workers);
    const again = await startServer({ data });
    for (const kind of kinds) {
      const { sent, acknowledged } = states[kind];
      const text = await stored(again, kind, data);
      const where = `round ${round}: ${kind}`;
      if (text === undefined) {
        assert.is(acknowledged, 0, `${where} is lost`);
        continue;
      }
      const n = Number.parseInt(text, 10);
      assert.is(text, textOf(n), `${where} is damaged`);
      assert.ok(n >= acknowledged && n <= sent, `${where} has change ${n}, acknowledged ${acknowledged}, sent ${sent}`);
    }
    assert.ok(states.schema.acknowledged > 0, 'no change was acknowledged');
    const folders = readdirSync(join(data, 'schemas'));
    assert.is(folders.length, 1, `${folders.length} folders for one schema`);
    const left = states.upload.acknowledged === 0 ? ['u.txt'] : readdirSync(join(data, 'uploads/in'));
    assert.equal(left, ['u.txt'], 'nothing half-written stays');
    await again.stop();
  }
});

test.run();
