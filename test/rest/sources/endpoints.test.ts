/** Websockets and event streams of the data server: clients connect, rules take and send. */
import { once } from 'node:events';
import { request as requestHttp } from 'node:http';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { WebSocket } from 'ws';
import { eventually, freePort, request, startServer, type TestServer } from '../../support/harness.js';

let server: TestServer;
let port: number;

test.before(async () => {
  port = await freePort();
  server = await startServer({ env: { KUIPER__SOURCE__HTTPSERVERPORT: String(port) } });
});
test.after(async () => void (await server.stop()));

async function create(path: '/streams' | '/rules', body: object): Promise<void> {
  const answer = await server.request('POST', path, body);
  assert.is(answer.status, 201, answer.text);
}

const status = async (id: string) => (await server.request('GET', `/rules/${id}/status`)).json;

/** Creates a rule from a stream of its own to the action, and waits until both are connected. */
async function rule(id: string, options: string, action: Record<string, object>): Promise<void> {
  await create('/streams', { sql: `CREATE STREAM ${id}s () WITH (FORMAT="json", ${options})` });
  await create('/rules', { id, sql: `SELECT * FROM ${id}s`, actions: [action] });
  const [type] = Object.keys(action);
  await eventually(`${id} to be connected`, async () => {
    const json = await status(id);
    return json[`source_${id}s_0_connection_status`] === 1 && json[`sink_${type}_0_0_connection_status`] === 1;
  });
}

interface Client {
  readonly socket: WebSocket;
  readonly texts: string[];
}

async function connect(path: string, options: object = {}): Promise<Client> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}${path}`, options);
  const texts: string[] = [];
  socket.on('message', (data) => texts.push(String(data)));
  await once(socket, 'open');
  return { socket, texts };
}

/** Status with which a connection is refused. */
function refusedWith(path: string, options: object = {}): Promise<number | undefined> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}${path}`, options);
  return new Promise((resolve) => {
    socket.on('error', () => {});
    socket.on('unexpected-response', (_request, response) => resolve(response.statusCode));
    socket.on('open', () => resolve(undefined));
  });
}

test('what clients send goes through a rule to all clients of another path', async () => {
  await rule('relay', 'TYPE="websocket", DATASOURCE="/in"', { websocket: { path: '/out', sendSingle: true } });
  const [one, other] = [await connect('/in'), await connect('/in')];
  const listeners = [await connect('/out'), await connect('/out')];
  for (let id = 0; id < 50; id++) one.socket.send(JSON.stringify({ id }));
  await eventually('the messages of the first', () => listeners.every(({ texts }) => texts.length === 50));
  other.socket.send(Buffer.from('{"id":50}'));
  other.socket.send('[{"id":51},{"id":52}]');
  await eventually('all messages', () => listeners.every(({ texts }) => texts.length === 53));
  const expected = Array.from({ length: 53 }, (_, id) => `{"id":${id}}`);
  for (const { texts } of listeners) assert.equal(texts, expected);
  const json = await status('relay');
  assert.equal([json.sink_websocket_0_0_records_in_total, json.sink_websocket_0_0_exceptions_total], [53, 0]);
  for (const { socket } of [one, other, ...listeners]) socket.close();
});

test('a path is there as long as a rule wants it', async () => {
  await rule('brief', 'TYPE="websocket", DATASOURCE="/brief"', { nop: {} }).catch(() => {});
  const client = await connect('/brief');
  assert.is((await request(`http://127.0.0.1:${port}`, 'GET', '/brief')).status, 426);
  const closed = once(client.socket, 'close');
  await server.request('DELETE', '/rules/brief');
  assert.is((await closed)[0], 1001);
  assert.is(await refusedWith('/brief'), 404);
});

