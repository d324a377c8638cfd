/** The state of a rule moves to another machine: the windows there go on with the rows from here. */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { eventually, freePort, request, startServer, type TestServer, temporaryFolder } from '../../support/harness.js';
import { Commands } from '../../support/rest/commands.js';

async function open(
  isStarted: boolean,
): Promise<{ server: TestServer; push: (n: number) => Promise<void>; rows(): string }> {
  const port = await freePort();
  const server = await startServer({ env: { KUIPER__SOURCE__HTTPSERVERPORT: String(port) } });
  const path = join(server.data, 'out.txt');
  const sql = 'CREATE STREAM s () WITH (TYPE="httppush", DATASOURCE="/s")';
  assert.is((await server.request('POST', '/streams', { sql })).status, 201);
  const rule = {
    id: 'moved',
    triggered: isStarted,
    sql: 'SELECT collect(n) AS n FROM s GROUP BY COUNTWINDOW(5)',
    actions: [{ file: { path } }],
    options: { qos: 1 },
  };
  assert.is((await server.request('POST', '/rules', rule)).status, 201);
  const push = async (n: number) => {
    await eventually('the push', async () => {
      const { status } = await request(`http://127.0.0.1:${port}`, 'POST', '/s', { n }).catch(() => ({ status: 0 }));
      return status === 200 ? true : undefined;
    });
  };
  return { server, push, rows: () => (existsSync(path) ? readFileSync(path, 'utf8') : '') };
}

test('a window that was begun here ends there', async () => {
  const here = await open(true);
  for (const n of [1, 2, 3]) await here.push(n);
  await here.server.stop();
  const folder = temporaryFolder();
  const commands = new Commands(folder);
  const exported = await commands.done(`state export moved state --data ${here.server.data}`);
  assert.match(exported.out, /^state of rule moved as of 20\S+Z: \d+ bytes in state\n$/);

  const there = await open(false);
  const { base, data } = there.server;
  try {
    const into = `--data ${data} --url ${base}`;
    const refused = async (rule: string, file: string, why: RegExp) => {
      const { code, err } = await commands.run(`state import ${rule} ${file} ${into}`);
      assert.is(code, 1);
      assert.match(err, why);
    };
    const whole = readFileSync(join(folder, 'state'));
    const damaged = Buffer.from(whole);
    damaged[damaged.length - 40]! ^= 1;
    writeFileSync(join(folder, 'damaged'), damaged);
    writeFileSync(join(folder, 'short'), whole.subarray(0, -5));
    writeFileSync(
      join(folder, 'other'),
      '{"haumeaState":1,"files":[{"name":"../000000000001.checkpoint","bytes":0}]}\n',
    );
    writeFileSync(join(folder, 'none'), 'no state');
    await refused('moved', 'damaged', /damaged: its bytes are damaged/);
    await refused('moved', 'short', /short: it ends too early/);
    await refused('moved', 'other', /other: its list of files is none/);
    await refused('moved', 'none', /none: it is no state of a rule/);
    await refused('renamed', 'state', /state: it is of rule moved/);
    await refused('../moved', 'state', /id '\.\.\/moved' contains invalid characters/);
    const astray = await commands.run(`state import moved state --data ${join(folder, 'astray')} --url ${base}`);
    assert.is(astray.code, 1);
    assert.match(astray.err, /there is no folder \S+astray: --data names the data folder of the server that answers/);
    const unasked = await commands.run(`state import moved state --data ${data} --url http://127.0.0.1:1`);
    assert.is(unasked.code, 1);
    assert.match(unasked.err, /no server answers to ask whether the rule runs \(--url\), but .* in use/);
    const imported = await commands.done(`state import moved state ${into}`);
    assert.match(imported.out, /^rule moved begins with its state as of 20\S+Z at its next start\n$/);
    assert.is((await there.server.request('POST', '/rules/moved/start')).status, 200);
    for (const n of [4, 5]) await there.push(n);
    await eventually('the window', () => (there.rows() === '[{"n":[1,2,3,4,5]}]\n' ? true : undefined));
    await refused('moved', 'state', /rule moved is running: stop it before/);
  } finally {
    await there.server.stop();
  }
});

test('a state is given to a folder that no server has, and the folder is free again', async () => {
  const here = await open(true);
  for (const n of [1, 2]) await here.push(n);
  await here.server.stop();
  const folder = temporaryFolder();
  const commands = new Commands(folder);
  await commands.done(`state export moved state --data ${here.server.data}`);
  const data = join(folder, 'fresh', 'data');
  await commands.done(`state import moved state --data ${data} --url http://127.0.0.1:1`);
  assert.equal(readdirSync(data), ['checkpoints']);
  assert.is(readdirSync(join(data, 'checkpoints', 'moved')).length, 1);
});

test('where there is no checkpoint that is said', async () => {
  const data = temporaryFolder();
  const { code, err } = await new Commands(data).run('state export r file --data .');
  assert.is(code, 1);
  assert.match(err, /^haumea: no checkpoint in \S+r: there is none; rules with qos 1 or 2 have them\n$/);
});

test.run();
