import { once } from 'node:events';
import { createServer } from 'node:http';
import { PassThrough } from 'node:stream';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { within } from '../../support/harness.js';
import { fakeServer, run, serveQueries } from '../../support/rest/fake-server.js';

const server = await fakeServer();

test.before.each(() => server.reset());
test.after(() => server.close());

const asked = () => server.asked.map(({ method, path }) => `${method} ${path.replace(/query_\w+/, 'ID')}`);

test('runs a query, prints its rows and removes the test rule', async () => {
  serveQueries(server, ['{"a":1}', '[{"a":2},{"a":3}]', '{"a":4}']);
  const result = await within(5000, 'query', run(server.base, ['query', 'SELECT a FROM s;', '--limit', '3']));
  assert.equal(result, { code: 0, out: '{"a":1}\n{"a":2}\n{"a":3}\n', err: '' });
  const { id, ...body } = JSON.parse(server.asked[0]?.body ?? '');
  assert.match(id, /^query_/);
  assert.equal(body, { sql: 'SELECT a FROM s', sinkProps: { sendSingle: true } });
  assert.equal([...asked()].sort(), [
    'DELETE /ruletest/ID',
    'GET /test/ID',
    'POST /ruletest',
    'POST /ruletest/ID/start',
  ]);
  assert.is(asked().at(-1), 'DELETE /ruletest/ID');
});

test('Ctrl-C ends a query and the test rule', async () => {
  serveQueries(server, ['{"a":1}']);
  let interrupt: (() => void) | undefined;
  const running = run(server.base, ['query', 'SELECT a FROM s'], {
    onListen: (call) => {
      interrupt = call;
    },
  });
  while (!asked().includes('POST /ruletest/ID/start')) await new Promise((resolve) => setImmediate(resolve));
  interrupt?.();
  assert.is((await within(5000, 'query', running)).code, 0);
  assert.is(asked().at(-1), 'DELETE /ruletest/ID');
});

test('a query whose stream has ended ends, and says so', async () => {
  serveQueries(server, ['{"a":1}\n\n: the stream has ended: all of its input was read']);
  const result = await within(5000, 'query', run(server.base, ['query', 'SELECT a FROM s']));
  assert.equal(result, { code: 0, out: '{"a":1}\n', err: 'the stream has ended: all of its input was read\n' });
  assert.is(asked().at(-1), 'DELETE /ruletest/ID');
});

test('at a terminal a query says how it ends, and quit ends it', async () => {
  serveQueries(server, ['{"a":1}']);
  const input = new PassThrough();
  const typed = ['SELECT a FROM s\n', 'SHOW STREAMS\n', 'quit\n'];
  const type = () => void input.write(typed.shift() ?? '');
  type();
  const result = await within(
    5000,
    'query',
    run(server.base, ['query'], {
      terminal: input,
      onErr: (text) => {
        if (/Ctrl-C (ends the query|or quit)/.test(text)) type();
      },
    }),
  );
  input.destroy();
  assert.is(result.code, 0);
  assert.match(result.err, 'Ctrl-C ends the query.\n');
  assert.match(result.err, 'A query is running: Ctrl-C or quit ends it');
  assert.ok(asked().includes('DELETE /ruletest/ID'));
});

test('an event server without TLS beside REST with TLS is told of', async () => {
  const plain = createServer((_request, response) => response.end()).listen(0, '127.0.0.1');
  await once(plain, 'listening');
  server.on('*', { body: { id: 'x', port: server.port } });
  const { port } = plain.address() as { port: number };
  const argv = ['query', 'SELECT a FROM s', '--events-url', `https://127.0.0.1:${port}`];
  const { code, err } = await within(5000, 'query', run(server.base, argv));
  plain.close();
  plain.closeAllConnections();
  assert.is(code, 1);
  assert.match(err, 'the event server speaks http, although REST speaks https: --events-url http://HOST:PORT');
});

test('a text in place of rows is an error of the query', async () => {
  serveQueries(server, ['run Select error: boom', '{"a":1}']);
  const result = await within(5000, 'query', run(server.base, ['query', 'SELECT a FROM s', '--limit', '1']));
  assert.equal(result, { code: 1, out: '{"a":1}\n', err: 'run Select error: boom\n' });
});

test('tells why a query is refused', async () => {
  server.on('POST /ruletest', { status: 400, body: { msg: 'stream s is not found' } });
  const { code, err } = await run(server.base, ['query', 'SELECT a FROM s']);
  assert.equal([code, err], [1, 'haumea: stream s is not found\n']);
});

test('removes the test rule when it does not start', async () => {
  server.on('POST /ruletest', { body: { id: 'x', port: server.port } });
  server.on('*', (response, { path, method }) => {
    if (path.endsWith('/start')) response.writeHead(400).end('no');
    else if (method === 'DELETE') response.end();
  });
  const { code, err } = await within(5000, 'query', run(server.base, ['query', 'SELECT a FROM s']));
  assert.equal([code, err], [1, 'haumea: no\n']);
  assert.is(asked().at(-1), 'DELETE /ruletest/ID');
});

test('reads statements line by line', async () => {
  server.on('POST /streams', { status: 201, body: 'Stream s is created.' });
  server.on('POST /tables', { status: 201, body: 'Table t is dropped.' });
  const input = 'help\n\nCREATE STREAM s () \\\nWITH (TYPE="memory");\nDROP TABLE t\nquit\nSHOW STREAMS\n';
  const { code, out, err } = await run(server.base, ['query'], { input });
  assert.equal([code, err], [0, '']);
  assert.match(out, 'SELECT …');
  assert.match(out, 'Stream s is created.\nTable t is dropped.\n');
  assert.equal(
    server.asked.map(({ body }) => JSON.parse(body).sql),
    ['CREATE STREAM s () \nWITH (TYPE="memory")', 'DROP TABLE t'],
  );
});

test('runs statements that semicolons separate, those in quotes and comments do not', async () => {
  server.on('POST /streams', { status: 201, body: 'done' });
  server.on('POST /tables', { status: 201, body: 'done' });
  const sql = `CREATE STREAM s (a STRING) WITH (DATASOURCE="a;\\";b"); -- one; two
    DROP TABLE \`t;u\` /* three; four */;; DROP STREAM s;`;
  const { code, err } = await run(server.base, ['query', sql]);
  assert.equal([code, err], [0, '']);
  assert.equal(
    server.asked.map(({ path, body }) => [path, JSON.parse(body).sql]),
    [
      ['/streams', 'CREATE STREAM s (a STRING) WITH (DATASOURCE="a;\\";b")'],
      ['/tables', '-- one; two\n    DROP TABLE `t;u` /* three; four */'],
      ['/streams', 'DROP STREAM s'],
    ],
  );
});

test('goes on after a failed statement and ends with exit code 1', async () => {
  server.on('POST /streams', { status: 400, body: { error: 3000, message: 'bad stream' } });
  server.on('POST /tables', { body: ['t'] });
  const { code, out, err } = await run(server.base, ['query'], { input: 'CREATE STREAM x\nSHOW TABLES\n' });
  assert.equal([code, out, err], [1, 't\n', 'bad stream\n']);
});

test.run();
