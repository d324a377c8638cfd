/** What goes wrong with rows is in the status of the rule and in the log, where many failures are few lines. */
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { basename, dirname, join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { eventually, freePort, request, startServer, temporaryFolder } from '../../support/harness.js';

const dataPort = await freePort();
const server = await startServer({
  env: { KUIPER__SOURCE__HTTPSERVERPORT: String(dataPort), KUIPER__BASIC__DEBUG: 'true' },
});
test.after(async () => {
  await server.stop();
});

const log = () => readFileSync(join(server.data, 'log', 'stream.log'), 'utf8');
const linesWith = (pattern: RegExp) =>
  log()
    .split('\n')
    .filter((line) => pattern.test(line));

await server.request('POST', '/streams', {
  sql: 'CREATE STREAM s () WITH (TYPE="httppush", DATASOURCE="/s", FORMAT="json", SHARED="true")',
});

async function rule(id: string, sql: string): Promise<void> {
  const answer = await server.request('POST', '/rules', { id, sql, actions: [{ log: {} }] });
  assert.is(answer.status, 201, answer.text);
}

async function push(row: object | string): Promise<void> {
  await eventually('the data server', async () => {
    const answer = await request(`http://127.0.0.1:${dataPort}`, 'POST', '/s', row).catch(() => undefined);
    return answer?.status === 200 || undefined;
  });
}

const lastExceptions = async (id: string) => {
  const { json } = await server.request('GET', `/rules/${id}/status`);
  const found = Object.entries(json as object).filter(([name, value]) => /_last_exception$/.test(name) && value !== '');
  return Object.fromEntries(found);
};

test('the text of a failed expression says what was being done', async () => {
  await rule('where', 'SELECT a FROM s WHERE a > b');
  await rule('select', 'SELECT a / b AS q FROM s');
  await rule('having', 'SELECT count(*) AS n FROM s GROUP BY COUNTWINDOW(1) HAVING count(*) > max(b)');
  await push({ a: 4, b: 'foo', password: 'hunter2' });
  const found = await eventually('failures', async () => {
    const all = [await lastExceptions('where'), await lastExceptions('select'), await lastExceptions('having')];
    return all.every((one) => Object.keys(one).length > 0) ? all : undefined;
  });
  assert.equal(found[0], {
    op_3_filter_0_last_exception: 'run Where error: invalid operation float64(4) > string(foo)',
  });
  assert.equal(found[1], {
    op_3_project_0_last_exception: 'run Select error: invalid operation float64(4) / string(foo)',
  });
  assert.match(Object.values(found[2] ?? {}).join(), /^run (Having|Window|Select) error: /);
  const summary = (await server.request('GET', '/rules/status/all')).json;
  assert.match(summary.select.last_exception, /^run Select error: /);
  assert.is(summary.select.exceptions_total, 1);
});

test('a failure is in the log with rule, operator and input, in which secrets are masked', async () => {
  const [line = ''] = await eventually('the line', () => {
    const lines = linesWith(/rule=select/).filter((one) => one.includes('op_3_project'));
    return lines.length > 0 ? lines : undefined;
  });
  assert.match(line, /level=warn/);
  assert.match(line, 'op_3_project failed: run Select error: invalid operation float64(4) / string(foo)');
  assert.match(line, /input=.*foo/);
  assert.match(line, /password.*\*{6}/);
  assert.not.match(log(), 'hunter2');
});

test('many failures are few lines, which count the rest', async () => {
  for (let i = 0; i < 200; i++) await push({ a: i, b: 'foo' });
  await eventually('all failures', async () => {
    return (await server.request('GET', '/rules/status/all')).json.select.exceptions_total >= 201 || undefined;
  });
  await server.request('POST', '/rules/select/stop');
  const rest = await eventually('the count', () =>
    linesWith(/rule=select/).find((line) => / more of the same/.test(line)),
  );
  const inFull = linesWith(/rule=select/).filter((line) => line.includes('failed: run Select error'));
  assert.ok(inFull.length <= 3, `${inFull.length} lines`);
  const count = Number(/… ([\d,]+) more/.exec(rest)?.[1]?.replaceAll(',', ''));
  assert.is(count + inFull.length, 201);
});

test('a payload that does not decode is told of once for all rules of a shared stream', async () => {
  await push('{bad');
  await eventually('the line', () => linesWith(/source_s failed/).length > 0 || undefined);
  assert.is(linesWith(/source_s failed: invalid JSON/).length, 1);
  for (const id of ['where', 'having']) {
    await eventually(`trouble of ${id}`, async () => {
      const list: { id: string; trouble: string[] }[] = (await server.request('GET', '/rules?trouble=true')).json;
      return list.find((one) => one.id === id)?.trouble.some((text) => /the last one: invalid JSON/.test(text));
    });
  }
  await server.request('POST', '/rules/where/stop');
  await push('{bad again');
  await eventually('the error', async () => {
    const { json } = await server.request('GET', '/rules/having/status');
    return json.source_s_0_exceptions_total === 2 || undefined;
  });
  await server.request('POST', '/rules/having/stop');
  const lines = linesWith(/source_s failed: (?!…)/);
  assert.ok(lines.length <= 2, lines.join('\n'));
});

test('no line blames another message of those that came together', async () => {
  const file = join(temporaryFolder(), 'mixed.jsonl');
  writeFileSync(
    file,
    '{"device":"good","temp":33}\nBROKEN1\n{"device":"g2","temp":1}\n{"device":"odd","temp":"x"}\nBROKEN2\n',
  );
  await server.request('POST', '/streams', {
    sql: `CREATE STREAM mixed () WITH (TYPE="file", DATASOURCE="${basename(file)}", CONF_KEY="mixed", FORMAT="json")`,
  });
  await server.request('PUT', '/metadata/sources/file/confKeys/mixed', { fileType: 'lines', path: dirname(file) });
  await rule('mixed', 'SELECT temp * 2 AS t FROM mixed');
  const lines = await eventually('both lines', () => {
    const found = linesWith(/rule=mixed/).filter((line) => / failed: /.test(line));
    return found.length > 1 ? found : undefined;
  });
  assert.ok(
    lines.some((line) => /invalid JSON.* input=BROKEN2/.test(line)),
    lines.join('\n'),
  );
  for (const line of lines) assert.not.match(line, /good|g2/);
});

test('a client that breaks off is no error', async () => {
  const { port } = new URL(server.base);
  for (const path of ['/rules', '/config/uploads', '/data/import']) {
    const socket = connect(Number(port), '127.0.0.1');
    await once(socket, 'connect');
    socket.write(
      `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ` +
        '1000\r\nExpect: 100-continue\r\n\r\n{"id',
    );
    // The head of the request has arrived.
    await once(socket, 'data');
    socket.resetAndDestroy();
    await eventually(
      `a line about ${path}`,
      () => linesWith(/broke off/).some((line) => line.includes(path)) || undefined,
    );
  }
  assert.equal(linesWith(/level=error/), []);
  for (const line of linesWith(/broke off/)) assert.match(line, /level=debug/);
});

test('members of an imported rule that nothing reads are in the log', async () => {
  const text = JSON.stringify({ id: 'brought', sql: 'SELECT a FROM s', actions: [{ log: {} }], nosuch: 1 });
  const content = JSON.stringify({ rules: { brought: text } });
  const answer = await server.request('POST', '/data/import?partial=1', { content });
  assert.is(answer.status, 200, answer.text);
  await eventually('the line', () => linesWith(/rule brought: nosuch is not known/).length > 0 || undefined);
});

test('what a source could not read is in the log and among the troubles', async () => {
  let answers = 0;
  const web = createServer((_request, response) => {
    answers++;
    response.writeHead(500).end(`token=${'x'.repeat(10)}`);
  }).listen(0, '127.0.0.1');
  await once(web, 'listening');
  const { port } = web.address() as AddressInfo;
  const conf = { url: `http://127.0.0.1:${port}`, interval: '20ms' };
  assert.is((await server.request('PUT', '/metadata/sources/httppull/confKeys/broken', conf)).status, 200);
  const sql = 'CREATE STREAM pulled () WITH (TYPE="httppull", DATASOURCE="/rows", CONF_KEY="broken", FORMAT="json")';
  assert.is((await server.request('POST', '/streams', { sql })).status, 201);
  await rule('pulled', 'SELECT * FROM pulled');
  const failed = () => linesWith(/rule=pulled/).filter((line) => line.includes('source_pulled failed'));
  await eventually('ten answers and the line', () => (answers > 10 && failed().length > 0) || undefined);
  const trouble = await eventually('the trouble', async () => {
    const list: { id: string; trouble: string[] }[] = (await server.request('GET', '/rules?trouble=true')).json;
    return list.find((one) => one.id === 'pulled')?.trouble.find((text) => /errors? in the last minute/.test(text));
  });
  assert.match(trouble, /500/);
  await server.request('POST', '/rules/pulled/stop');
  const rest = await eventually('the count', () =>
    linesWith(/rule=pulled/).find((line) => / more of the same/.test(line)),
  );
  assert.ok(Number(/… ([\d,]+) more/.exec(rest)?.[1]?.replaceAll(',', '')) >= 9, rest);
  assert.is(failed().filter((line) => !line.includes(' more ')).length, 1);
  web.close();
});

test.run();
