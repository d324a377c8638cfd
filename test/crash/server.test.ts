/** kill -9 of the whole server under a mixed REST load: what was answered with success is there after a restart. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { startServer, type TestServer, temporaryFolder } from '../harness.js';

const rounds = Number(process.env.HAUMEA_CRASH_ROUNDS ?? 3);

/** Names that were created and not dropped again, as far as the answers told. */
interface Known {
  readonly streams: Set<string>;
  readonly rules: Set<string>;
  /** Names whose last change had no answer: they may be there or not. */
  readonly open: Set<string>;
}

/** Changes definitions until the server is gone. */
async function load(server: TestServer, known: Known, worker: string): Promise<void> {
  for (let i = 0; ; i++) {
    const name = `${worker}_${i}`;
    known.open.add(name);
    try {
      const sql = `CREATE STREAM ${name} (a BIGINT) WITH (DATASOURCE="t", TYPE="memory")`;
      if ((await server.request('POST', '/streams', { sql })).status === 201) known.streams.add(name);
      const rule = { id: name, sql: `SELECT a FROM ${name}`, actions: [{ nop: {} }], triggered: false };
      if ((await server.request('POST', '/rules', rule)).status === 201) known.rules.add(name);
      if (i % 3 === 2 && (await server.request('DELETE', `/rules/${name}`)).status === 200) known.rules.delete(name);
      known.open.delete(name);
    } catch {
      return;
    }
  }
}

test('nothing answered with success is lost', async () => {
  const data = temporaryFolder();
  const known: Known = { streams: new Set(), rules: new Set(), open: new Set() };
  for (let round = 0; round < rounds; round++) {
    const server = await startServer({ data });
    const workers = [0, 1, 2].map((worker) => load(server, known, `r${round}w${worker}`));
    await new Promise((resolve) => setTimeout(resolve, 100 + Math.random() * 400));
    await server.stop('SIGKILL');
    await Promise.all(workers);
    const again = await startServer({ data });
    const streams = new Set<string>((await again.request('GET', '/streams')).json);
    const rules = new Set<string>((await again.request('GET', '/rules')).json.map((rule: { id: string }) => rule.id));
    for (const name of known.streams) assert.ok(streams.has(name), `round ${round}: stream ${name} is lost`);
    for (const name of known.rules) {
      if (!known.open.has(name)) assert.ok(rules.has(name), `round ${round}: rule ${name} is lost`);
    }
    for (const name of rules) assert.ok(known.rules.has(name) || known.open.has(name), `rule ${name} came back`);
    for (const name of rules) known.rules.add(name);
    for (const name of known.open) if (!rules.has(name)) known.rules.delete(name);
    known.open.clear();
    await again.stop(round % 2 === 0 ? 'SIGKILL' : 'SIGTERM');
  }
  assert.ok(known.streams.size > 10, `only ${known.streams.size} streams were made`);
});

test.run();
