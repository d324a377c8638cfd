/**
 * Imports go down only. Each folder of the host lists what it may import; only kernels/ touches Wasm memory.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { filesIn, importsOf, root } from '../support/arch/sources.js';

/**
 * The layers, the lowest first: each with the layers below it that it may import. A folder within another one is a
 * layer of its own.
 */
const layers: readonly (readonly [folder: string, below: readonly string[]])[] = [
  ['host/base', []],
  ['kernels', ['host/base']],
  // Go's text templates: messages and properties of sinks made of rows.
  ['host/template', ['host/base']],
  // Requests to servers, as connectors make them.
  ['host/http', ['host/template', 'host/base']],
  ['host/codecs', ['host/http', 'host/template', 'kernels', 'host/base']],
  // Clients of other systems, which several connectors share.
  ['host/clients', ['host/http', 'host/template', 'kernels', 'host/base']],
  // Code of users.
  ['host/plugins', ['host/clients', 'kernels', 'host/base']],
  ['host/connectors', ['host/plugins', 'host/clients', 'host/codecs', 'host/http', 'kernels', 'host/base']],
  // Definitions of streams are checked by the manifests of connectors and formats.
  ['host/sql', ['host/connectors', 'host/codecs', 'host/base']],
  ['host/functions', ['host/plugins', 'kernels', 'host/base']],
  ['host/model', ['host/sql', 'host/plugins', 'kernels', 'host/base']],
  [
    'host/plan',
    [
      'host/model',
      'host/sql',
      'host/functions',
      'host/plugins',
      'host/codecs',
      'host/connectors',
      'host/template',
      'kernels',
      'host/base',
    ],
  ],
  ['host/meta', ['host/model', 'host/sql', 'host/base']],
  // What control plane and data plane tell each other: neither imports the other.
  ['host/run/link', ['host/model', 'host/plugins', 'host/codecs', 'kernels', 'host/base']],
  [
    'host/run/plane',
    [
      'host/run/link',
      'host/model',
      'host/functions',
      'host/plugins',
      'host/codecs',
      'host/connectors',
      'host/template',
      'kernels',
      'host/base',
    ],
  ],
  [
    'host/run',
    [
      'host/run/link',
      'host/model',
      'host/plan',
      'host/sql',
      'host/functions',
      'host/plugins',
      'host/codecs',
      'host/connectors',
      'kernels',
      'host/base',
    ],
  ],
  // A node of a cluster; it tells data planes only until when they may work.
  ['host/cluster', ['host/run/link', 'host/meta', 'host/model', 'host/clients', 'host/base']],
  // The client for browsers and programs: nothing of the server is in it.
  ['host/sdk', []],
  // Many servers seen from one: asked through the client, by a server or by the command line.
  ['host/fleet', ['host/sdk', 'host/base']],
  [
    'host/services',
    [
      'host/fleet',
      'host/cluster',
      'host/run',
      'host/meta',
      'host/model',
      'host/sql',
      'host/plugins',
      'host/codecs',
      'host/connectors',
      'host/base',
    ],
  ],
  ['host/rest', ['host/services', 'host/meta', 'host/connectors', 'host/base']],
  // The console is built on the client: nothing of the server is in it.
  ['host/console', ['host/sdk']],
  ['host/demo', ['host/base']],
  // Micro benches drive kernels and rules as tests do.
  ['bench', ['host/plugins', 'host/base', 'kernels']],
];

/** What benches share with tests, and what they measure by itself. */
const ofBenches = ['test/support', 'host/run/plane/state/checkpoint', 'host/clients/sp'];

/**
 * Layers of the kernel, from below: a file imports files of its own folder and of folders of the layers below. Folders
 * of one layer know nothing of each other. A folder that is not listed belongs to the one it lies in.
 */
const kernelLayers: readonly (readonly string[])[] = [
  // Numbers and tables that are generated.
  ['gen'],
  ['mem'],
  // The batch under way; numbers and UTF-8.
  ['batch', 'text'],
  ['state'],
  ['json', 'value'],
  ['protobuf'],
  // A node: its layout and accounts, its times and timers, the record of its kind.
  ['node'],
  ['ops'],
  // How batches and signals reach other nodes.
  ['emit', 'agg/group'],
  // Aggregates: their states, what computes each, how they are saved.
  ['agg/state'],
  ['agg/functions'],
  ['agg/gen'],
  ['agg/save'],
  ['agg'],
  ['rows', 'partitions', 'source/columns'],
  // What joins and windows are built on; operators that keep rows until their time has come.
  ['join/key', 'join/message', 'order', 'window/content'],
  ['source/framing', 'window/stacks'],
  ['source/decode', 'window/panes'],
  ['window/kinds'],
  ['window/partitions'],
  // Streams, and the kinds of operators.
  [
    'source',
    'operators',
    'encode',
    'window',
    'analytic',
    'lookup',
    'pattern',
    'join/merge',
    'join/asof',
    'join/interval',
  ],
  ['lookup/asking'],
  // The list of the kinds, and what the host calls.
  ['tree'],
  // The exports of the kernel.
  ['.'],
  ['testing'],
];

