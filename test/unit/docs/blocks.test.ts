/**
 * Blocks of code that no test runs on a server: what they name is there. Statements, rules and settings are read as the
 * server reads them, commands as the command line does, and requests have a route.
 */
import '../../../host/plan/statement/pattern-ready.js';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { parse as parseYaml } from 'yaml';
import { loadConfig } from '../../../host/base/config/config.js';
import { ruleOptionSpec } from '../../../host/base/config/config-spec.js';
import { parse } from '../../../host/base/fields/field.js';
import { findCommand, globalFlags, parseArgs } from '../../../host/cli/client/command.js';
import { commands } from '../../../host/cli/client/commands.js';
import { pluginCommands } from '../../../host/cli/plugin/commands.js';
import { stateCommands } from '../../../host/cli/state/commands.js';
import { userConnectors } from '../../../host/connectors/index.js';
import { readFleet } from '../../../host/fleet/list.js';
import { defineRule } from '../../../host/meta/definitions/rule-definition.js';
import { resources } from '../../../host/rest/resources/gen/index.js';
import { parseStatement } from '../../../host/sql/parser.js';
import { temporaryFolder } from '../../support/harness.js';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const pages = ['README.md', ...listed('docs'), ...listed('examples')];

interface Block {
  readonly where: string;
  readonly language: string;
  readonly text: string;
}

function listed(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md') && !name.startsWith('decisions') && !name.includes('node_modules'))
    .map((name) => `${folder}/${name}`);
}

const blocks: Block[] = pages.flatMap((page) => {
  const text = readFileSync(join(root, page), 'utf8');
  return [...text.matchAll(/^```(\w*)[^\n]*\n(.*?)^```/gms)].map(({ 1: language = '', 2: code = '', index }) => ({
    where: `${page}:${text.slice(0, index).split('\n').length}`,
    language,
    text: code,
  }));
});
/** What only shows the place of something. */
const isSketch = (text: string): boolean => text.includes('…') || /\$\(|<\w+>/.test(text);

/** Fails with the place of the block. */
function at<T>({ where, text }: Block, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new Error(`${where}: ${(error as Error).message}\n${text}`);
  }
}

const sinks = new Set(userConnectors().flatMap(({ name, sink }) => (sink === undefined ? [] : [name])));
const ruleDefaults = parse(ruleOptionSpec, {});

/** Reads the members of a request that have statements, options and sinks. */
function readBody(text: string): void {
  const body = JSON.parse(text);
  if (typeof body?.sql !== 'string' || body.sql.includes('…')) return;
  parseStatement(body.sql);
  if (body.actions === undefined && body.options === undefined) return;
  defineRule({ id: 'example', ...body, actions: body.actions ?? [{ nop: {} }] }, ruleDefaults);
  for (const action of body.actions ?? []) {
    for (const name of Object.keys(action)) assert.ok(sinks.has(name) || pluginSinks.has(name), `no sink ${name}`);
  }
}

/** Sinks of the plugins that pages make. */
const pluginSinks = new Set(['scaled_file']);

test('statements can be read', () => {
  const statements = blocks.filter(({ language }) => language === 'sql');
  assert.ok(statements.length > 10);
  for (const block of statements) {
    for (const sql of block.text.split(/;\s*$/m).filter((one) => one.trim() !== ''))
      at(block, () => parseStatement(sql));
  }
});

test('JSON can be read; rules have options and sinks that there are', () => {
  const documents = blocks.filter(({ language, text }) => language === 'json' && !isSketch(text));
  assert.ok(documents.length > 5);
  for (const block of documents) at(block, () => readBody(block.text));
});

test('settings are those of the server, and lists of servers can be read', async () => {
  const files = blocks.filter(({ language }) => language === 'yaml');
  assert.ok(files.length > 3);
  const folder = temporaryFolder();
  for (const [i, block] of files.entries()) {
    const file = join(folder, `${i}.yaml`);
    const isFleet = Array.isArray(parseYaml(block.text).servers);
    // A list names files that stand beside it.
    for (const [, name = ''] of block.text.matchAll(/tokenFile: (\S+)/g)) writeFileSync(join(folder, name), 'token');
    writeFileSync(file, block.text);
    const read = isFleet ? readFleet(file) : loadConfig({ file, env: {} });
    await read.catch((error: Error) => assert.unreachable(`${block.where}: ${error.message}`));
  }
});