test('a path that does not begin with a slash is refused', async () => {
  const stream = { sql: 'CREATE STREAM odd () WITH (FORMAT="json", TYPE="websocket", DATASOURCE="odd")' };
  await create('/streams', stream);
  await create('/rules', { id: 'odd', sql: 'SELECT * FROM odd', actions: [{ nop: {} }] });
  const message = await eventually('the reason', async () => (await status('odd')).message || undefined);
  assert.match(message, /the endpoint must begin with \//);
  const sink = { id: 'odd2', sql: 'SELECT * FROM odd', actions: [{ sse: { endpoint: 'x' } }] };
  const answer = await server.request('POST', '/rules', sink);
  assert.is(answer.status, 400);
  assert.match(answer.text, /endpoint must begin with \//);
});

test('a message of 16 MB and an empty one arrive, a longer one ends the connection', async () => {
  await rule('large', 'TYPE="websocket", DATASOURCE="/large"', { websocket: { path: '/larger', sendSingle: true } });
  const [sender, listener] = [await connect('/large'), await connect('/larger')];
  const text = 'x'.repeat((16 << 20) - 20);
  sender.socket.send('');
  sender.socket.send(JSON.stringify({ text }));
  await eventually('the long message', () => listener.texts.length > 0, 20_000);
  assert.is(listener.texts[0]?.length, text.length + 11);
  const closed = once(sender.socket, 'close');
  sender.socket.send('x'.repeat((16 << 20) + 1));
  assert.is((await closed)[0], 1009);
  listener.socket.close();
});

test('a client that does not read is left behind, the others get everything', async () => {
  await rule('fast', 'TYPE="websocket", DATASOURCE="/fast"', { websocket: { path: '/slow', sendSingle: true } });
  const [sender, reader, sleeper] = [await connect('/fast'), await connect('/slow'), await connect('/slow')];
  sleeper.socket.pause();
  const text = 'x'.repeat(100_000);
  for (let id = 0; id < 300; id++) sender.socket.send(JSON.stringify({ id, text }));
  await eventually('all messages', () => reader.texts.length === 300, 30_000);
  const lost = await eventually('the loss to be counted', async () => {
    const json = await status('fast');
    return json.sink_websocket_0_0_exceptions_total > 0 ? json.sink_websocket_0_0_last_exception : undefined;
  });
  assert.match(lost, /a client of \/slow did not keep up and lost the connection/);
  sleeper.socket.terminate();
  for (const { socket } of [sender, reader]) socket.close();
});

test('web pages of others may not connect, clients that are no browsers may', async () => {
  await rule('origins', 'TYPE="websocket", DATASOURCE="/guarded"', { nop: {} }).catch(() => {});
  assert.is(await refusedWith('/guarded', { headers: { Origin: 'https://evil.example' } }), 403);
  const own = await connect('/guarded', { headers: { Origin: `http://127.0.0.1:${port}` } });
  own.socket.close();
});

/** Opens an event stream; resolves with the text so far. */
async function listen(path: string, headers: Record<string, string> = {}) {
  const asked = requestHttp({ port, path, headers, host: '127.0.0.1' });
  asked.on('error', () => {});
  asked.end();
  const [response] = await once(asked, 'response');
  const heard = { text: '', response, close: () => asked.destroy() };
  response.on('data', (chunk: Buffer) => {
    heard.text += chunk.toString();
  });
  response.on('error', () => {});
  return heard;
}

test('results are events with ids; who comes back gets what it has missed', async () => {
  await rule('events', 'TYPE="websocket", DATASOURCE="/feed"', { sse: { endpoint: '/events', sendSingle: true } });
  const sender = await connect('/feed');
  const first = await listen('/events');
  assert.is(first.response.headers['content-type'], 'text/event-stream');
  sender.socket.send('[{"n":1},{"n":2}]');
  await eventually('two events', () => first.text.includes('{"n":2}'));
  const ids = [...first.text.matchAll(/^id: (.*)$/gm)].map(([, id]) => id!);
  assert.match(first.text, /^id: .*\ndata: \{"n":1\}\n\nid: .*\ndata: \{"n":2\}\n\n$/);
  first.close();
  sender.socket.send('{"n":3}');
  await eventually('the third', async () => (await status('events')).sink_sse_0_0_records_out_total === 3);
  const again = await listen('/events', { 'Last-Event-ID': ids[0]! });
  await eventually('what was missed', () => again.text.includes('{"n":3}'));
  assert.equal(
    [...again.text.matchAll(/^data: (.*)$/gm)].map(([, data]) => data),
    ['{"n":2}', '{"n":3}'],
  );
  again.close();
  sender.socket.close();
});

test('an event stream of one rule is the source of another', async () => {
  await rule('up', 'TYPE="websocket", DATASOURCE="/up"', { sse: { endpoint: '/chain', sendSingle: true } });
  const conf = { url: `http://127.0.0.1:${port}/chain` };
  assert.is((await server.request('PUT', '/metadata/sources/sse/confKeys/chain', conf)).status, 200);
  await rule('down', 'TYPE="sse", CONF_KEY="chain"', { websocket: { path: '/end', sendSingle: true } });
  const [sender, end] = [await connect('/up'), await connect('/end')];
  for (let n = 0; n < 100; n++) sender.socket.send(JSON.stringify({ n, text: 'ä\n' }));
  await eventually('all of them', () => end.texts.length === 100);
  assert.is(end.texts[99], '{"n":99,"text":"ä\\n"}');
  for (const { socket } of [sender, end]) socket.close();
});

test.run();
