/**
 * Configuration keys that are there before a client registers any: of the connectors, from the etc folder, from the
 * environment.
 */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { keysFromEnvironment, readYaml } from '../../base/config/config.js';

/** Properties by key, for each connector: `sources.mqtt`, `sinks.sql`. */
export type DefaultKeys = ReadonlyMap<string, Readonly<Record<string, Record<string, unknown>>>>;

/** Declarations of a connector about the keys of its source. */
interface SourceKeys {
  /** Name of the file and of the variables of the keys, when it differs from the name of the source. */
  readonly keysName?: string;
  /** Properties of the key `default`. */
  readonly defaultKey?: Readonly<Record<string, unknown>>;
}

/** Collects the keys; throws a `config` error naming a file that can't be read. */
export async function loadDefaultKeys(
  etc: string,
  env: Readonly<Record<string, string | undefined>>,
  sources: ReadonlyMap<string, SourceKeys>,
): Promise<DefaultKeys> {
  const all = new Map<string, Record<string, Record<string, unknown>>>();
  for (const [source, { defaultKey }] of sources) {
    if (defaultKey !== undefined) all.set(`sources.${source}`, { default: { ...defaultKey } });
  }
  for (const [connector, path] of keyFiles(etc, sources)) {
    const keys = await readYaml(path);
    all.set(connector, { ...all.get(connector), ...(keys as Record<string, Record<string, unknown>>) });
  }
  for (const connector of all.keys()) {
    const [owner, name = ''] = connector.split('.');
    if (owner !== 'sources') continue;
    const prefix = (sources.get(name)?.keysName ?? name).toUpperCase();
    const keys = { ...all.get(connector) };
    for (const [key, props] of Object.entries(keysFromEnvironment(prefix, env))) keys[key] = overlay(keys[key], props);
    all.set(connector, keys);
  }
  return all;
}

/**
 * Finds the files of sources with a name for them (`mqtt_source.yaml`), `sources/<name>.yaml` and `sinks/<name>.yaml`.
 */
function keyFiles(etc: string, sources: ReadonlyMap<string, SourceKeys>): [connector: string, path: string][] {
  const files: [string, string][] = [];
  for (const [source, { keysName }] of sources) {
    const path = join(etc, `${keysName}.yaml`);
    if (keysName !== undefined && existsSync(path)) files.push([`sources.${source}`, path]);
  }
  for (const owner of ['sources', 'sinks']) {
    const folder = join(etc, owner);
    for (const name of existsSync(folder) ? readdirSync(folder) : []) {
      if (name.endsWith('.yaml')) files.push([`${owner}.${name.slice(0, -'.yaml'.length)}`, join(folder, name)]);
    }
  }
  return files;
}

/** Variables are upper case: a property of the same letters keeps its spelling. */
export function overlay(
  props: Readonly<Record<string, unknown>> | undefined,
  over: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const out = { ...props };
  for (const [name, value] of Object.entries(over)) {
    const known = Object.keys(out).find((key) => key.toLowerCase() === name);
    out[known ?? name] = value;
  }
  return out;
}
