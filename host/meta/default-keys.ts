/** Configuration keys that are there before a client registers any: built in, from the etc folder, from the environment. */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { keysFromEnvironment, readYaml } from '../base/config.js';

/** Properties by key, for each connector: `sources.mqtt`, `sinks.sql`. */
export type DefaultKeys = ReadonlyMap<string, Readonly<Record<string, Record<string, unknown>>>>;

const builtIn: Readonly<Record<string, Record<string, unknown>>> = {
  mqtt: { qos: 1, server: 'tcp://127.0.0.1:1883', protocolVersion: '3.1.1', insecureSkipVerify: false },
  file: {
    fileType: 'json',
    path: '.',
    interval: 0,
    sendInterval: 0,
    parallel: false,
    actionAfterRead: 0,
    moveTo: 'moved',
    hasHeader: false,
    ignoreStartLines: 0,
    ignoreEndLines: 0,
  },
  httppull: {
    url: 'http://localhost',
    method: 'post',
    interval: '10s',
    timeout: '5s',
    incremental: false,
    bodyType: 'json',
    insecureSkipVerify: true,
    headers: { Accept: 'application/json' },
    responseType: 'code',
  },
  httppush: { method: 'POST' },
  redis: { addr: '127.0.0.1:6379', datatype: 'string' },
  simulator: { data: [{ temperature: 22.5, humidity: 50 }], interval: '1s', loop: true },
};

/** Collects the keys; throws a `config` error naming a file that can't be read. */
export async function loadDefaultKeys(
  etc: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<DefaultKeys> {
  const all = new Map<string, Record<string, Record<string, unknown>>>();
  for (const [source, props] of Object.entries(builtIn)) all.set(`sources.${source}`, { default: props });
  for (const [connector, path] of keyFiles(etc)) {
    const keys = await readYaml(path);
    all.set(connector, { ...all.get(connector), ...(keys as Record<string, Record<string, unknown>>) });
  }
  for (const connector of all.keys()) {
    const [owner, name = ''] = connector.split('.');
    if (owner !== 'sources') continue;
    const prefix = name === 'mqtt' ? 'MQTT_SOURCE' : name.toUpperCase();
    const keys = { ...all.get(connector) };
    for (const [key, props] of Object.entries(keysFromEnvironment(prefix, env))) keys[key] = overlay(keys[key], props);
    all.set(connector, keys);
  }
  return all;
}

/** Finds `mqtt_source.yaml`, `sources/<name>.yaml` and `sinks/<name>.yaml`. */
function keyFiles(etc: string): [connector: string, path: string][] {
  const files: [string, string][] = [];
  const mqtt = join(etc, 'mqtt_source.yaml');
  if (existsSync(mqtt)) files.push(['sources.mqtt', mqtt]);
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
