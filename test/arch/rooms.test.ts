/** Large layers are made of rooms: folders that are each built on those before them. */
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { filesIn, importsOf } from '../support/arch/sources.js';

/**
 * Rooms of large folders, from below: a file imports files of its own room and of rooms before it. Rooms of one list
 * know nothing of each other.
 */
const rooms: Readonly<Record<string, readonly (string | readonly string[])[]>> = {
  'host/base': [
    'errors.ts',
    'time',
    'text',
    'program',
    'structures',
    'bytes',
    'net',
    'mqtt',
    'files',
    'fields',
    'log',
    'config',
    'secrets',
  ],
  kernels: [
    'module.ts',
    'memory',
    'gen',
    'values',
    'plan',
    'snapshot-api.ts',
    'api.ts',
    'entries.ts',
    'nodes',
    ['node-image.ts', 'traits.ts'],
    'sharing.ts',
    ['calls', 'state', 'reading'],
    'streams',
    'index.ts',
  ],
  'host/functions': [
    'printing',
    ['calendar', 'regexp'],
    'define.ts',
    ['accumulation.ts', 'compression.ts', 'walk-work.ts'],
    'json-path.ts',
    'errors.ts',
    // The categories.
    [
      'aggregate',
      'analytic',
      'array',
      'conversion',
      'geohash',
      'hash',
      'json',
      'logic',
      'math',
      'meta',
      'misc',
      'multi-row',
      'object',
      'string',
      'time',
      'vector',
    ],
    'gen',
    'registry.ts',
  ],
  'host/plan': [
    'errors',
    // Bound expressions, and the rows that they read.
    'values',
    'logical',
    // From the syntax tree to bound expressions.
    ['bind', 'program', 'sinks'],
    ['windows', 'joins', 'patterns'],
    'nodes',
    'operators',
    ['kept', 'rules'],
    // From the syntax tree, or a drawn graph, to the logical plan.
    'statement',
    'lower',
    ['graph', 'explain'],
    'late-rows.ts',
    'ready.ts',
    'index.ts',
    'explain-rule.ts',
  ],
  'host/meta': [
    'errors.ts',
    'ids.ts',
    'kinds.ts',
    'store.ts',
    'values.ts',
    'journal',
    'definitions',
    'packages',
    'transfer',
  ],
  'host/services': [
    'errors',
    'body',
    'files',
    'secrets',
    'server',
    'sources',
    'metadata',
    'installed',
    'schemas',
    'wasm',
    'external',
    'rules',
    'observe',
    'transfer',
  ],
  'host/rest': [
    'errors.ts',
    'guard',
    'batch.ts',
    'route',
    'schemas',
    'resources',
    'services.ts',
    'openapi',
    'answer',
    'data',
    'static-files.ts',
    'app.ts',
    'metrics-server.ts',
    'ports.ts',
  ],
  'host/console': ['state', 'parts', 'pages', 'app.tsx', 'main.tsx'],
  'host/plugins': [
    ['manifest.ts', 'portable'],
    'numbers.ts',
    'service-code.ts',
    'service-figures.ts',
    'define.ts',
    ['wasm', 'service', 'library'],
    'javascript',
    'index.ts',
  ],
  'host/plugins/wasm': [
    'binary',
    'passes',
    'adapters',
    'exports',
    'guest',
    ['calls', 'prepare'],
    'load.ts',
    ['isolate', 'command'],
  ],
  'host/run': [
    ['link', 'traces'],
    'props',
    ['plane', 'planning'],
    'planes',
    'lives',
    'rules.ts',
    ['engine.ts', 'parallel'],
  ],
  'host/run/plane': [
    ['connect', 'queue', 'stage'],
    'acknowledge',
    'running',
    'memory',
    ['observe', 'feed'],
    'calls',
    'schedule',
    'state',
    'handed',
    ['input', 'output', 'exchange'],
    'rule',
    'plane-options.ts',
    'data-plane.ts',
    'worker.ts',
  ],
  'host/run/plane/state': [['places', 'checkpoint'], 'input-log', 'rule-places.ts'],
};

const files = [...filesIn('host'), ...filesIn('kernels')];

test('large folders are made of rooms, each built on those before it', () => {
  const wrong = Object.entries(rooms).flatMap(([folder, levels]) => {
    const heights = levels.map((level) => [level].flat());
    const own = files.filter((file) => file.startsWith(`${folder}/`));
    const nameOf = (file: string) => file.slice(folder.length + 1).split('/')[0] ?? '';
    const heightOf = (file: string) => heights.findIndex((names) => names.includes(nameOf(file)));
    const isAbove = (target: string, file: string) =>
      target.startsWith(`${folder}/`) && nameOf(target) !== nameOf(file) && heightOf(target) >= heightOf(file);
    return [
      ...own.filter((file) => heightOf(file) < 0).map((file) => `${file} is in no room of this test`),
      ...own.flatMap((file) =>
        importsOf(file)
          .filter((target) => isAbove(target, file))
          .map((target) => `${file} imports ${target}`),
      ),
      ...heights
        .flat()
        .filter((name) => !own.some((file) => nameOf(file) === name))
        .map((name) => `${folder}/${name} has no files`),
    ];
  });
  assert.equal(wrong, []);
});

test.run();
