/**
 * The connectors whose manifests are loaded, by what running rules ask of them. The control plane knows all of them
 * (`index.ts`); a data plane loads those of its rules by name, so that it starts with none.
 */
import { declaredName } from '../base/fields/field.js';
import { isRowTemplate } from '../base/fields/row-template.js';
import { meantOr } from '../base/text/nearest.js';
import type { AskedPart, Connector, SinkForm } from './define.js';
import { connectorErrors } from './errors.js';

type Props = Readonly<Record<string, unknown>>;

const byName = new Map<string, Connector>();

type Loaders = Readonly<Record<string, () => Promise<{ default: Connector }>>>;

/** Load a manifest by name; none where all are loaded. */
let loaders: Loaders = {};

/** Says how manifests are loaded by name. */
export function useManifestLoaders(given: Loaders): void {
  loaders = given;
}

/** Adds manifests to those that are loaded. */
export function addManifests(manifests: readonly Connector[]): void {
  for (const connector of manifests) byName.set(connector.name, connector);
}

/** The connectors of plugins. */
export function pluginConnectors(): readonly Connector[] {
  return [...byName.values()].filter(({ plugin }) => plugin !== undefined);
}

/** Forgets the connector of a plugin that was taken away. */
export function removeManifest(name: string): void {
  byName.delete(name);
}

/** Loads the manifests of the types; a type that nobody knows is passed over. */
export async function loadManifests(types: readonly string[]): Promise<void> {
  const missing = [...new Set(types)].filter((type) => !byName.has(type));
  const loaded = missing.flatMap((type) => (Object.hasOwn(loaders, type) ? [loaders[type]!()] : []));
  addManifests((await Promise.all(loaded)).map((module) => module.default));
}

/** Returns the loaded connector of this name, those for the engine itself included. */
export function connectorOf(type: string): Connector | undefined {
  return byName.get(type);
}

/** Returns the loaded connector that plays the part; throws `unknownConnector` when the type is not known or can't. */
export function connectorFor(part: 'source' | 'sink', type: string): Connector {
  const connector = byName.get(type);
  if (connector?.[part] === undefined) throw unknownConnector(part, type);
  return connector;
}

/** As `connectorFor`, after the manifest and what does the work are loaded. */
export async function loadConnector(part: 'source' | 'sink', type: string): Promise<Connector> {
  await loadManifests([type]);
  const connector = connectorFor(part, type);
  await connector[part]?.load();
  return connector;
}

/** The loaded part that is asked for rows of lookup tables of the type; throws `unknownConnector` without one. */
export function askedPart(type: string): AskedPart {
  const part = byName.get(type)?.lookup?.asked;
  if (part === undefined) throw unknownConnector('source', type);
  return part;
}

/** The error for a type that can't play the part: the type that was meant, or those there are. */
export function unknownConnector(part: 'source' | 'sink', type: string) {
  const names = [...byName.values()].flatMap((one) => (one.isInternal || one[part] === undefined ? [] : [one.name]));
  return connectorErrors.unknown(part, type, meantOr(type, names, 'there are'));
}

const usualForm: SinkForm = { takes: 'messages', framing: 'messages' };

/** The form that an action takes; the usual one for types that nobody knows. */
export function sinkForm(type: string, props: Props = {}): SinkForm {
  return byName.get(type)?.sink?.form(props) ?? usualForm;
}

/** Properties of an action that are templates over the row, by the names that its connector knows. */
export function dynamicProps(type: string, props: Props): Props {
  const sink = byName.get(type)?.sink;
  const spec = sink?.props ?? {};
  const own = sink?.ownTemplates?.(props) ?? [];
  const found: Record<string, unknown> = {};
  for (const [given, value] of Object.entries(props)) {
    const name = declaredName(spec, given);
    if (name === undefined || own.includes(name)) continue;
    if (spec[name]?.declared.isDynamic === true && isRowTemplate(value)) found[name] = value;
  }
  return found;
}
