/** The names of what runs in a plugin: they are in the paths of its sockets, so each is used once and is short. */
import { randomBytes } from 'node:crypto';
import type { PluginPart } from '../../plugins/portable/plugin.js';

/** Longest name of a rule in a path, bytes. */
const maxRule = 40;

/** @param rule what the plugin is told as the name of the rule */
export function partMeta(rule: string): PluginPart['meta'] {
  const short = Buffer.byteLength(rule) <= maxRule ? rule : rule.replace(/[^\w.-]/g, '').slice(0, maxRule);
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
