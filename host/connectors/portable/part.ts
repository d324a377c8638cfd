/** The names of what runs in a plugin: they are in the paths of its sockets, so each is used once and is short. */
import { randomBytes } from 'node:crypto';
import type { PortableCode } from '../../plugins/portable/code.js';
import type { PluginPart, PortablePlugin } from '../../plugins/portable/plugin.js';
import { type PortablePlugins, portablePluginsKey } from '../../plugins/portable/plugins.js';
import type { SourceContext } from '../running.js';

/** Longest name of a rule in a path, bytes. */
const maxRule = 40;

/** @param rule what the plugin is told as the name of the rule: a stream may have any, a path only some signs */
export function partMeta(rule: string): PluginPart['meta'] {
  const short = rule.replace(/[^\w-]/g, '').slice(0, maxRule);
  return { ruleId: short === '' ? 'rule' : short, opId: randomBytes(6).toString('hex'), instanceId: 0 };
}

/** Path of the socket by which data goes; the SDKs make the same of the three. */
export function dataPath({ ruleId, opId, instanceId }: PluginPart['meta']): string {
  return `/tmp/${ruleId}_${opId}_${instanceId}.ipc`;
}

/** Path of the socket by which a sink confirms. */
export function ackPath({ ruleId, opId, instanceId }: PluginPart['meta']): string {
  return `/tmp/${ruleId}_${opId}_${instanceId}_ack.ipc`;
}

/** The plugin as the data plane runs it. */
export function pluginOf(code: PortableCode, context: Pick<SourceContext, 'shared'>): PortablePlugin {
  const plugins = context.shared<PortablePlugins>(portablePluginsKey, () => {
    throw new Error('no portable plugins run here');
  });
  return plugins.of(code);
}
