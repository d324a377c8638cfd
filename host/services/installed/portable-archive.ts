/** Reads the archive of a portable plugin, and makes its folder of it. */
import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { isObject } from '../../base/structures/is-object.js';
import type { PackageFolders } from '../../meta/packages/packages.js';
import { objectOf, textOf, textsOf } from '../body/fields.js';
import { bodyErrors } from '../errors/body.js';
import { installErrors } from '../errors/installed.js';
import { withArchive } from '../files/archives.js';
import { type ResourceFiles, readResource } from '../files/resource-files.js';
import type { FormOwner } from '../metadata/plugin-form.js';
import type { PortableDescription, PortableRecord } from './portable-record.js';

export interface PortableReading {
  readonly files: ResourceFiles;
  readonly folders: PackageFolders;
  /** Scripts of archives are run. */
  readonly allowsScripts: boolean;
  /** Throws when the plugin can't be beside those that are there. */
  check(described: PortableDescription): void;
  /** Takes what is wrong with the archive and does no harm. */
  warn(line: string): void;
}

const languages = ['go', 'python'];
const condaType = 'conda';
const scriptName = 'install.sh';

/** Checks the request, unpacks the archive and runs its script; throws the reason of a refusal. */
export async function readPortable(
  name: string,
  body: Readonly<Record<string, unknown>>,
  { files, folders, allowsScripts, check, warn }: PortableReading,
): Promise<PortableRecord> {
  const file = textOf(body, 'file');
  if (file === '') throw bodyErrors.missing('file');
  const shellParas = textsOf(body, 'shellParas');
  return withArchive(await readResource(file, files), async (archive) => {
    const hasFile = (path: string) => archive.entries.some((entry) => entry.name === path && !entry.isFolder);
    const main = `${name}.json`;
    if (!hasFile(main)) throw installErrors.noFile(main);
    const described = descriptionOf(objectOf((await archive.read(main)).toString(), main), main);
    if (!hasFile(described.executable)) {
      throw installErrors.noExecutable(described.executable, main);
    }
    check(described);
    const read = (path: string) => (hasFile(path) ? archive.read(path) : Promise.resolve(undefined));
    const keys = await keysIn('sources', described.sources, read);
    const sinkKeys = await keysIn('sinks', described.sinks, read);
    for (const reason of await wrongForms(described, read)) warn(reason);
    const hasScript = hasFile(scriptName);
    if (hasScript && !allowsScripts) throw installErrors.noScripts(scriptName);
    const folder = await folders.add(name, async (path) => {
      await archive.unpack(path);
      await chmod(join(path, described.executable), 0o755);
      if (!hasScript) return;
      const { runScript } = await import('../../plugins/portable/script.js');
      await runScript(join(path, scriptName), shellParas).catch((error: Error) => {
        throw installErrors.description(scriptName, error.message);
      });
    });
    return { file, shellParas, folder, ...described, ...(keys && { keys }), ...(sinkKeys && { sinkKeys }) };
  });
}

type ReadFile = (path: string) => Promise<Buffer | undefined>;

/** Configuration keys of the connectors; undefined without any. */
async function keysIn(
  owner: FormOwner,
  names: readonly string[],
  read: ReadFile,
): Promise<Record<string, Record<string, Record<string, unknown>>> | undefined> {
  const found: Record<string, Record<string, Record<string, unknown>>> = {};
  for (const name of names) {
    const path = `${owner}/${name}.yaml`;
    const bytes = await read(path);
    if (bytes === undefined) continue;
    const { default: yaml } = await import('yaml');
    let keys: unknown;
    try {
      keys = yaml.parse(bytes.toString());
    } catch (error) {
      throw installErrors.description(path, `it is no YAML: ${(error as Error).message}`);
    }
    if (!isObject(keys)) continue;
    // A key without properties has none.
    const entries = Object.entries(keys).map(([key, props]) => [key, isObject(props) ? props : {}] as const);
    found[name] = Object.fromEntries(entries);
  }
  return Object.keys(found).length > 0 ? found : undefined;
}

/** Why forms of the plugin can't be shown; it works without them. */
async function wrongForms(described: PortableDescription, read: ReadFile): Promise<string[]> {
  const { formPath, formReason } = await import('../metadata/plugin-form.js');
  const found: string[] = [];
  for (const owner of ['sources', 'sinks'] as const) {
    for (const name of described[owner]) {
      const path = formPath(owner, name);
      const bytes = await read(path);
      const reason = bytes && formReason(bytes, owner, name);
      if (reason !== undefined) found.push(`${path} of the archive can't be shown: ${reason}`);
    }
  }
  return found;
}

function descriptionOf(
  json: Record<string, unknown>,
  main: string,
): PortableDescription & Pick<PortableRecord, 'env' | 'aggregates'> {
  const refuse = (reason: string) => installErrors.description(main, reason);
  const described: PortableDescription = {
    version: textOf(json, 'version'),
    language: textOf(json, 'language'),
    executable: textOf(json, 'executable'),
    sources: textsOf(json, 'sources'),
    sinks: textsOf(json, 'sinks'),
    functions: textsOf(json, 'functions'),
  };
  if (!languages.includes(described.language)) throw refuse(`language must be one of ${languages.join(', ')}`);
  if (described.executable === '') throw refuse('executable is required');
  if (described.sources.length + described.sinks.length + described.functions.length === 0) {
    throw refuse('there must be at least one source, sink or function');
  }
  const type = textOf(json, 'virtualEnvType');
  const env = textOf(json, 'env');
  if (type !== '' && type !== condaType) throw refuse(`virtualEnvType must be ${condaType}, not ${type}`);
  if (type === '' && env !== '') throw refuse('env needs virtualEnvType');
  if (type !== '' && env === '') throw refuse('env is required with virtualEnvType');
  // Without the list the program is asked.
  const aggregates = json.aggregates === undefined ? undefined : textsOf(json, 'aggregates');
  const unknown = aggregates?.find((one) => !described.functions.includes(one));
  if (unknown !== undefined) throw refuse(`aggregates has ${unknown}, which is none of its functions`);
  return { ...described, ...(env !== '' && { env }), ...(aggregates && { aggregates }) };
}