/** So many files of a folder of the kernel a reader takes in. */
const maxKernelFiles = 20;

/** Compose everything, so they may import anything. */
const composition = ['host/main.ts', 'host/server.ts', 'host/wiring/', 'host/cli/'];

/** The innermost layer that a file lies in. */
function layerOf(file: string): string | undefined {
  const [innermost] = layers
    .map(([folder]) => folder)
    .filter((folder) => file.startsWith(`${folder}/`))
    .sort((one, other) => other.length - one.length);
  return innermost;
}

const files = [...filesIn('host'), ...filesIn('kernels'), ...filesIn('bench')];

test('the layers are there, each imports from those below it', () => {
  const wrong = layers.flatMap(([folder, below], i) => {
    const lower = layers.slice(0, i).map(([name]) => name);
    return [
      ...(files.some((file) => layerOf(file) === folder) ? [] : [`${folder} has no files`]),
      ...below
        .filter((name) => !lower.includes(name))
        .map((name) => `${folder} imports ${name}, which is not below it`),
    ];
  });
  assert.equal(wrong, []);
});

test('imports go down only', () => {
  const allowed = new Map(layers);
  const wrong: string[] = [];
  for (const file of files) {
    if (composition.some((path) => file.startsWith(path))) continue;
    const layer = layerOf(file);
    if (layer === undefined) {
      wrong.push(`${file} lies in a folder that is no layer of this test`);
      continue;
    }
    for (const target of importsOf(file)) {
      if (layer === 'bench' && ofBenches.some((path) => target.startsWith(`${path}/`))) continue;
      const other = layerOf(target);
      if (other !== layer && !allowed.get(layer)?.includes(other ?? '')) wrong.push(`${file} imports ${target}`);
    }
  }
  assert.equal(wrong, []);
});

/** Folders of which each has a manifest, and nothing else that others may look into. */
const manifestFolders = ['host/connectors', 'host/codecs'];

/** The folder of a connector or format that a file lies in, as `host/connectors/mqtt`. */
function manifestOf(file: string): string | undefined {
  const parent = manifestFolders.find((folder) => file.startsWith(`${folder}/`));
  const own = parent && file.slice(parent.length + 1).split('/');
  if (own === undefined || own.length < 2 || !files.includes(`${parent}/${own[0]}/index.ts`)) return undefined;
  return own[0] === 'gen' ? undefined : `${parent}/${own[0]}`;
}

test('a connector or format is known by its manifest alone', () => {
  const wrong: string[] = [];
  for (const file of files) {
    for (const target of importsOf(file)) {
      const inside = manifestOf(target);
      const isListed = manifestFolders.some((folder) => dirname(file) === `${folder}/gen`);
      if (inside === undefined || inside === manifestOf(file) || (isListed && target === `${inside}/index.ts`))
        continue;
      wrong.push(`${file} imports ${target}`);
    }
  }
  assert.equal(wrong, []);
});

test('manifests load what does the work when it is needed', () => {
  const parts = /^(source|lookup|sink|encoder|decoder|client|ping)\.ts$/;
  const wrong: string[] = [];
  for (const folder of manifestFolders) {
    for (const name of readdirSync(join(root, folder))) {
      const file = `${folder}/${name}/index.ts`;
      if (name === 'gen' || !files.includes(file)) continue;
      const text = readFileSync(join(root, file), 'utf8');
      for (const [, target = ''] of text.matchAll(/^(?:import|export)\b[^;]*?from '([^']+)'/gm)) {
        if (!target.startsWith('.') || parts.test(target.slice(2).replace(/\.js$/, '.ts')))
          wrong.push(`${file}: ${target}`);
      }
    }
  }
  assert.equal(wrong, []);
});

