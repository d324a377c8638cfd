/** Files for those who run a server: units, manifests and what a release says of itself fit the program. */
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { parseAllDocuments } from 'yaml';
import { loadConfig } from '../../host/base/config/config.js';
import { temporaryFolder } from '../support/harness.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const read = (file: string) => readFileSync(join(root, file), 'utf8');
const tool = (name: string) => import(new URL(`../../tools/release/${name}.mjs`, import.meta.url).href);

/** Settings of a unit, by name; a name may stand more than once. */
function settingsOf(unit: string): Map<string, string[]> {
  const all = new Map<string, string[]>();
  for (const [, name = '', value = ''] of unit.matchAll(/^(\w+)=(.*)$/gm)) {
    all.set(name, [...(all.get(name) ?? []), value]);
  }
  return all;
}

test('the unit of systemd gives the service its folders and little else', () => {
  const file = join(root, 'examples/deploy/systemd/haumea.service');
  const settings = settingsOf(readFileSync(file, 'utf8'));
  const [start = ''] = settings.get('ExecStart') ?? [];
  for (const folder of ['/var/lib/haumea', '/etc/haumea', '/var/log/haumea']) assert.ok(start.includes(folder), folder);
  for (const [name, value] of [
    ['DynamicUser', 'yes'],
    ['ProtectSystem', 'strict'],
    ['NoNewPrivileges', 'yes'],
    ['CapabilityBoundingSet', ''],
    ['StateDirectory', 'haumea'],
    // JavaScript and WebAssembly are compiled at run time.
    ['MemoryDenyWriteExecute', 'no'],
  ]) {
    assert.equal(settings.get(name as string), [value], name);
  }
  // Where systemd is installed, it judges as well.
  const verified = spawnSync('systemd-analyze', ['verify', file], { encoding: 'utf8' });
  if (verified.error !== undefined) return;
  assert.is(verified.stderr.replace(/^(?!.*haumea).*\n/gm, ''), '');
  const rated = spawnSync('systemd-analyze', ['security', '--offline=true', '--threshold=20', file]);
  assert.is(rated.status, 0, String(rated.stdout).split('\n').at(-2));
});

interface Manifest {
  readonly kind: string;
  readonly apiVersion: string;
  readonly metadata: { readonly name: string };
  // biome-ignore lint/suspicious/noExplicitAny: each kind has members of its own
  readonly [member: string]: any;
}

test('the manifest of Kubernetes is one whole: what it names is there, and the server gets what it needs', async () => {
  const documents = parseAllDocuments(read('examples/deploy/kubernetes/haumea.yaml'));
  assert.equal(
    documents.flatMap(({ errors }) => errors),
    [],
  );
  const manifests = documents.map((document) => document.toJS() as Manifest);
  const of = (kind: string) => manifests.find((manifest) => manifest.kind === kind) as Manifest;
  assert.equal(
    manifests.map(({ kind, apiVersion }) => `${apiVersion} ${kind}`),
    ['v1 ServiceAccount', 'v1 ConfigMap', 'v1 Service', 'apps/v1 StatefulSet'],
  );
  const { spec } = of('StatefulSet');
  assert.is(spec.replicas, 1);
  assert.is(spec.serviceName, of('Service').metadata.name);
  const { metadata, spec: pod } = spec.template;
  assert.equal(metadata.labels, spec.selector.matchLabels);
  assert.equal(of('Service').spec.selector, spec.selector.matchLabels);
  assert.is(pod.serviceAccountName, of('ServiceAccount').metadata.name);
  assert.is(pod.securityContext.runAsNonRoot, true);
  const [container] = pod.containers;
  assert.equal(container.securityContext, {
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ['ALL'] },
  });
  const ports = new Map(container.ports.map((port: { name: string }) => [port.name, port]));
  for (const probe of ['startupProbe', 'readinessProbe', 'livenessProbe']) {
    assert.is(container[probe].httpGet.path, '/ping');
    assert.ok(ports.has(container[probe].httpGet.port), probe);
  }
  for (const { targetPort } of of('Service').spec.ports) assert.ok(ports.has(targetPort), targetPort);
  const volumes = [...pod.volumes, ...spec.volumeClaimTemplates.map((claim: Manifest) => claim.metadata)];
  assert.equal(
    container.volumeMounts.map(({ name }: { name: string }) => name).sort(),
    volumes.map(({ name }: { name: string }) => name).sort(),
  );
  assert.is(pod.volumes[0].configMap.name, of('ConfigMap').metadata.name);

  const etc = temporaryFolder();
  writeFileSync(join(etc, 'kuiper.yaml'), of('ConfigMap').data['kuiper.yaml']);
  const { config, warnings } = await loadConfig({ etc, data: temporaryFolder(), env: {} });
  assert.equal(warnings, []);
  assert.ok(config.basic.gracefulShutdownTimeout < pod.terminationGracePeriodSeconds * 1000);
});

test('the version that this checkout has can be released', async () => {
  const { obstacles } = (await tool('release')) as { obstacles(): string[] };
  assert.equal(obstacles(), []);
});

test('the bill of materials names what is installed and what is bundled, and nothing of the tests', async () => {
  const { sbom } = (await tool('sbom')) as {
    sbom(): { bomFormat: string; components: Component[]; dependencies: { ref: string; dependsOn: string[] }[] };
  };
  interface Component {
    readonly name: string;
    readonly version: string;
    readonly licenses?: readonly unknown[];
    readonly 'bom-ref': string;
    readonly properties: readonly { name: string }[];
  }
  const { bomFormat, components, dependencies } = sbom();
  assert.is(bomFormat, 'CycloneDX');
  const find = (name: string) => components.find((one) => one.name === name);
  const isBundled = (name: string) => find(name)?.properties.some((one) => one.name === 'haumea:bundled');
  for (const name of ['undici', 'protobufjs', 'sharp']) assert.is(isBundled(name), false, name);
  for (const name of ['koa', 'mqtt', 'preact', 'sql.js', 'assemblyscript']) assert.is(isBundled(name), true, name);
  for (const name of ['uvu', 'playwright-core', 'typescript', 'esbuild']) assert.is(find(name), undefined, name);
  const unlicensed = components.filter(({ licenses = [] }) => licenses.length === 0).map(({ name }) => name);
  assert.equal(unlicensed, []);
  const refs = new Set(components.map((one) => one['bom-ref']));
  for (const { dependsOn } of dependencies) for (const ref of dependsOn) assert.ok(refs.has(ref), ref);
});

test.run();
