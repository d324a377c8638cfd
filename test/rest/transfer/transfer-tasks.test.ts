/** Imports in the background with the options that imports have, and beside other imports. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { eventually } from '../../support/harness.js';
import { startControlPlane } from '../../support/rest/control-plane.js';

const plane = await startControlPlane();
test.after(() => plane.close());

const stream = (name: string) => `CREATE STREAM ${name} (a BIGINT) WITH (DATASOURCE="t", TYPE="memory")`;
const streams = (prefix: string, count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`${prefix}${i}`, stream(`${prefix}${i}`)]));

/** Starts an import in the background; returns the id of its task. */
async function start(document: object, query = ''): Promise<string> {
  const answer = await plane.request('POST', `/async/data/import${query}`, { content: JSON.stringify(document) });
  assert.is(answer.status, 200, answer.text);
  return answer.json.id;
}

const taskOf = async (id: string) => (await plane.request('GET', `/async/task/${id}`)).json;

/** Waits for the end of a task; returns its status and message. */
async function ended(id: string): Promise<[status: string, message: string]> {
  const { status, message } = await eventually('the end of the task', async () => {
    const task = await taskOf(id);
    return ['finish', 'error', 'cancel'].includes(task.status) ? task : undefined;
  });
  return [status, message];
}

const names = async () => (await plane.request('GET', '/streams')).json;

test.before.each(async () => {
  const clean = await plane.request('POST', '/data/import', {
    content: JSON.stringify({ streams: streams('old', 1) }),
  });
  assert.is(clean.status, 200);
});

const mixed = { streams: { good: stream('good'), bad: 'X' }, uploads: { u: '{"name": "u", "content": "u"}' } };

test('an import whose items are refused is an error that names them; the others are taken', async () => {
  const [status, message] = await ended(await start(mixed, '?partial=1'));
  assert.is(status, 'error');
  assert.equal(Object.keys(JSON.parse(message).streams), ['bad']);
  assert.equal(await names(), ['good', 'old0']);
  assert.equal(Object.keys((await plane.request('GET', '/data/import/status')).json.streams), ['bad']);
});

test('with atomic=1 nothing is taken when an item is refused, everything when none is', async () => {
  for (const query of ['?atomic=1', '?atomic=1&partial=1']) {
    const [status, message] = await ended(await start(mixed, query));
    assert.is(status, 'error');
    assert.equal(Object.keys(JSON.parse(message).streams), ['bad']);
    assert.equal(await names(), ['old0']);
    assert.equal((await plane.request('GET', '/config/uploads')).json, []);
  }
  const good = { streams: { good: stream('good') } };
  assert.is((await ended(await start(good, '?atomic=1&partial=1')))[0], 'finish');
  assert.equal(await names(), ['good', 'old0']);
  assert.is((await ended(await start(good, '?atomic=1')))[0], 'finish');
  assert.equal(await names(), ['good']);
});

test('a dry run finishes and changes nothing, neither the definitions nor the status of the last import', async () => {
  const before = (await plane.request('GET', '/data/import/status')).json;
  assert.is((await ended(await start({ streams: streams('new', 3) }, '?dryRun=1')))[0], 'finish');
  assert.is((await ended(await start(mixed, '?dryRun=1')))[0], 'error');
  assert.equal(await names(), ['old0']);
  assert.equal((await plane.request('GET', '/data/import/status')).json, before);
});

test('with stop=1 the server ends after a success, and only then', async () => {
  const before = plane.stopRequests;
  assert.is((await ended(await start(mixed, '?stop=1')))[0], 'error');
  assert.is((await ended(await start({}, '?stop=1&dryRun=1')))[0], 'finish');
  assert.is(plane.stopRequests, before);
  assert.is((await ended(await start({}, '?stop=1')))[0], 'finish');
  await eventually('the request to stop', () => plane.stopRequests === before + 1);
});

test('a task that waits for another import is canceled without having changed anything', async () => {
  const first = await start({ streams: streams('first', 4000) });
  const second = await start({ streams: streams('second', 3) });
  assert.is((await plane.request('POST', `/async/task/${second}/cancel`)).text, 'cancel success');
  assert.is((await ended(first))[0], 'finish');
  assert.is((await taskOf(second)).status, 'cancel');
  // Passes when no import is under way any more.
  await plane.request('POST', '/streams', { sql: stream('after') });
  assert.is((await names()).length, 4001);
});

test('imports in the background and imports that are waited for take turns', async () => {
  const documents = ['a', 'b', 'c', 'd'].map((prefix) => ({ streams: streams(prefix, 40) }));
  const tasks = await Promise.all(documents.map((document) => start(document)));
  const content = JSON.stringify({ streams: streams('last', 40) });
  assert.is((await plane.request('POST', '/data/import', { content })).status, 200);
  for (const id of tasks) assert.is((await ended(id))[0], 'finish');
  const left = await names();
  assert.is(left.length, 40);
  assert.is(new Set(left.map((name: string) => name.replace(/\d+$/, ''))).size, 1, 'of one document only');
});

for (const [body, reason] of [
  [{}, /content or file/],
  [{ content: '{}', file: 'file:///x' }, /both/],
  [{ content: 5 }, /content must be a text/],
  [[], /object was expected/],
  ['{bad', /no JSON/],
  ['', /empty/],
] as const) {
  test(`a request that can not be read makes no task: ${JSON.stringify(body)}`, async () => {
    const answer = await plane.request('POST', '/async/data/import', body);
    assert.equal([answer.status, answer.json.error], [400, 1000]);
    assert.match(answer.json.message, reason);
  });
}

for (const [content, reason] of [
  ['{bad', /no JSON/],
  ['[]', /must be a JSON object/],
  ['{"strems": {}}', /unknown map strems/],
] as const) {
  test(`a document that can not be read is an error of its task: ${content}`, async () => {
    const { id } = (await plane.request('POST', '/async/data/import', { content })).json;
    const [status, message] = await ended(id);
    assert.is(status, 'error');
    assert.match(message, reason);
    assert.equal(await names(), ['old0']);
  });
}

test.run();
