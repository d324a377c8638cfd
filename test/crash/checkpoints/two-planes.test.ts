/**
 * Rules in two data planes, each on a stream of its own, whose server is killed: with `qos` 2 each row comes once and
 * in order, also when a further rule brings them together in one data plane while they run.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { eventually, startServer, type TestServer, temporaryFolder } from '../../support/harness.js';

const count = 900;
const env = { KUIPER__BASIC__DATAPLANES: '2' };
let server: TestServer;

test.after.each(async () => {
  await server?.stop('SIGKILL');
});

async function made(path: string, body: object): Promise<void> {
  const { status, text } = await server.request('POST', path, body);
  assert.is(status, 201, text);
}

async function statusOf(id: string): Promise<Record<string, unknown>> {
  return (await server.request('GET', `/rules/${id}/status`)).json;
}

test('rules of two data planes have each row once, over kills and a move', async () => {
  const data = temporaryFolder();
  server = await startServer({ data, env });
  const outOf = (id: string) => join(data, `${id}.out`);
  const countsOf = (id: string): number[] =>
    existsSync(outOf(id))
      ? readFileSync(outOf(id), 'utf8')
          .split('\n')
          .filter((line) => line.endsWith('}'))
          .map((line) => JSON.parse(line).n)
      : [];
  for (const name of ['a', 'b']) {
    mkdirSync(join(data, name));
    const rows = Array.from({ length: count }, (_, id) => `{"id":${id}}\n`).join('');
    writeFileSync(join(data, name, 'rows'), rows);
    const key = { path: data, fileType: 'lines', sendInterval: '2ms' };
    await server.request('PUT', `/metadata/sources/file/confKeys/${name}`, key);
    const options = `TYPE="file", DATASOURCE="${name}", CONF_KEY="${name}", SHARED="true"`;
    await made('/streams', { sql: `CREATE STREAM ${name} () WITH (${options})` });
    await made('/rules', {
      id: name,
      sql: `SELECT acc_count(id) AS n FROM ${name}`,
      actions: [{ file: { path: outOf(name), sendSingle: true } }],
      options: { qos: 2, checkpointInterval: '50ms' },
    });
  }
  assert.equal([(await statusOf('a')).dataPlane, (await statusOf('b')).dataPlane], [0, 1]);
  const planes = (await server.request('GET', '/planes')).json;
  assert.equal(
    planes.map(({ plane, status, rules }: Record<string, unknown>) => [plane, status, rules]),
    [
      [0, 'running', 1],
      [1, 'running', 1],
    ],
  );
  const restart = async () => {
    await eventually('rows', () => ['a', 'b'].every((id) => countsOf(id).length > 0));
    await server.stop('SIGKILL');
    server = await startServer({ data, env });
  };
  await restart();
  const planesOf = async () => [(await statusOf('a')).dataPlane, (await statusOf('b')).dataPlane];
  await eventually('their places', async () => !(await planesOf()).includes(undefined));
  assert.equal(await planesOf(), [0, 1], 'each is where it was');
  const both = {
    id: 'both',
    sql: 'SELECT a.id FROM a INNER JOIN b ON a.id = b.id GROUP BY COUNTWINDOW(10)',
    actions: [{ nop: {} }],
    options: { forceExitTimeout: '100ms' },
  };
  const { text } = await server.request('POST', '/rules/validate', both);
  assert.match(text, /true/);
  await made('/rules', both);
  const placed = async (id: string) => {
    const { dataPlane, dataPlaneBecause } = await statusOf(id);
    return `${dataPlane}: ${dataPlaneBecause}`;
  };
  const place = await placed('both');
  assert.match(place, /^[01]: stream a is shared with 1 other; stream b is shared with 1 other/);
  const explained = await server.request('GET', '/rules/both/explain');
  assert.match(explained.text, /"dataPlane":[01],"because":\["stream a is shared with 1 other"/);
  assert.equal((await placed('a'))[0], place[0]);
  assert.equal((await placed('b'))[0], place[0]);
  await restart();
  await eventually('the ends', () => ['a', 'b'].every((id) => countsOf(id).at(-1) === count), 60_000);
  const whole = Array.from({ length: count }, (_, i) => i + 1);
  for (const id of ['a', 'b']) assert.equal(countsOf(id), whole, `rows of ${id}`);
});

test.run();
