/** The page on portable plugins, word by word: a new plugin, its stream and its rule. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { eventually, startServer, temporaryFolder } from '../../support/harness.js';
import { lacksSdk, sdkEnv } from '../../support/plugins/portable.js';
import { Commands } from '../../support/rest/commands.js';

const page = readFileSync(fileURLToPath(new URL('../../../docs/portable-plugins.md', import.meta.url)), 'utf8');
const blocks = [...page.matchAll(/```(\w*)\n(.*?)```/gs)].map(([, language, text = '']) => ({ language, text }));
const block = (word: string) => blocks.find(({ text }) => text.includes(word))?.text ?? '';

if (!lacksSdk('the page on portable plugins')) {
  const server = await startServer({ env: sdkEnv });
  test.after(async () => {
    await server.stop();
  });
  const folder = temporaryFolder();
  const commands = new Commands(folder, { HAUMEA_URL: server.base });

  test('the plugin of the page works', async () => {
    const [create = ''] = block('plugin new').split('\n');
    const made = await commands.done(create.replace('haumea ', ''));
    assert.match(made.out, /scaled\/main\.py/);
    const own = join(folder, 'scaled');
    assert.equal(JSON.parse(readFileSync(join(own, 'scaled.json'), 'utf8')), JSON.parse(block('"executable"')));
    assert.match((await commands.done('plugin build', own)).out, /nothing is built/);
    assert.match((await commands.run('plugin test', own)).err, /is tried on a server/);
    assert.match((await commands.done('plugin push', own)).out, /portable plugin scaled is created/);

    const sql = block('CREATE STREAM ticks').trim();
    assert.is((await server.request('POST', '/streams', { sql })).status, 201);
    const [, ...body] = block('POST /rules').split('\n');
    const rule = JSON.parse(body.join('\n'));
    const path = join(server.data, 'scaled.out');
    rule.actions[0].scaled_file.path = path;
    const answer = await server.request('POST', '/rules', rule);
    assert.is(answer.status, 201, answer.text);
    const lines = await eventually('rows', () => {
      const found = existsSync(path) ? readFileSync(path, 'utf8').split('\n').filter(Boolean) : [];
      return found.length > 2 ? found : undefined;
    });
    assert.equal(
      lines.slice(0, 3).map((line) => JSON.parse(line)),
      [0, 1, 2].map((n) => ({ n, r: 3 * n })),
    );
    const shown = JSON.parse(block('"restarts"'));
    const { json } = await server.request('GET', '/plugins/portables/scaled/status');
    assert.equal({ ...json, pid: shown.pid }, shown);

    assert.match((await commands.done('plugin push scaled')).out, /portable plugin scaled is updated/);
    await eventually('rows of the new version', () => {
      const found = readFileSync(path, 'utf8').split('\n').filter(Boolean);
      return found.slice(3).some((line) => JSON.parse(line).n === 0);
    });
  });

  test('a plugin that can not be made is refused', async () => {
    assert.match((await commands.run('plugin new x --portable perl')).err, /--portable must be python, not perl/);
    assert.match((await commands.run('plugin new x --portable python --lang c')).err, /--lang is of no use/);
    assert.match((await commands.run('plugin new Abs --portable python')).err, /begin with a small letter/);
    assert.match((await commands.run('plugin new abs --portable python')).err, /abs is a built-in function/);
  });
}

test.run();
