/**
 * Functions of plugins over texts that nobody declared, and numbers of many digits: built and tried as what they are,
 * or refused.
 */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { startServer, temporaryFolder } from '../../support/harness.js';
import { compileText } from '../../support/plugins/modules.js';
import { Commands } from '../../support/rest/commands.js';
import { RowsThrough } from '../../support/rest/rows-through.js';

const server = await startServer();
test.after(async () => {
  await server.stop();
});
const rule = new RowsThrough(server);
const folder = temporaryFolder();
const commands = new Commands(folder, { HAUMEA_URL: server.base });

/** Makes a plugin of a source in AssemblyScript, built with more options. */
async function plugin(name: string, source: string, options = ''): Promise<string> {
  const own = join(folder, name);
  rmSync(own, { recursive: true, force: true });
  await commands.done(`plugin new ${name}`);
  writeFileSync(join(own, 'src/index.ts'), source);
  const project = JSON.parse(readFileSync(join(own, 'plugin.json'), 'utf8'));
  writeFileSync(join(own, 'plugin.json'), JSON.stringify({ ...project, build: `${project.build} ${options}` }));
  return own;
}

const shouting = `
  /* what is shouted, not "export function quiet(text: i32): i32 {" */
  export function shout(text: string, times: i32): string { return text.toUpperCase().repeat(times); }
  function isLoud(text: string | null): bool { return text != null && text.toUpperCase() == text; }
  export { isLoud as is_loud };
  export function louder(level: f64): f64 { return level + 1; }
`;

test('a text in the source is a text in SQL', async () => {
  const own = await plugin('shout', shouting, '--exportRuntime');
  const { out } = await commands.done('plugin build', own);
  assert.match(out, /shout\(text: string, times: bigint\): string/);
  assert.match(out, /is_loud\(text: string\): boolean/);
  assert.match(out, /louder\(level: float\): float/);
  assert.not.match(out, /quiet/);
  const rows = join(own, 'other.jsonl');
  writeFileSync(rows, '{"v":"hé"}\n{"v":"HI"}\n{"v":5}\n');
  const sql = 'SELECT shout(v, 2) AS s, is_loud(v) AS l FROM input';
  const tried = await commands.done('plugin test', own, '--rows', rows, '--sql', sql);
  assert.is(
    tried.out,
    '{"l":false,"s":"HÉHÉ"}\n{"l":true,"s":"HIHI"}\nfunction is_loud of shout: argument 1 is a float, not a string\n',
  );
  await commands.done('plugin push', own);
  assert.equal(await rule.results('SELECT shout(v, 3) AS r FROM s', [{ v: 'a' }]), [{ r: 'AAA' }]);
});

test('without the run time, or with types that SQL has not, the build says what is missing', async () => {
  const bare = await commands.run('plugin build', await plugin('bare', shouting));
  assert.is(bare.code, 1);
  assert.match(bare.err, /function shout\(text: string, times: i32\): string needs the run time: add --exportRuntime/);
  const optional = 'export function more(by: f64, times: i32 = 1): f64 { return by * times; }';
  const more = await commands.run('plugin build', await plugin('more', optional));
  assert.is(more.code, 1);
  assert.match(more.err, /function more\(by: f64, times: i32\): f64: its arguments can't have defaults/);
  const source = 'export function total(values: Array<f64>, by: string): f64 { return <f64>values.length; }';
  const total = await commands.run('plugin build', await plugin('total', source, '--exportRuntime'));
  assert.is(total.code, 1);
  assert.match(total.err, /function total\(.*\): f64: values is Array<f64>, which has no type in SQL/);
  assert.ok(total.err.includes('{"name":"total","args":["array","string"],"result":"float"}'), total.err);
});

test('the server refuses texts of a module that says nothing of them, with the line that is missing', async () => {
  const bytecode = Buffer.from(await compileText(shouting.replace('louder', 'quieter'), '--exportRuntime')).toString(
    'base64',
  );
  const { status, json } = await server.request('POST', '/plugins/wasm', { name: 'mute', bytecode });
  assert.is(status, 201);
  // A number is what it is.
  assert.equal(json.functions, ['quieter']);
  const described = (await server.request('GET', '/plugins/wasm/mute')).json;
  const found = described.notCallable.find((one: { name: string }) => one.name === 'shout');
  assert.match(
    found.reason,
    /argument 1 is an address, not a number: a manifest is missing, with a line such as \{"name":"shout"/,
  );
});

test('whole numbers beyond 2^53 are read and compared exactly', async () => {
  const own = await plugin('exact', 'export function exact(v: i64): i64 { return v; }');
  const project = JSON.parse(readFileSync(join(own, 'plugin.json'), 'utf8'));
  const sql = 'SELECT exact(v) AS r, t, w / 2 AS w, l FROM input';
  const write = (rows: string, expected: string, more: object = {}) => {
    writeFileSync(join(own, 'plugin.json'), JSON.stringify({ ...project, test: { sql, ...more } }));
    writeFileSync(join(own, 'rows.jsonl'), rows);
    writeFileSync(join(own, 'expected.jsonl'), expected);
  };
  const rows = [
    '{"v":9007199254740993,"t":"x 9007199254740993","w":7,"l":[9007199254740995]}',
    '{"v":-9223372036854775808}',
    '{"v":7}',
  ].join('\n');
  const right = [
    '{"r":9007199254740993,"t":"x 9007199254740993","w":3.5,"l":[9007199254740995]}',
    '{"r":-9223372036854775808}',
    '{"r":7}',
  ].join('\n');
  write(rows, right);
  await commands.done('plugin build', own);
  assert.match((await commands.done('plugin test', own)).err, /3 rows as in expected\.jsonl/);
  write(rows, right.replace('r":9007199254740993', 'r":9007199254740992'));
  const wrong = await commands.run('plugin test', own);
  assert.is(wrong.code, 1);
  assert.match(wrong.err, /row 1 is \{.*"r":9007199254740993.*expected\.jsonl has \{"r":9007199254740992/);
  // Columns may be declared, and have to be where the rows don't show their types.
  const mixed = '{"v":9007199254740993,"l":[1,"x"]}';
  write(mixed, '{"r":9007199254740993}', { sql: 'SELECT exact(v) AS r FROM input', columns: 'v BIGINT' });
  assert.match((await commands.done('plugin test', own)).err, /1 rows as in expected\.jsonl/);
  write(mixed, '{"r":9007199254740992}', { sql: 'SELECT exact(v) AS r FROM input' });
  assert.match((await commands.done('plugin test', own)).err, /read as the nearest float.*test\.columns/);
});

test('the first push of a script creates it, the next one updates it', async () => {
  await commands.done('plugin new twice --lang js');
  const own = join(folder, 'twice');
  assert.match((await commands.done('plugin push', own)).out, /javascript function twice is created/);
  assert.match((await commands.done('plugin push', own)).out, /javascript function twice is updated/);
});

test.run();
