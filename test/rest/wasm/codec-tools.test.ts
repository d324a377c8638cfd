/** `haumea plugin` with codecs: made, built, tried over messages of a file, uploaded. */
import { cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { announceSkip, startServer, temporaryFolder } from '../../support/harness.js';
import { Commands } from '../../support/rest/commands.js';
import { lacks } from '../../support/rest/toolchains.js';

const server = await startServer();
test.after(async () => {
  await server.stop();
});
const folder = temporaryFolder();
const commands = new Commands(folder, { HAUMEA_URL: server.base });

for (const language of ['as', 'rust'] as const) {
  const name = `three_${language}`;
  const reason = lacks[language]?.();
  if (reason !== undefined) {
    announceSkip(`a codec in ${language}`, reason);
    continue;
  }
  test(`a codec in ${language} is made, built, tried and reads a stream`, async () => {
    await commands.done(`plugin new ${name} --kind codec --lang ${language}`);
    const own = join(folder, name);
    const built = await commands.done('plugin build', own);
    assert.match(built.out, new RegExp(`codec ${name}: decode, encode`));
    const tried = await commands.done('plugin test', own);
    assert.is(tried.out, '{"device":7,"temp":21.5}\n{"device":8,"temp":-5}\n');
    assert.match(tried.err, /2 rows as in expected\.jsonl\n2 messages as in encoded\.hex/);
    await commands.done(`plugin push ${name}`);
    const sql = `CREATE STREAM ${name} () WITH (TYPE="simulator", FORMAT="custom", SCHEMAID="${name}")`;
    assert.is((await server.request('POST', '/streams', { sql })).headers.get('warning'), null);
  });
}

test('messages of a codec that are not right are told by their lines', async () => {
  const own = join(folder, 'frames');
  cpSync(fileURLToPath(new URL('../../../examples/plugins/rust/frames', import.meta.url)), own, {
    recursive: true,
    filter: (path) => !path.includes('target'),
  });
  const good = '10 0008 00 01 0005 f9c0';
  writeFileSync(join(own, 'messages.hex'), `${good}\n1000\n# a remark\n\n${good}\n`);
  const short = await commands.run('plugin test', own);
  assert.is(short.code, 1);
  assert.match(
    short.err,
    /message 2: function frame\.decode of frames: the frame has 2 bytes, at least 3 were expected/,
  );
  assert.is(short.out.split('\n').length, 3, short.out);
  writeFileSync(join(own, 'messages.hex'), `${good}\n070\n`);
  assert.match((await commands.run('plugin test', own)).err, /messages\.hex: line 2 is no message/);
  writeFileSync(join(own, 'messages.hex'), `${good}\n`);
  writeFileSync(join(own, 'expected.jsonl'), '{"device":8,"name":"","alarm":false,"age":5,"temp":-10,"battery":0}\n');
  writeFileSync(join(own, 'encoded.hex'), '10 0008 00 01 0005 f9c1\n');
  const other = await commands.run('plugin test', own);
  assert.is(other.code, 1);
  assert.match(other.err, /message 1 is 1000080001\w*f9c0, encoded\.hex has \w*f9c1/);
});

test('what has no template is refused by name', async () => {
  assert.match(
    (await commands.run('plugin new x --kind codec --lang c')).err,
    /templates for --lang as and rust, not c/,
  );
  assert.match((await commands.run('plugin new x --kind sink')).err, /--kind must be one of function, codec, not sink/);
});

test.run();
