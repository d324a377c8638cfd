/**
 * The examples of docs/sql.md that say where rows come from: configuration keys, options of streams, and what their
 * rules send. A block `requests` has a line for each: a request, a statement that creates something, or a query, `=>`
 * and its rows.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { eventually, startServer, type TestServer } from '../../support/harness.js';

const page = readFileSync(fileURLToPath(new URL('../../../docs/sql.md', import.meta.url)), 'utf8');
const lines = [...page.matchAll(/```requests\n(.*?)```/gs)].flatMap(([, block = '']) => block.trim().split('\n'));

let server: TestServer;
test.before(async () => {
  server = await startServer();
});
test.after(async () => void (await server.stop()));

/** The rows that a query sends before its source ends, or why it is refused. */
async function answerOf(id: string, query: string, temp: boolean): Promise<string> {
  const path = join(server.data, `${id}.out`);
  const actions = [{ file: { path, sendSingle: true } }];
  const { status, text } = await server.request('POST', '/rules', { id, sql: query, actions, temp });
  if (status !== 201) return `refused: ${text}`;
  await eventually(`the end of ${query}`, async () => {
    const { json } = await server.request('GET', `/rules/${id}/status`);
    return /^stopped/i.test(json.status) || undefined;
  });
  return existsSync(path) ? readFileSync(path, 'utf8').trimEnd().replaceAll('\n', ' ') : '';
}

test('the examples do what they say', async () => {
  assert.ok(lines.length > 5, 'there are examples');
  for (const [i, line] of lines.entries()) {
    const [what = '', expected] = line.split(' => ');
    if (what.startsWith('PUT ')) {
      const [, path = '', body = ''] = /^PUT (\S+) (.*)$/.exec(what) ?? [];
      const { status, text } = await server.request('PUT', path, JSON.parse(body));
      assert.is(status, 200, `${line}: ${text}`);
    } else if (what.startsWith('CREATE ')) {
      const { status, text } = await server.request('POST', '/streams', { sql: what });
      assert.is(status, 201, `${line}: ${text}`);
    } else {
      const temp = what.endsWith(' (temporary)');
      const answer = await answerOf(`r${i}`, what.replace(/ \(temporary\)$/, ''), temp);
      if (expected?.startsWith('refused')) assert.match(answer, expected.slice('refused '.length));
      else assert.is(answer, expected, line);
    }
  }
});

test.run();
