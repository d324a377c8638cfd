/**
 * Transactions in sinks that a rule has no more: they are committed or aborted as its last checkpoint says, however
 * late the sink is back.
 */
import { once } from 'node:events';
import { appendFileSync, existsSync, readdirSync, writeFileSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { eventually, freePort, startServer, type TestServer, temporaryFolder } from '../../support/harness.js';

const env = { HAUMEA_TRIAL_CONNECTORS: '1' };

/** Speaks as the ledger does (bench/chaos/ledger.ts) and notes what it is told. */
class Ledger {
  readonly orders: Record<string, unknown>[] = [];
  readonly #sockets = new Set<Socket>();
  #server: Server | undefined;
  /** It goes away when it is told to commit the second row, before it has done so. */
  goesAtCommit = false;

  constructor(readonly port: number) {}

  async open(): Promise<void> {
    this.#server = createServer((socket) => {
      this.#sockets.add(socket);
      socket.on('error', () => {});
      let rest = '';
      socket.setEncoding('utf8').on('data', (chunk: string) => {
        const lines = (rest + chunk).split('\n');
        rest = lines.pop()!;
        for (const line of lines) {
          const order = JSON.parse(line);
          if (this.goesAtCommit && order.do === 'commit' && order.transaction >= this.lastWritten) {
            this.close();
            return;
          }
          this.orders.push(order);
          socket.write('ok\n');
        }
      });
    }).listen(this.port, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  /** Transaction of the second row; infinite before it has come. */
  get lastWritten(): number {
    const [, second] = this.orders.filter((order) => order.do === 'write');
    return Number(second?.transaction ?? Number.POSITIVE_INFINITY);
  }

  close(): void {
    this.#server?.close();
    for (const socket of this.#sockets) socket.destroy();
    this.#sockets.clear();
  }

  count(what: string): number {
    return this.orders.filter((order) => order.do === what).length;
  }
}

const ledgers: Ledger[] = [];
let server: TestServer;
let data: string;
let input: string;

test.before.each(async () => {
  data = temporaryFolder();
  input = join(data, 'in');
  writeFileSync(input, '{"id":0}\n');
  server = await startServer({ data, env });
  const conf = { path: data, fileType: 'lines', interval: '20ms' };
  await server.request('PUT', '/metadata/sources/file/confKeys/in', conf);
  const sql = 'CREATE STREAM s () WITH (TYPE="file", DATASOURCE="in", CONF_KEY="in")';
  assert.is((await server.request('POST', '/streams', { sql })).status, 201);
});
test.after.each(async () => {
  await server.stop('SIGKILL');
  for (const ledger of ledgers.splice(0)) ledger.close();
});

const rule = (port: number, checkpointInterval: string) => ({
  id: 'r',
  sql: 'SELECT id FROM s',
  actions: [{ ledger: { port, sendSingle: true } }],
  options: { qos: 2, checkpointInterval, forceExitTimeout: '100ms' },
});

async function openLedger(): Promise<Ledger> {
  const ledger = new Ledger(await freePort());
  await ledger.open();
  ledgers.push(ledger);
  return ledger;
}

/** Runs a rule until it has counted a checkpoint whose transaction the ledger did not commit any more. */
async function runUntilAway(ledger: Ledger): Promise<number> {
  const made = await server.request('POST', '/rules', rule(ledger.port, '200ms'));
  assert.is(made.status, 201, made.text);
  await eventually('a row', () => ledger.count('write') > 0);
  await eventually('it is committed', () => {
    const written = ledger.orders.find((order) => order.do === 'write')!.transaction as number;
    return ledger.orders.some((order) => order.do === 'commit' && (order.transaction as number) >= written);
  });
  ledger.goesAtCommit = true;
  appendFileSync(input, '{"id":1}\n');
  await eventually('the next transaction is prepared, and the ledger away', async () => {
    const { json } = await server.request('GET', '/rules/r/status');
    return json.sink_ledger_0_0_connection_status !== 1 && ledger.count('write') > 1;
  });
  const prepared = ledger.orders.findLast((order) => order.do === 'prepare')!.transaction as number;
  assert.ok(prepared >= ledger.lastWritten);
  ledger.goesAtCommit = false;
  return prepared;
}

/** Up to which transaction a run of the sink committed, aborting the rest. */
const recovered = (ledger: Ledger, from: number) =>
  ledger.orders.slice(from).findLast(({ recover }) => recover !== undefined)?.recover;

for (const how of ['the server runs on', 'the server is killed meanwhile'] as const) {
  test(`of a deleted rule what counts is committed when the sink is back, and the rest aborted: ${how}`, async () => {
    const ledger = await openLedger();
    const prepared = await runUntilAway(ledger);
    const { orders } = ledger;
    const before = orders.length;
    const dropped = await server.request('DELETE', '/rules/r');
    assert.match(
      dropped.headers.get('warning') ?? '',
      /sink ledger: its transactions are not ended yet: .*ECONNREFUSED/,
    );
    assert.not(existsSync(join(data, 'checkpoints', 'r')));
    if (how !== 'the server runs on') {
      await server.stop('SIGKILL');
      server = await startServer({ data, env });
    }
    await ledger.open();
    await eventually('the transaction is ended', () => recovered(ledger, before) === prepared);
    await eventually('nothing is left to do', () => readdirSync(join(data, 'transactions')).length === 0);
  });
}

test('of a rule that an update sends elsewhere what it had before is ended', async () => {
  const ledger = await openLedger();
  const other = await openLedger();
  const prepared = await runUntilAway(ledger);
  const before = ledger.orders.length;
  await ledger.open();
  const updated = await server.request('PUT', '/rules/r', rule(other.port, '200ms'));
  assert.is(updated.status, 200, updated.text);
  await eventually('the transaction is ended', () => (recovered(ledger, before) as number) >= prepared);
  await eventually('rows go elsewhere', () => other.count('open') > 0);
  assert.not(existsSync(join(data, 'transactions')));
});

test('a rule of the same id that comes before the sink is back ends what the former one has left', async () => {
  const ledger = await openLedger();
  const prepared = await runUntilAway(ledger);
  const before = ledger.orders.length;
  await server.request('DELETE', '/rules/r');
  assert.is((await server.request('POST', '/rules', rule(ledger.port, '1h'))).status, 201);
  await ledger.open();
  await eventually('a run', () => ledger.orders.slice(before).some((order) => order.do === 'write'));
  assert.is(recovered(ledger, before), prepared);
  await eventually('nothing is left to do', () => readdirSync(join(data, 'transactions')).length === 0);
  const sessions = ledger.orders.slice(before).filter((order) => order.do === 'open');
  assert.equal(
    sessions.map(({ recover }) => recover),
    [prepared],
    'nobody aborts what the new rule has begun',
  );
});

test('a deleted rule whose stream is gone leaves nothing', async () => {
  const ledger = await openLedger();
  assert.is((await server.request('POST', '/rules', rule(ledger.port, '1h'))).status, 201);
  await eventually('a row', () => ledger.count('write') > 0);
  await server.request('POST', '/rules/r/stop');
  assert.is((await server.request('DELETE', '/streams/s')).status, 200);
  await server.stop('SIGKILL');
  server = await startServer({ data, env });
  await eventually('it is refused', async () =>
    /not known/.test((await server.request('GET', '/rules/r/status')).text),
  );
  const before = ledger.orders.length;
  assert.is((await server.request('DELETE', '/rules/r')).status, 200);
  assert.type(recovered(ledger, before), 'number');
  assert.not(existsSync(join(data, 'checkpoints', 'r')));
});

test.run();
