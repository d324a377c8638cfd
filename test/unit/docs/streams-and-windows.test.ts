/** The page about streams and windows names everything there is, and its statements can be run as they stand. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { windowKinds } from '../../../host/sql/keywords.js';
import { optionNames } from '../../../host/sql/source-def.js';
import { startServer } from '../../support/harness.js';

const page = readFileSync(fileURLToPath(new URL('../../../docs/streams-and-windows.md', import.meta.url)), 'utf8');

const server = await startServer();
test.after(async () => void (await server.stop()));

test('all options of streams and all windows are there', () => {
  for (const name of optionNames) assert.match(page, `\`${name}\``);
  for (const name of windowKinds.keys()) assert.match(page, `\`${name}(`);
});

test('its statements are taken without a warning', async () => {
  await server.request('PUT', '/metadata/sources/mqtt/confKeys/plant', { server: 'tcp://127.0.0.1:1' });
  const content = 'syntax = "proto3"; message Order { int64 id = 1; }';
  await server.request('POST', '/schemas/protobuf', { name: 'shop', content });
  const blocks = [...page.matchAll(/```sql\n(.*?)```/gs)].flatMap(([, block = '']) => block.split(';\n'));
  const statements = blocks.map((text) => text.trim()).filter((text) => text !== '');
  assert.ok(statements.length > 5);
  const windows = [...page.matchAll(/`(\w+WINDOW\(.*?\))`/g)].map(
    ([, window]) => `SELECT count(*) AS n FROM telem GROUP BY ${window}`,
  );
  assert.ok(windows.length >= 8);
  for (const [i, sql] of [...statements, ...windows].entries()) {
    const isQuery = sql.startsWith('SELECT');
    const body = isQuery ? { id: `r${i}`, sql, actions: [{ nop: {} }], triggered: false } : { sql };
    const path = isQuery ? '/rules' : /^CREATE TABLE/.test(sql) ? '/tables' : '/streams';
    const { status, text, headers } = await server.request('POST', path, body);
    assert.is(status, 201, `${sql}: ${text}`);
    assert.is(headers.get('warning'), null, `${sql}: ${headers.get('warning')}`);
  }
});

test.run();