test('no connector is named outside of its folder', () => {
  const names = readdirSync(join(root, 'host/connectors'), { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && entry.name !== 'gen')
    .map(({ name }) => name);
  // Most are words of the language as well: what counts is a type that is compared, and lists of several.
  const name = `'(?:${names.join('|')})'`;
  const compared = `(?:[tT]ype?|[sS]ource|[sS]ink|[cC]onnector)(?:\\.toLowerCase\\(\\))? *[!=]== *${name}`;
  const listed = `[\\[(,] *${name}, *${name}`;
  const named = new RegExp(`${compared}|${listed}|'(?:mqtt|httppush|simulator|nop|ruletest)'`);
  // The SQL function mqtt, and the demonstration, which is a user.
  const users = /^host\/(connectors|functions|demo)\/|^host\/plan\/bind\/specials\.ts$/;
  const wrong = filesIn('host').filter(
    (file) => !users.test(file) && named.test(readFileSync(join(root, file), 'utf8')),
  );
  assert.equal(wrong, []);
});

test('assembly imports nothing outside itself', () => {
  const wrong = filesIn('assembly').flatMap((file) =>
    importsOf(file)
      .filter((target) => !target.startsWith('assembly/'))
      .map((target) => `${file} imports ${target}`),
  );
  assert.equal(wrong, []);
});

test('the kernel is built in layers of folders', () => {
  const heights = new Map(
    kernelLayers.flatMap((folders, height) => folders.map((folder) => [folder, height] as const)),
  );
  const layerOfKernel = (file: string) => {
    if (dirname(file) === 'assembly') return '.';
    let folder = dirname(file).slice('assembly/'.length);
    while (folder !== '' && !heights.has(folder)) folder = folder.includes('/') ? dirname(folder) : '';
    return folder;
  };
  const all = filesIn('assembly');
  const wrong = [...heights.keys()]
    .filter((folder) => !all.some((file) => layerOfKernel(file) === folder))
    .map((folder) => `${folder} has no files`);
  for (const file of all) {
    const own = layerOfKernel(file);
    if (own === '') {
      wrong.push(`${file} is in no layer of this test`);
      continue;
    }
    for (const target of importsOf(file)) {
      const other = layerOfKernel(target);
      if (other !== own && !((heights.get(other) ?? Number.POSITIVE_INFINITY) < (heights.get(own) ?? 0)))
        wrong.push(`${file} imports ${target}`);
    }
  }
  assert.equal(wrong, []);
});

test('folders of the kernel have as many files as a reader can take in', () => {
  const counts = new Map<string, number>();
  for (const file of filesIn('assembly')) counts.set(dirname(file), (counts.get(dirname(file)) ?? 0) + 1);
  const large = [...counts].filter(([, count]) => count > maxKernelFiles).map(([folder]) => folder);
  assert.equal(large, []);
});

test('what nodes must know of a kind stands in its record', () => {
  // Late nodes look for others of their own kind.
  const own = 'assembly/order/late.ts';
  const compared = /[!=]=\s*NodeKind\.|\bcase NodeKind\./;
  const wrong = filesIn('assembly').filter(
    (file) => file !== own && compared.test(readFileSync(join(root, file), 'utf8')),
  );
  assert.equal(wrong, []);
});

test('only kernels touch WebAssembly memory', () => {
  // Modules of users, the engine of their scripts and a compression library are instances of their own; what they get
  // of the kernel's memory goes through wrappers, or is copied.
  const ofUsers = 'host/plugins/';
  const library = 'host/base/bytes/zstd.ts';
  const wrong = filesIn('host').filter(
    (file) =>
      !file.startsWith(ofUsers) &&
      file !== library &&
      /WebAssembly\.(Memory|Instance)/.test(readFileSync(join(root, file), 'utf8')),
  );
  assert.equal(wrong, []);
});

test('source files have tests that run alone', () => {
  const wrong = filesIn('test')
    .filter((file) => file.endsWith('.test.ts'))
    .filter((file) => !/\n\s*\w+\.run\(\);\s*$/.test(readFileSync(join(root, file), 'utf8')));
  assert.equal(wrong, []);
});

test('what tests share lives in test/support, which imports no test', () => {
  // Tables of cases, and the program that runs the files.
  const others = /^test\/(support|rest\/endpoints|guests)\/|^test\/run\.ts$/;
  const wrong = filesIn('test')
    .filter((file) => !file.endsWith('.test.ts') && !others.test(file))
    .map((file) => `${file} is no test`);
  for (const file of filesIn('test/support')) {
    for (const target of importsOf(file)) {
      if (target.startsWith('test/') && !target.startsWith('test/support/')) wrong.push(`${file} imports ${target}`);
    }
  }
  assert.equal(wrong, []);
});

test('errors of an area stand in its table', () => {
  const areas = [
    'base',
    'clients',
    'codecs',
    'connectors',
    'functions',
    'http',
    'meta',
    'plan',
    'rest',
    'services',
    'sql',
  ];
  const makers = ['host/base/errors.ts', 'host/plan/errors/table.ts'];
  const wrong = areas
    .flatMap((area) => filesIn(`host/${area}`))
    .filter((file) => !makers.includes(file))
    .filter((file) => readFileSync(join(root, file), 'utf8').includes('new HaumeaError('));
  assert.equal(wrong, []);
});

test('tables of errors have areas of their own', () => {
  const areas = filesIn('host').flatMap((file) =>
    [...readFileSync(join(root, file), 'utf8').matchAll(/errorTable\('(\w+)'/g)].map(([, area]) => area),
  );
  assert.ok(areas.length > 10, `${areas.length} tables`);
  assert.equal(
    areas.filter((area, i) => areas.indexOf(area) !== i),
    [],
  );
});

test('texts in Chinese stand under their keys in files of their own', () => {
  const wrong = filesIn('host').filter((file) => {
    return !/(^|[/-])chinese\.ts$/.test(file) && /\p{Script=Han}/u.test(readFileSync(join(root, file), 'utf8'));
  });
  assert.equal(wrong, []);
});

test.run();
