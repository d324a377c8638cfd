/** The page about guarantees names every source and sink, and for each line a test that is there. */
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { userConnectors } from '../../../host/connectors/index.js';

const root = new URL('../../../', import.meta.url);
const page = readFileSync(fileURLToPath(new URL('docs/guarantees.md', root)), 'utf8');

/** Lines of the tables of a section. */
function linesOf(section: string): string[] {
  const [, text = ''] = page.split(`\n## ${section}\n`);
  const lines = text.split('\n## ')[0]!.split('\n');
  return lines.filter((line) => /^\| (?!Source|Sink|Setting)/.test(line));
}

const named = (section: string) => new Set(linesOf(section).flatMap((line) => line.match(/`[^`]+`/g) ?? []));

test('each source and sink has its line', () => {
  const connectors = userConnectors();
  assert.ok(connectors.length > 5);
  for (const { name, source, sink } of connectors) {
    if (source !== undefined) assert.ok(named('Sources').has(`\`${name}\``), `source ${name}`);
    if (sink !== undefined) assert.ok(named('Sinks').has(`\`${name}\``), `sink ${name}`);
  }
});

test('each line of sources, sinks and settings names a test', () => {
  for (const section of ['Sources', 'Sinks', 'Settings']) {
    const lines = linesOf(section).filter((line) => line.split(' | ').length === 3);
    assert.ok(lines.length > 4, section);
    for (const line of lines) assert.match(line, /\| `test\/[^|]+\|$/);
  }
});

test('the tests that it names are there', () => {
  const paths = [...page.matchAll(/`((?:test|bench)\/[\w./-]+\.ts)`/g)].map(([, path]) => path!);
  assert.ok(paths.length > 20);
  for (const path of paths) assert.ok(existsSync(new URL(path, root)), path);
});

test.run();
