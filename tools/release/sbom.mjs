/**
 * The bill of materials of the package, as CycloneDX: the packages that npm installs with it, and those that the build
 * has put into its bundles. The source maps of dist/ name those of the server, imports those of the console.
 */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../root.mjs';

const inPackages = /(?:^|\/)node_modules\/((?:@[^/]+\/)?[^/]+)\//g;

/** Paths of the packages whose sources are in the bundles, as the lock file has them: `node_modules/koa`. */
function bundledPackages() {
  const dist = join(root, 'dist');
  const found = new Set();
  for (const name of readdirSync(dist, { recursive: true })) {
    if (!name.endsWith('.map')) continue;
    for (const source of JSON.parse(readFileSync(join(dist, name), 'utf8')).sources) {
      const path = [...source.matchAll(inPackages)].map(([, one]) => `node_modules/${one}`).join('/');
      if (path !== '') found.add(path);
    }
  }
  return found;
}

/** Packages that the console imports, and what these depend on. */
function consolePackages(packages) {
  const folder = join(root, 'host/console');
  const found = new Set();
  const add = (name) => {
    const path = `node_modules/${name}`;
    if (packages[path] === undefined || found.has(path)) return;
    found.add(path);
    for (const other of Object.keys(packages[path].dependencies ?? {})) add(other);
  };
  for (const file of readdirSync(folder, { recursive: true })) {
    if (!/\.tsx?$/.test(file)) continue;
    const text = readFileSync(join(folder, file), 'utf8');
    for (const [, name] of text.matchAll(/from '((?:@[^/']+\/)?[^./'][^/']*)/g)) add(name);
  }
  return found;
}

function npmSbom(...more) {
  const args = ['sbom', '--sbom-format', 'cyclonedx', '--package-lock-only', ...more];
  return JSON.parse(execFileSync('npm', args, { cwd: root, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 }));
}

export function sbom() {
  const whole = npmSbom();
  const installed = npmSbom('--omit=dev');
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  const bundled = new Set(
    [...bundledPackages(), ...consolePackages(packages)].flatMap((path) => {
      const { version } = packages[path] ?? {};
      return version === undefined ? [] : [`${path.slice(path.lastIndexOf('node_modules/') + 13)}@${version}`];
    }),
  );
  // The kernel has the runtime of its compiler in it, and the files of the database are copied beside the bundles.
  for (const name of ['assemblyscript', 'sql.js']) bundled.add(`${name}@${packages[`node_modules/${name}`].version}`);
  const refs = new Set(installed.components.map((one) => one['bom-ref']));
  const added = whole.components
    .filter((one) => bundled.has(`${one.name}@${one.version}`) && !refs.has(one['bom-ref']))
    .map(({ properties, scope, ...one }) => ({ ...one, properties: [{ name: 'haumea:bundled', value: 'true' }] }));
  const components = [...installed.components, ...added];
  const known = new Set([...components.map((one) => one['bom-ref']), installed.metadata.component['bom-ref']]);
  const dependencies = whole.dependencies
    .filter(({ ref }) => known.has(ref))
    .map(({ ref, dependsOn = [] }) => ({ ref, dependsOn: dependsOn.filter((one) => known.has(one)) }));
  return { ...installed, components, dependencies };
}
