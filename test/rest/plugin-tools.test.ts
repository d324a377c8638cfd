/** `haumea plugin new`, `build`, `test` and `push`, from an empty folder to rows of a rule, in each language. */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { announceSkip, startServer, temporaryFolder } from '../harness.js';
import { Commands } from './commands.js';
import { RowsThrough } from './rows-through.js';

const server = await startServer();
test.after(async () => {
  await server.stop();
});
const rule = new RowsThrough(server);
const folder = temporaryFolder();

const commands = new Commands(folder, { HAUMEA_URL: server.base });

/** Says what a toolchain lacks; undefined when it is there. */
const lacks: Readonly<Record<string, () => string | undefined>> = {
  as: () => undefined,
  js: () => undefined,
  c: () => {
    const linker = spawnSync('wasm-ld', ['--version']);
    return (spawnSync('clang', ['--version']).error ?? linker.error)
      ? 'clang and wasm-ld are not installed'
      : undefined;
  },
  rust: () => {
    const { stdout, error } = spawnSync('rustc', ['--print', 'target-libdir', '--target', 'wasm32-unknown-unknown']);
    const isThere = error === undefined && spawnSync('ls', [stdout.toString().trim()]).stdout.includes('core');
    return isThere ? undefined : 'Rust with the target wasm32-unknown-unknown is not installed';
  },
};

for (const [language, lack] of Object.entries(lacks)) {
  const name = `times_${language}`;
  const reason = lack();
  if (reason !== undefined) {
    announceSkip(`a plugin in ${language}`, reason);
    continue;
  }
  test(`a plugin in ${language} is made, built, tried and used in a rule`, async () => {
    const made = await commands.done(`plugin new ${name} --lang ${language}`);
    assert.match(made.out, /haumea plugin test/);
    const own = join(folder, name);
    const built = await commands.done('plugin build', own);
    assert.ok(built.out.includes(name), built.out);
    const tried = await commands.done('plugin test', own);
    assert.is(tried.out, '{"device":"a","result":41}\n{"device":"b","result":-6}\n{"device":"c"}\n');
    assert.match(tried.err, /3 rows as in expected\.jsonl/);
    await commands.done(`plugin push ${name}`);
    assert.equal(await rule.results(`SELECT ${name}(v, 3) AS r FROM s`, [{ v: 14 }]), [{ r: 42 }]);
    // Once more: it takes the place of the one before.
    await commands.done('plugin push', own);
  });
}

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
    const options = 'TYPE="simulator", FORMAT="custom"';
    const sql = `CREATE STREAM ${name} () WITH (${options}, SCHEMAID="${name}")`;
    assert.is((await server.request('POST', '/streams', { sql })).headers.get('warning'), null);
  });
}

test('messages of a codec that are not right are told by their lines', async () => {
  await commands.done('plugin new wrong --kind codec');
  const own = join(folder, 'wrong');
  await commands.done('plugin build', own);
  writeFileSync(join(own, 'messages.hex'), '07 00d7\n0700\n# a remark\n08 ffce\n');
  const short = await commands.run('plugin test', own);
  assert.is(short.code, 1);
  assert.match(short.err, /message 2: function wrong\.decode of wrong: 2 bytes are no message/);
  assert.is(short.out, '{"device":7,"temp":21.5}\n{"device":8,"temp":-5}\n');
  writeFileSync(join(own, 'messages.hex'), '07 00d7\n070\n');
  assert.match((await commands.run('plugin test', own)).err, /messages\.hex: line 2 is no message/);
  writeFileSync(join(own, 'messages.hex'), '07 00d7\n08 ffce\n');
  writeFileSync(join(own, 'encoded.hex'), '07 00d7\n08 ffcf\n');
  const other = await commands.run('plugin test', own);
  assert.is(other.code, 1);
  assert.match(other.err, /message 2 is 08ffce, encoded\.hex has 08ffcf/);
  assert.match(
    (await commands.run('plugin new x --kind codec --lang c')).err,
    /templates for --lang as and rust, not c/,
  );
});

test.run();
