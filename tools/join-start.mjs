/**
 * Joins the files that a start reads into one. Code that is loaded when it is needed makes esbuild cut a bundle into
 * hundreds of files, of which a start of the server takes over a hundred, each a third of a millisecond to find, open
 * and compile. What is loaded later still imports the files by their names: each passes on what the joined one has.
 */
import { basename, dirname, join } from 'node:path';
import { root } from './root.mjs';

/**
 * Replaces the files of a bundle that a start reads.
 *
 * @param files the code of each file by its path, which is changed, and its source map by the path with `.map`
 * @param outputs what esbuild tells of each file, by the path from the root
 * @param start `name` of the joined file, the sources that it runs in their order as `roots`, and `before`, the source
 *     that loads them: what that one imports stays as it is
 */
export async function joinStart(files, outputs, { name, roots, before }) {
  const about = new Map(Object.entries(outputs).map(([path, output]) => [join(root, path), output]));
  const known = before === undefined ? new Set() : broughtIn(about, pathOf(about, before));
  const paths = roots.map((source) => pathOf(about, source));
  const members = new Set(paths.flatMap((path) => [...broughtIn(about, path)]));
  for (const path of known) members.delete(path);
  const asked = askedFor(files, about, members);
  const folder = dirname([...members].find((path) => about.get(path).entryPoint === undefined));
  const outfile = join(folder, `start-${name}.mjs`);
  let aliases = 0;
  const alias = () => `_${(aliases++).toString(36)}`;
  // The joined file has each name of each part under one of its own.
  const parts = new Map([...members].map((path) => [path, [...asked.get(path)].map((name) => [name, alias()])]));
  for (const { path, text } of await joined(files, parts, paths, outfile)) files.set(path, text);
  for (const [path, part] of parts) {
    files.set(path, passedOn(part, relative(dirname(path), outfile)));
    files.delete(`${path}.map`);
  }
}

function pathOf(about, source) {
  for (const [path, { entryPoint }] of about) if (entryPoint === source) return path;
  throw new Error(`no file of the bundle begins with ${source}`);
}

/** The files that one imports, itself included. */
function broughtIn(about, path, known = new Set()) {
  if (known.has(path)) return known;
  known.add(path);
  for (const one of about.get(path).imports) {
    if (one.kind === 'import-statement' && !one.external) broughtIn(about, join(root, one.path), known);
  }
  return known;
}

async function joined(files, parts, roots, outfile) {
  const { build } = await import('esbuild');
  const { outputFiles } = await build({
    absWorkingDir: root,
    stdin: { contents: allOf(roots, parts), resolveDir: root, sourcefile: basename(outfile) },
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    minifySyntax: true,
    minifyWhitespace: true,
    sourcemap: 'linked',
    sourcesContent: false,
    logLevel: 'warning',
    write: false,
    plugins: [ofBundle(files, parts, dirname(outfile))],
  });
  return outputFiles;
}

/** The names that files outside of a group import from each of its members: all of those that are loaded later. */
function askedFor(files, about, members) {
  const asked = new Map([...members].map((path) => [path, new Set()]));
  const add = (path, names) => {
    for (const name of names) asked.get(path)?.add(name);
  };
  for (const [path, text] of files) {
    if (path.endsWith('.map')) continue;
    const named = (pattern) => [...text.matchAll(pattern)].map(([, names, file]) => [names, join(dirname(path), file)]);
    for (const [, file] of named(/import\((")(\.[^"]+)"\)/g)) add(file, about.get(file)?.exports ?? []);
    if (members.has(path)) continue;
    for (const [names, file] of named(/import\{([^}]*)\}from"(\.[^"]+)"/g)) {
      add(
        file,
        names.split(',').map((name) => name.split(' as ')[0].trim()),
      );
    }
  }
  return asked;
}

/** Runs the roots in their order, and has what others ask for. */
function allOf(roots, parts) {
  const lines = roots.map((path) => `import ${JSON.stringify(path)};`);
  for (const [path, names] of parts) {
    const renamed = names.map(([name, alias]) => `${name} as ${alias}`);
    if (names.length > 0) lines.push(`export {${renamed}} from ${JSON.stringify(path)};`);
  }
  return lines.join('\n');
}

/** A file in the place of one that was joined. */
function passedOn(names, target) {
  if (names.length === 0) return `import"${target}";\n`;
  return `export{${names.map(([name, alias]) => `${alias} as ${name}`)}}from"${target}";\n`;
}

const ofBundle = (files, parts, folder) => ({
  name: 'files-of-the-bundle',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /./ }, ({ path, importer, kind }) => {
      if (kind === 'entry-point') return undefined;
      if (!path.startsWith('.') && !path.startsWith(root)) return { path, external: true };
      const full = path.startsWith('.') ? join(dirname(importer), path) : path;
      if (kind === 'import-statement' && parts.has(full)) return { path: full };
      return { path: relative(folder, full), external: true };
    });
    onLoad({ filter: /./ }, ({ path }) => (parts.has(path) ? { contents: withMap(files, path) } : undefined));
  },
});

/** Code with its source map inside, from which esbuild makes the one of the joined file. */
function withMap(files, path) {
  const map = files.get(`${path}.map`);
  const code = files.get(path).replace(/\/\/# sourceMappingURL=.*\n?$/, '');
  if (map === undefined) return code;
  const inside = Buffer.from(map).toString('base64');
  return `${code}//# sourceMappingURL=data:application/json;base64,${inside}\n`;
}

function relative(folder, path) {
  return dirname(path) === folder ? `./${basename(path)}` : `./${basename(dirname(path))}/${basename(path)}`;
}
