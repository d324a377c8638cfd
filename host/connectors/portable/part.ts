/** The names of what runs in a plugin: they are in the paths of its sockets, so each is used once and is short. */
import { randomBytes } from 'node:crypto';
import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { removeStale } from '../../clients/sp/listener.js';
import type { PortableCode } from '../../plugins/portable/code.js';
import type { PluginPart, PortablePlugin } from '../../plugins/portable/plugin.js';
import { type PortablePlugins, portablePluginsKey } from '../../plugins/portable/plugins.js';
import type { SourceContext } from '../running.js';

/** Folder of all sockets: the SDKs know no other. */
const folder = '/tmp';
/** Longest name of a rule in a path, bytes. */
const maxRule = 40;
/** Names of sockets as `partMeta` makes them. */
const nameOfPart = /_[0-9a-f]{12}_0(_ack)?\.ipc$/;
/** A younger socket may be one that another engine is about to listen at, ms. */
const leastAgeMs = 10_000;
/** This process has looked for sockets of engines that were killed. */
let isSwept = false;

/** @param rule what the plugin is told as the name of the rule: a stream may have any, a path only some signs */
export function partMeta(rule: string): PluginPart['meta'] {
  const short = rule.replace(/[^\w-]/g, '').slice(0, maxRule);
  return { ruleId: short === '' ? 'rule' : short, opId: randomBytes(6).toString('hex'), instanceId: 0 };
}

/** Path of the socket by which data goes; the SDKs make the same of the three. */
export function dataPath({ ruleId, opId, instanceId }: PluginPart['meta']): string {
  return `${folder}/${ruleId}_${opId}_${instanceId}.ipc`;
}

/** Path of the socket by which a sink confirms. */
export function ackPath({ ruleId, opId, instanceId }: PluginPart['meta']): string {
  return `${folder}/${ruleId}_${opId}_${instanceId}_ack.ipc`;
}

/** The plugin as the data plane runs it. */
export function pluginOf(code: PortableCode, context: Pick<SourceContext, 'shared'>): PortablePlugin {
  if (!isSwept) void sweep();
  isSwept = true;
  const plugins = context.shared<PortablePlugins>(portablePluginsKey, () => {
    throw new Error('no portable plugins run here');
  });
  return plugins.of(code);
}

/** Removes the sockets of sources and sinks that killed engines and plugins have left. */
async function sweep(): Promise<void> {
  for (const name of await readdir(folder).catch(() => [])) {
    if (!nameOfPart.test(name)) continue;
    const path = join(folder, name);
    const found = await lstat(path).catch(() => undefined);
    const isOurs = found?.isSocket() && found.uid === process.getuid?.() && Date.now() - found.mtimeMs > leastAgeMs;
    // One that somebody listens at stays.
    if (isOurs) await removeStale(path).catch(() => {});
  }
}
