/** Every operation of the REST interface: its success and each of its refusals, over HTTP. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { eventually } from '../../support/harness.js';
import { startControlPlane } from '../../support/rest/control-plane.js';
import type { Json } from '../../support/rest/schema-check.js';
import { CaseRunner, nameOf, openServer } from './run.js';
import { ends } from './system.js';
import { tables } from './tables.js';
import { broker } from './transfer.js';

/** Not caused by the request itself: `failures.test.ts` has these, `bad-input` and `read-tokens` those of tokens. */
const elsewhere = ['default', '401', '403', '413', '500', '503'];

/** Answers of nodes of a cluster: `test/fault/cluster` asks for them. */
const ofNodes = [
  'GET /cluster 200',
  ...['POST', 'DELETE'].flatMap((method) =>
    ['200', '400'].map((status) => `${method} /cluster/nodes/{name}/drain ${status}`),
  ),
];

/** Answers of servers that have a list of others: `test/rest/server/fleet.test.ts` asks for them. */
const ofLists = [
  ...['', '/servers', '/rules', '/differences'].map((path) => `GET /fleet${path} 200`),
  ...['', '/servers', '/rules', '/differences'].map((path) => `GET /fleet${path} 400`),
  'POST /fleet/push 200',
];

/** Answers that go on until somebody ends them: `test/rest/rules/rule-tests.test.ts` listens to them. */
const streamed = ['GET /ruletest/{id}/events 200'];

const { document, runner, close } = await openServer();
test.after(async () => {
  await close();
  await broker.close();
});

for (const [resource, all] of Object.entries(tables)) {
  test(`${resource}: ${all.length} requests have the answers they must have`, async () => {
    const wrong: string[] = [];
    for (const one of all) {
      await runner.run(one).catch((error: Error) => wrong.push(`${nameOf(one)}\n    ${error.message}`));
    }
    assert.is(wrong.join('\n'), '');
  });
}

test(`${ends.length} orders end the server after their answer`, async () => {
  for (const one of ends) {
    const plane = await startControlPlane();
    await new CaseRunner(plane.base, document).run(one);
    await eventually('the end', () => plane.stopRequests === 1 || undefined);
    await plane.close();
  }
});

/** Operations of the document with the statuses they declare. */
function declared(): Set<string> {
  const all = new Set<string>();
  for (const [path, operations] of Object.entries<Json>(document.paths)) {
    for (const [method, { responses }] of Object.entries<Json>(operations)) {
      for (const status of Object.keys(responses)) {
        if (!elsewhere.includes(status)) all.add(`${method.toUpperCase()} ${path} ${status}`);
      }
    }
  }
  return all;
}

test('each status that an operation declares has a case, and no other status has one', () => {
  const wanted = declared();
  const all = [...Object.values(tables), ends].flat();
  const shown = new Set(all.map(({ op, status }) => `${op} ${status}`));
  assert.equal(
    [...wanted].filter((one) => ![...shown, ...ofNodes, ...ofLists, ...streamed].includes(one)),
    [],
    'declared without a case',
  );
  assert.equal(
    [...shown].filter((one) => !wanted.has(one)),
    [],
    'a case that is not declared',
  );
});

test.run();
