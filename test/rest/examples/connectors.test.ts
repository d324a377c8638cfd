/** The examples of connectors: each connector has one, and the server takes every request of it as it stands. */
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { userConnectors } from '../../../host/connectors/index.js';
import { startServer, type TestServer } from '../../support/harness.js';

const folder = fileURLToPath(new URL('../../../examples/connectors/', import.meta.url));
const examples = readdirSync(folder).map((file) => file.replace(/\.http$/, ''));

interface Request {
  readonly method: string;
  readonly path: string;
  readonly body: unknown;
}

/** A line with method and path begins a request, the JSON below it is the body. */
function requestsIn(text: string): Request[] {
  return text
    .split(/^(?=(?:PUT|POST) )/m)
    .slice(1)
    .map((part) => {
      const end = part.indexOf('\n');
      const [method = '', path = ''] = part.slice(0, end).split(' ');
      return { method, path, body: JSON.parse(part.slice(end)) as unknown };
    });
}

let server: TestServer;
test.before.each(async () => {
  // Examples name variables with secrets.
  server = await startServer({ env: { HAUMEA_SECRET_INFLUX: 'x' } });
});
test.after.each(async () => void (await server.stop()));

test('every connector has an example, and every example a connector', () => {
  assert.equal(
    examples,
    userConnectors()
      .filter(({ source, lookup, sink }) => [source, lookup, sink].some((part) => part !== undefined))
      .map(({ name }) => name)
      .sort(),
  );
});

for (const name of examples) {
  test(`the example of ${name} is taken as it stands`, async () => {
    const requests = requestsIn(readFileSync(join(folder, `${name}.http`), 'utf8'));
    assert.ok(requests.length >= 2);
    // The folder that the example of files reads.
    mkdirSync(join(server.data, 'incoming/in'), { recursive: true });
    for (const { method, path, body } of requests) {
      const { status, text } = await server.request(method, path, body);
      assert.ok(status < 300, `${method} ${path}: ${status} ${text}`);
      assert.not.ok(/is not known|warning/i.test(text), text);
    }
    const { text } = await server.request('GET', '/rules');
    assert.ok(text.includes('"id"'));
    for (const { id } of JSON.parse(text) as { id: string }[]) {
      const plan = await server.request('GET', `/rules/${id}/explain`);
      assert.is(plan.status, 200, plan.text);
    }
  });
}

test.run();
