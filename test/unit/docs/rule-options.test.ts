/** The page about options of rules has each of them, with its default. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { ruleOptionSpec } from '../../../host/base/config/config-spec.js';
import { parseDuration } from '../../../host/base/time/duration.js';

const page = readFileSync(fileURLToPath(new URL('../../../docs/rule-options.md', import.meta.url)), 'utf8');
const rows = new Map(
  [...page.matchAll(/^\| `([\w.]+)` \| (.*?) \| /gm)].map(([, name = '', value = '']) => [name, value]),
);
const ended = page.slice(page.indexOf('## Options without effect'));

interface Declared {
  readonly kind: string;
  readonly default?: unknown;
  readonly isUnused?: boolean;
  readonly fields?: Record<string, { declared: Declared }>;
}

/** Options with their paths. */
function leaves(spec: Record<string, { declared: Declared }>, path = ''): [string, Declared][] {
  return Object.entries(spec).flatMap(([name, { declared }]) =>
    declared.fields === undefined
      ? [[path + name, declared] as [string, Declared]]
      : leaves(declared.fields, `${path}${name}.`),
  );
}

test('each option has its line and its default, or is named among those without effect', () => {
  const all = Object.entries(ruleOptionSpec as unknown as Record<string, { declared: Declared }>);
  assert.ok(all.length > 20);
  for (const [name, one] of all) {
    if (ended.includes(`\`${name}\``)) continue;
    for (const [path, { kind, default: value }] of leaves({ [name]: one })) {
      const shown = rows.get(path)?.replaceAll('`', '');
      assert.ok(shown !== undefined, path);
      if (kind === 'duration') assert.is(parseDuration(shown), value, path);
      else if (value === 2 ** 30) assert.is(shown, '1 GiB', path);
      else if (value !== '') assert.is(shown, typeof value === 'string' ? value : JSON.stringify(value), path);
    }
  }
});

test('what has no effect is not described as if it had', () => {
  for (const [name, { declared }] of Object.entries(
    ruleOptionSpec as unknown as Record<string, { declared: Declared }>,
  )) {
    if (declared.isUnused === true) assert.ok(ended.includes(`\`${name}\``) && !rows.has(name), name);
  }
});

test.run();
