/** The list of connectors. Each is loaded at its first use, and the packages it needs when it connects. */
import type { OutputPlan } from '../../kernels/ir.js';
import { HaumeaError } from '../base/errors.js';
import { nearest } from '../base/nearest.js';
import type { Connector } from './define.js';

const modules: Record<string, () => Promise<{ default: Connector }>> = {
  file: () => import('./file/index.js'),
  httppush: () => import('./httppush/index.js'),
  log: () => import('./log/index.js'),
  memory: () => import('./memory/index.js'),
  mqtt: () => import('./mqtt/index.js'),
  nop: () => import('./nop/index.js'),
  ruletest: () => import('./ruletest/index.js'),
  simulator: () => import('./simulator/index.js'),
};

/** What sinks want from the encoder, known without loading them. */
const sinkForms: Record<string, SinkForm> = {
  file: { format: 'json', framing: 'lines' },
  log: { format: 'json', framing: 'messages' },
  memory: { format: 'rows', framing: 'messages' },
  mqtt: { format: 'json', framing: 'messages' },
  nop: { format: 'none', framing: 'messages' },
  ruletest: { format: 'json', framing: 'messages' },
};

/** Sinks that the engine makes for itself: not for users, in no catalogue. */
const internalSinks: readonly string[] = ['ruletest'];

const sources: readonly string[] = ['file', 'httppush', 'memory', 'mqtt', 'simulator'];

/** The wire form a sink takes: its default format and how messages are told apart. */
export type SinkForm = Pick<OutputPlan, 'format' | 'framing'>;

const loaded = new Map<string, Connector>();

/** Names of the connectors that can play the part for a user. */
export function connectorNames(part: 'source' | 'sink'): readonly string[] {
  return part === 'source' ? sources : Object.keys(sinkForms).filter((name) => !isInternalSink(name));
}

/** Says whether only the engine itself makes such sinks. */
export function isInternalSink(type: string): boolean {
  return internalSinks.includes(type);
}

/** Returns the form a sink takes; throws `unknownConnector` for other types. */
export function sinkForm(type: string, props: Record<string, unknown> = {}): SinkForm {
  const form = sinkForms[type];
  if (form === undefined) throw unknownConnector('sink', type);
  if (type === 'nop' && (props.log === true || props.log === 'true')) return { ...form, format: 'json' };
  return form;
}

/** Loads a connector; throws `unknownConnector` when the type is not known or can't play the part. */
export async function loadConnector(part: 'source' | 'sink', type: string): Promise<Connector> {
  const known = loaded.get(type);
  if (known?.[part] !== undefined) return known;
  const load = connectorNames(part).includes(type) || isInternalSink(type) ? modules[type] : undefined;
  if (load === undefined) throw unknownConnector(part, type);
  const connector = (await load()).default;
  loaded.set(type, connector);
  return connector;
}

/** Loads all declarations, so that properties can be checked and described at once; the packages they need stay out. */
export async function loadDeclarations(): Promise<readonly Connector[]> {
  for (const [name, load] of Object.entries(modules)) if (!loaded.has(name)) loaded.set(name, (await load()).default);
  return [...loaded.values()];
}

/** Declarations of the connectors that users may name. */
export async function userConnectors(): Promise<readonly Connector[]> {
  return (await loadDeclarations()).filter(({ name }) => !isInternalSink(name));
}

/** Returns a connector that was loaded before. */
export function loadedConnector(type: string): Connector | undefined {
  return loaded.get(type);
}

/** Throws `unknownConnector` unless the type can play the part. */
export function checkConnectorName(part: 'source' | 'sink', type: string): void {
  if (!connectorNames(part).includes(type)) throw unknownConnector(part, type);
}

/** The error for a type that can't play the part: the type that was meant, or those there are. */
export function unknownConnector(part: 'source' | 'sink', type: string): HaumeaError {
  const names = connectorNames(part);
  const meant = nearest(type, [...names]);
  const hint = meant === undefined ? `, there are ${names.join(', ')}` : `, did you mean ${meant}?`;
  return new HaumeaError('unknownConnector', `${part} ${type} not found${hint}`);
}
