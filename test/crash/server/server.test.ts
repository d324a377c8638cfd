/**
 * kill -9 of the whole server at random points of a mixed REST load: after each restart everything that was
 * acknowledged is there as it was sent last, imports are there as a whole or not at all, and nothing else has changed.
 *
 * `HAUMEA_CRASH_ROUNDS=200` runs as many rounds as a release wants.
 */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { type Answer, startServer, type TestServer, temporaryFolder } from '../../support/harness.js';

const rounds = Number(process.env.HAUMEA_CRASH_ROUNDS ?? 5);
const workers = 4;
const namesPerWorker = 3;
const fixedCount = 30;

/** What is known of one resource: a number is written in its definition; undefined when it is not there. */
interface Known {
  sure: number | undefined;
  /** The change that was sent but not answered. */
  open?: { value: number | undefined };
}

type Model = Map<string, Known>;

/** Number of the last change, the content of what it writes. */
let counter = fixedCount;
const sqlOf = (name: string, n: number) => `CREATE STREAM ${name} (a BIGINT) WITH (DATASOURCE="v${n}", TYPE="memory")`;
const ruleOf = (id: string, n: number) => ({
  id,
  sql: `SELECT a FROM fixed0 WHERE a > ${n}`,
  actions: [{ nop: {} }],
  tags: [`v${n}`],
  triggered: n % 5 === 0,
});

/** One change: sends it, and notes what must be there when it was acknowledged. */
async function change(
  model: Model,
  key: string,
  value: number | undefined,
  send: () => Promise<Answer>,
): Promise<void> {
  const known = model.get(key) ?? { sure: undefined };
  model.set(key, known);
  known.open = { value };
  const { status, text } = await send();
  if (status >= 300) throw new Error(`${key} = ${value} answered ${status}: ${text}`);
  known.sure = value;
  known.open = undefined;
}

async function step(server: TestServer, model: Model, name: string): Promise<void> {
  const n = ++counter;
  const { request } = server;
  switch (n % 7) {
    case 0:
    case 1:
      return change(model, `stream ${name}`, n, () => request('PUT', `/streams/${name}`, { sql: sqlOf(name, n) }));
    case 2:
      if (model.get(`stream ${name}`)?.sure === undefined) return undefined;
      return change(model, `stream ${name}`, undefined, () => request('DELETE', `/streams/${name}`));
    case 3:
    case 4:
      return change(model, `rule ${name}`, n, () => request('PUT', `/rules/${name}`, ruleOf(name, n)));
    case 5:
      if (model.get(`rule ${name}`)?.sure === undefined) return undefined;
      return change(model, `rule ${name}`, undefined, () => request('DELETE', `/rules/${name}`));
    default:
      return change(model, `key ${name}`, n, () =>
        request('PUT', `/metadata/sources/mqtt/confKeys/${name}`, { server: `tcp://h:${n}` }),
      );
  }
}

/** Imports two streams and a rule at once, again and again. */
async function importStep(server: TestServer, model: Model): Promise<void> {
  const n = ++counter;
  const content = JSON.stringify({
    streams: { imp_a: sqlOf('imp_a', n), imp_b: sqlOf('imp_b', n) },
    rules: { imp_r: JSON.stringify(ruleOf('imp_r', n)) },
  });
  await change(model, 'import', n, () => server.request('POST', '/data/import?partial=1', { content }));
}

/** Changes definitions until the server is gone; a refused change is a failure of the test. */
async function load(run: () => Promise<void>): Promise<void> {
  for (;;) {
    try {
      await run();
    } catch (error) {
      if (error instanceof Error && error.message.includes(' answered ')) throw error;
      return;
    }
  }
}

/** What the server has now, by the same names as the model. */
async function actual(server: TestServer): Promise<Map<string, number>> {
  const { streams, rules, sourceConfig } = (await server.request('GET', '/data/export')).json;
  const found = new Map<string, number>();
  const put = (kind: string, name: string, text: string, pattern: RegExp) => {
    found.set(`${kind} ${name}`, Number(pattern.exec(text)?.[1] ?? Number.NaN));
  };
  for (const [name, text] of Object.entries<string>(streams)) put('stream', name, text, /"v(\d+)"/);
  for (const [name, text] of Object.entries<string>(rules)) put('rule', name, text, /"v(\d+)"/);
  for (const [name, props] of Object.entries(JSON.parse(sourceConfig?.mqtt ?? '{}'))) {
    put('key', name, JSON.stringify(props), /h:(\d+)/);
  }
  return found;
}

/** Compares; afterwards the model holds what is there. */
function compare(model: Model, found: Map<string, number>, round: number): void {
  const parts = ['stream imp_a', 'stream imp_b', 'rule imp_r'].map((name) => found.get(name));
  assert.is(new Set(parts).size, 1, `round ${round}: an import is there in part: ${parts}`);
  if (parts[0] !== undefined) found.set('import', parts[0]);
  for (const name of ['stream imp_a', 'stream imp_b', 'rule imp_r']) found.delete(name);
  for (const [key, known] of model) {
    const value = found.get(key);
    const isRight = value === known.sure || (known.open !== undefined && value === known.open.value);
    assert.ok(isRight, `round ${round}: ${key} is ${value}, ${known.sure} was acknowledged, open ${known.open?.value}`);
    known.sure = value;
    known.open = undefined;
  }
  for (const key of found.keys()) assert.ok(model.has(key), `round ${round}: nobody made ${key}`);
}

test('nothing acknowledged is lost, nothing else is damaged', async () => {
  const data = temporaryFolder();
  const model: Model = new Map();
  let server = await startServer({ data });
  for (let i = 0; i < fixedCount; i++) {
    await change(model, `stream fixed${i}`, i, () =>
      server.request('POST', '/streams', { sql: sqlOf(`fixed${i}`, i) }),
    );
  }
  for (let round = 0; round < rounds; round++) {
    const under = server;
    const runs = Array.from({ length: workers }, (_, w) => {
      let i = 0;
      return load(() => step(under, model, `w${w}n${i++ % namesPerWorker}`));
    });
    runs.push(load(() => importStep(under, model)));
    await new Promise((resolve) => setTimeout(resolve, 50 + Math.random() * 250));
    await server.stop('SIGKILL');
    await Promise.all(runs);
    server = await startServer({ data });
    compare(model, await actual(server), round);
  }
  await server.stop();
  assert.ok(counter > fixedCount + rounds, `only ${counter} changes were sent`);
  console.log(`${rounds} rounds, ${counter} changes`);
});

test.run();