/** Commands of a block, those that go on in further lines as one; lines that show what is printed are none. */
function commandsOf({ language, text }: Block): string[] {
  if (language !== '' && language !== 'sh') return [];
  const found: string[] = [];
  for (const line of text.replace(/\\\n\s*/g, ' ').split(/\n|; (?=npx |haumea |curl )/)) {
    const open = found.at(-1);
    if (open !== undefined && open.split("'").length % 2 === 0) found[found.length - 1] = `${open}\n${line}`;
    else if (/^(?:[A-Z_]+=\S+ +)*(?:npx )?(?:haumea|curl|npm) /.test(line)) found.push(line);
    else found.push('');
  }
  return found.filter((command) => command !== '').map((command) => command.replace(/ +# .*$/s, ''));
}

/** Words as the shell makes them; a command that is piped ends there. */
function wordsOf(command: string): string[] {
  const words = [...command.matchAll(/'([^']*)'|"((?:[^"\\]|\\.)*)"|([^\s'"]+)/gs)].map(
    ([, single, double, plain]) => single ?? double ?? plain ?? '',
  );
  const end = words.findIndex((word) => /^(?:[|>&]+|&&)$/.test(word));
  return end < 0 ? words : words.slice(0, end);
}

const all = blocks.flatMap((block) => commandsOf(block).map((command) => ({ block, command })));

test('commands of haumea have the names, arguments and flags that there are', () => {
  const known = [...commands, ...pluginCommands, ...stateCommands];
  let count = 0;
  for (const { block, command } of all) {
    const words = wordsOf(command.replace(/^(?:[A-Z_]+=\S+ +)*/, '').replace(/^npx /, ''));
    if (words.shift() !== 'haumea') continue;
    while (globalFlags.some(({ name, value }) => words[0] === `--${name}` && value !== undefined)) words.splice(0, 2);
    // These have settings of their own.
    if (['bench', 'completion', 'demo', 'serve'].includes(words[0] ?? '')) continue;
    at(block, () => {
      const found = findCommand(known, words);
      assert.ok(found !== undefined, `no command ${command}`);
      parseArgs(...found);
    });
    count++;
  }
  assert.ok(count > 30, `${count} commands`);
});

const routes = (resources as readonly { routes: readonly { method: string; path: string }[] }[])
  .flatMap((resource) => resource.routes)
  .map(({ method, path }) => ({ method, path: new RegExp(`^${path.replace(/:\w+/g, '[^/]+')}$`) }));

test('requests have a route, and bodies that can be read', () => {
  let count = 0;
  for (const { block, command } of all) {
    const [program, ...words] = wordsOf(command);
    const address = words.find((word) => /^(?:http:\/\/)?(?:localhost|127\.0\.0\.1):9081/.test(word));
    if (program !== 'curl' || address === undefined) continue;
    const value = (flag: string) => (words.includes(flag) ? words[words.indexOf(flag) + 1] : undefined);
    const method = value('-X') ?? (words.includes('-d') ? 'POST' : 'GET');
    const path = address.replace(/^(?:http:\/\/)?[^/]+/, '').replace(/\?.*$/, '') || '/';
    at(block, () => {
      assert.ok(
        routes.some((one) => one.method === method && one.path.test(path)),
        `no route ${method} ${path}`,
      );
      const body = value('-d');
      if (body !== undefined && !isSketch(body)) readBody(body);
    });
    count++;
  }
  assert.ok(count > 40, `${count} requests`);
});

test('variables that set something are those of the server', async () => {
  const set = blocks.flatMap((block) =>
    [...block.text.matchAll(/\b(KUIPER__\w+)=(\S*)/g)].map(([, name = '', value = '']) => ({ block, name, value })),
  );
  assert.ok(set.length > 5);
  for (const { block, name, value } of set) {
    const { warnings } = (await loadConfig({ env: { [name]: value } }).catch((error: Error) =>
      assert.unreachable(`${block.where}: ${error.message}`),
    )) as { warnings: readonly string[] };
    assert.equal(warnings, [], block.where);
  }
});

test.run();
