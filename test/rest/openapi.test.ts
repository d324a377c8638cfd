/** The OpenAPI document: complete, well formed, and in agreement with the recorded scenarios. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { openApi } from '../../host/rest/openapi/openapi.js';
import { resources } from '../../host/rest/resources/gen/index.js';
import { inOrder, type Route } from '../../host/rest/route/route.js';
import { announceSkip } from '../support/harness.js';
import { startControlPlane } from '../support/rest/control-plane.js';
import { answerMisfit, type Json, misfit, operationFor } from '../support/rest/schema-check.js';

const golden = fileURLToPath(new URL('../../../shared/golden/rest/', import.meta.url));
const routes = resources.flatMap<Route<never>>((resource) => resource.routes);
const document: Json = JSON.parse(JSON.stringify(await openApi(resources, '1.0.0')));

test('the document is served and names every route', async () => {
  const server = await startControlPlane();
  const answer = await server.request('GET', '/openapi.json');
  assert.is(answer.status, 200);
  assert.is(answer.json.openapi, '3.1.0');
  for (const { method, path } of [...routes, { method: 'GET', path: '/openapi.json' }]) {
    const template = path.replace(/:(\w+)/g, '{$1}');
    assert.ok(answer.json.paths[template]?.[method.toLowerCase()], `${method} ${path}`);
  }
  await server.close();
});

test('every contract describes the success of its route', () => {
  const bare = routes.filter(({ contract, status = 200 }) => contract.answers?.[status] === undefined);
  assert.equal(
    bare.map(({ method, path }) => `${method} ${path}`),
    [],
  );
});

test('a route is declared once', () => {
  const all = routes.map(({ method, path }) => `${method} ${path}`);
  assert.equal(
    all.filter((name, i) => all.indexOf(name) !== i),
    [],
  );
});

test('a name in a path goes before a parameter', () => {
  const paths = inOrder(routes).map(({ path }) => path);
  assert.ok(paths.indexOf('/rules/validate') < paths.indexOf('/rules/:id'));
  assert.ok(paths.indexOf('/rules/usage/cpu') < paths.indexOf('/rules/:id/topo'));
});

test('a schema is declared once', () => {
  const all = resources.flatMap(({ schemas = {} }) => Object.keys(schemas));
  assert.equal(
    all.filter((name, i) => all.indexOf(name) !== i),
    [],
  );
});

test('operations have ids of their own, parameters for their paths, and schemas that exist', () => {
  const ids = new Set<string>();
  for (const [path, operations] of Object.entries<Json>(document.paths)) {
    for (const [method, operation] of Object.entries<Json>(operations)) {
      assert.not(ids.has(operation.operationId), operation.operationId);
      ids.add(operation.operationId);
      assert.ok(operation.summary.length > 0, `${method} ${path}`);
      const succeeds = Object.keys(operation.responses).some((status) => status.startsWith('2'));
      assert.ok(succeeds, `${method} ${path}`);
      for (const [, name] of path.matchAll(/\{(\w+)\}/g)) {
        assert.ok(
          operation.parameters.some((p: Json) => p.in === 'path' && p.name === name),
          `${path} ${name}`,
        );
      }
    }
  }
  for (const [, name] of JSON.stringify(document).matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
    assert.ok(document.components.schemas[name as string], name);
  }
});

if (!existsSync(golden)) {
  announceSkip('recorded scenarios against the OpenAPI document', 'they are not beside this checkout');
} else {
  test('routes, statuses and bodies of the recorded scenarios fit the document', () => {
    const wrong: string[] = [];
    let count = 0;
    for (const file of readdirSync(golden).filter((name) => name.endsWith('.json'))) {
      const { area, scenarios } = JSON.parse(readFileSync(golden + file, 'utf8'));
      for (const scenario of scenarios) {
        for (const { request, expect } of scenario.steps) {
          if (request === undefined || request.base !== undefined || expect?.status === undefined) continue;
          count++;
          const reason = stepMisfit(request, expect);
          if (reason !== undefined) wrong.push(`${area} / ${scenario.name}: ${reason}`);
        }
      }
    }
    assert.ok(count > 1000, `${count} steps`);
    assert.equal(wrong, []);
  });
}

/** Of several statuses that are allowed one must be described; bodies are judged with those that are. */
function stepMisfit(request: Json, expect: Json): string | undefined {
  const statuses: number[] = [expect.status].flat();
  const reasons = statuses.map((status) => answerMisfit(document, request, { status, json: expect.json }));
  if (!reasons.includes(undefined)) return reasons.join(' or ');
  const { operation, path } = operationFor(document, request.method, request.path) ?? {};
  if (operation === undefined || !statuses.every((status) => status < 300)) return undefined;
  const body = operation.requestBody?.content?.['application/json'];
  if (request.json !== undefined && body === undefined && operation.requestBody === undefined) {
    return `${request.method} ${path}: a body is not described`;
  }
  return body === undefined || request.json === undefined
    ? undefined
    : misfit(document, body.schema, request.json, 'body');
}

test.run();
